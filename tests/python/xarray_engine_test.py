"""`xarray.open_dataset(path, engine="thalweg")`."""

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from live_runs import OFTEN, when

import thalweg as tw

ROWS = 3_000
SCHEMA = {
    "ch0": {
        "t": tw.int64(unit="ns", description="arrival"),
        "energy": tw.float32(unit="keV"),
        "waveform": tw.array(tw.uint16, 40),
        "matrix": tw.array(tw.array(tw.int8, 3), 2),
        "pulse": tw.struct({"height": tw.float64}),
        "note": tw.string,
        "hits": tw.list_(tw.uint8),
    },
    "ch1": {"t": tw.int64},
}
RANDOM = np.random.default_rng(1)
COLUMNS = {
    "t": np.arange(ROWS) * 10,
    "energy": RANDOM.random(ROWS, np.float32),
    "waveform": RANDOM.integers(0, 999, (ROWS, 40), np.uint16),
    "matrix": RANDOM.integers(-9, 9, (ROWS, 2, 3), np.int8),
    "pulse": {"height": RANDOM.random(ROWS)},
    "note": [f"event {row}" for row in range(ROWS)],
}


@pytest.fixture(scope="module", params=["complete.h5", "complete.root", "open.h5", "open.root"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path: Path = tmp_path_factory.mktemp("engine") / request.param
    out = tw.create(path, SCHEMA, tuning=OFTEN)
    hits = tw.Ragged.from_lengths(np.ones(ROWS, int), np.ones(ROWS, np.uint8))
    with out.producer("ch0") as producer:
        producer.append({**COLUMNS, "hits": hits})
    if path.stem == "complete":
        out.close()
        yield path
    else:
        when(lambda: len(tw.open(path)["ch0"]) == ROWS)
        yield path
        out.abandon()


def opened(path: Path, **options: object) -> xr.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return xr.open_dataset(path, engine="thalweg", group="ch0", **options)


def test_values_are_those_that_were_written(path: Path) -> None:
    with opened(path) as data:
        for name, values in {**COLUMNS, "pulse/height": COLUMNS["pulse"]["height"]}.items():
            if name != "pulse":
                np.testing.assert_array_equal(data[name].values, values, err_msg=name)
        assert dict(data.sizes) == {"row": ROWS, "waveform_1": 40, "matrix_1": 2, "matrix_2": 3}
        assert data["t"].attrs == {"units": "ns", "description": "arrival"}


def test_only_what_is_used_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    read = tw.Column.read

    def counted(self: tw.Column, rows: object = None, **options: object) -> object:
        asked.append((self.name, rows))
        return read(self, rows, **options)

    monkeypatch.setattr(tw.Column, "read", counted)
    with opened(path) as data:
        assert asked == []
        part = data["waveform"][10:20, 5]
        np.testing.assert_array_equal(part, COLUMNS["waveform"][10:20, 5])
        assert asked == [("waveform", slice(10, 20, 1))]


def test_all_ways_of_indexing(path: Path) -> None:
    with opened(path) as data:
        for key in (
            (3,),
            (-1, -1),
            (slice(5, 50, 7), slice(None, None, -1)),
            (slice(None, None, -100),),
            ([5, 3, 3], slice(2, 4)),
            ([5, 3], [1, 39]),
            (slice(7, 7),),
        ):
            right = COLUMNS["waveform"]
            expected = right[np.ix_(*key)] if all(isinstance(each, list) for each in key) else right[key]
            np.testing.assert_array_equal(data["waveform"][key].values, expected, err_msg=str(key))
        at = xr.DataArray([4, 9], dims="hit")
        np.testing.assert_array_equal(data["waveform"].isel(row=at, waveform_1=at), COLUMNS["waveform"][[4, 9], [4, 9]])


def test_lists_are_left_out_aloud(path: Path) -> None:
    with pytest.warns(UserWarning, match=r"ch0: hits left out \(lists of different lengths\)"):
        data = xr.open_dataset(path, engine="thalweg", group="ch0")
    data.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_dataset(path, engine="thalweg", group="ch0", drop_variables=["hits", "note"]) as data:
            assert set(data) == {"t", "energy", "waveform", "matrix", "pulse/height"}


def test_it_can_be_sent_to_other_processes(path: Path) -> None:
    with opened(path) as data:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(data))["t"].values, COLUMNS["t"])


def test_a_table_has_to_be_chosen(path: Path) -> None:
    with pytest.raises(tw.UsageError, match=r"choose one with group= \(ch0, ch1\)"):
        xr.open_dataset(path, engine="thalweg")
    with pytest.raises(tw.UsageError, match="ch9"):
        xr.open_dataset(path, engine="thalweg", group="ch9")
    with xr.open_dataset(path, engine="thalweg", group="ch1") as data:
        assert dict(data.sizes) == {"row": 0}


def test_it_is_never_chosen_by_itself(path: Path) -> None:
    engines = xr.backends.list_engines()
    assert not engines["thalweg"].guess_can_open(str(path))


def test_one_table_needs_no_name_and_a_closed_dataset_reads_nothing(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"ch1": {"t": tw.int64}}) as out:
        out.producer("ch1").append(t=np.arange(5))
    data = xr.open_dataset(tmp_path / "run.h5", engine="thalweg", cache=False)
    assert data["t"].sum() == 10
    data.close()
    with pytest.raises(tw.UsageError, match="closed"):
        data["t"].to_numpy()
