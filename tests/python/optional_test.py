"""Values that may be missing, and times: written, read again, and seen by other readers."""

from datetime import datetime
from pathlib import Path

import awkward as ak
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import uproot

import thalweg as tw

CONTAINERS = ["run.h5", "run.root"]
WANTED = [1.5, None, 2.5, None]
WAYS = {
    "list": [1.5, None, 2.5, None],
    "masked": np.ma.MaskedArray([1.5, 0, 2.5, 0], mask=[False, True, False, True], dtype=np.float32),
    "awkward": ak.values_astype(ak.Array([1.5, None, 2.5, None]), np.float32),
    "arrow": pa.array([1.5, None, 2.5, None], pa.float32()),
    "pandas": pd.Series([1.5, None, 2.5, None], dtype="float32[pyarrow]"),
    "ragged": tw.Ragged.from_lengths(np.array([1, 0, 1, 0]), np.array([1.5, 2.5], np.float32)),
    "lists": [[1.5], [], [2.5], []],
}


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("way", WAYS)
def test_optional_values_are_written(tmp_path: Path, name: str, way: str) -> None:
    path = tmp_path / name
    with tw.create(path, {"t": {"x": tw.optional(tw.float32, unit="keV"), "i": tw.int32}}) as out:
        out.producer("t").append(x=WAYS[way], i=[1, 2, 3, 4])
    table = tw.open(path)["t"]
    assert table.schema["x"].is_optional
    assert table["x"].attrs["units"] == "keV"
    assert table.read().to_awkward()["x"].tolist() == WANTED
    assert [each.tolist() for each in table["x"][:]] == [[1.5], [], [2.5], []]


def test_one_row_has_a_value_or_none(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", {"t": {"x": tw.optional(tw.int64), "s": tw.optional(tw.string)}}) as out:
        producer = out.producer("t")
        producer.append(x=3, s=None)
        producer.append(x=None, s="three")
    rows = tw.open(tmp_path / "run.root")["t"].read().to_awkward()
    assert rows.tolist() == [{"x": 3, "s": None}, {"x": None, "s": "three"}]
    with uproot.open(tmp_path / "run.root") as file:
        assert file["t"].arrays(["x"])["x"].tolist() == [3, None]


@pytest.mark.parametrize("name", CONTAINERS)
def test_arrow_and_pandas_have_them_as_missing(tmp_path: Path, name: str) -> None:
    fields = {"x": tw.optional(tw.float32, unit="keV"), "s": tw.optional(tw.string), "in": {"y": tw.optional(tw.int64)}}
    with tw.create(tmp_path / name, {"t": fields}) as out:
        out.producer("t").append(x=WANTED, s=["a", None, None, "d"], **{"in/y": [None, 2, 3, None]})
    table = tw.open(tmp_path / name)["t"]
    arrow = table.read(["x", "s"]).to_arrow()
    assert (arrow["x"].to_pylist(), arrow["s"].to_pylist()) == (WANTED, ["a", None, None, "d"])
    assert (arrow.schema.field("x").type, arrow.schema.field("x").metadata) == (pa.float32(), {b"unit": b"keV"})
    frame = table.to_pandas()
    assert [str(dtype) for dtype in frame.dtypes] == ["float[pyarrow]", "large_string[pyarrow]", "int64[pyarrow]"]
    assert frame["s"].isna().tolist() == [False, True, True, False]
    assert frame["in/y"].sum() == 5
    assert len(table[4:].to_pandas()) == 0


def test_wrong_optional_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match="cannot be optional"):
        tw.optional(tw.array(tw.int8, 3))
    with tw.create(tmp_path / "run.h5", {"t": {"x": tw.optional(tw.float32)}}) as out:
        producer = out.producer("t")
        with pytest.raises(tw.UsageError, match=r"column 'x', row 1 .*2 values were given \(one or none is declared"):
            producer.append(x=[[1.0], [1.0, 2.0]])
        with pytest.raises(tw.UsageError, match="column 'x"):
            producer.append(x=[1.0, None, "two"])
        producer.append(x=[None, 4.0])


TIMES = np.array(["2026-11-23T12:00:00.5", "NaT", "1969-12-31"], "M8[ms]")


@pytest.mark.parametrize("name", CONTAINERS)
def test_times_are_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    schema = {"t": {"at": tw.datetime64("ns"), "took": np.dtype("m8[us]"), "s": {"day": tw.datetime64("D")}}}
    with tw.create(path, schema) as out:
        out.producer("t").append(at=TIMES, took=np.array([1, 2, 3], "m8[s]"), s={"day": TIMES.astype("M8[D]")})
        out.producer("t").append(
            at=datetime(2026, 1, 2), took=np.timedelta64(4, "us"), s={"day": np.datetime64("2026-01-02")}
        )
    table = tw.open(path)["t"]
    rows = table.read()
    assert rows["at"].dtype == "M8[ns]"
    assert rows["took"].dtype == "m8[us]"
    np.testing.assert_array_equal(rows["at"][:3], TIMES.astype("M8[ns]"))
    assert rows["at"][3] == np.datetime64("2026-01-02")
    assert rows["took"].astype(int).tolist() == [1_000_000, 2_000_000, 3_000_000, 4]
    assert rows["s"]["day"][3] == np.datetime64("2026-01-02")
    assert table[3]["at"] == np.datetime64("2026-01-02")
    assert table["at"].attrs["units"] == "ns"
    frame = rows.to_pandas()
    assert frame["at"].isna().sum() == 0 or frame["at"].isna().tolist() == [False, True, False, False]
    assert str(frame["took"].dtype) == "duration[us][pyarrow]"
    if name == "run.h5":
        pytest.importorskip("hdf5plugin")
        with h5py.File(path) as file:
            column = file["t"]["at"]
            seen = column[:].view(column.attrs["numpy_dtype"])
        np.testing.assert_array_equal(seen[:3], TIMES.astype("M8[ns]"))


def test_times_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match="'fortnight' is not a unit of time"):
        tw.datetime64("fortnight")
    with pytest.raises(tw.UsageError, match="cannot be stored"):
        tw.schema({"t": {"at": np.dtype("M8")}})
    with tw.create(tmp_path / "run.h5", {"t": {"at": tw.datetime64("s"), "far": tw.datetime64("ns")}}) as out:
        producer = out.producer("t")
        fine = np.array(["2026-01-01"], "M8[s]")
        with pytest.raises(tw.UsageError, match=r"column 'at', row 0 .*does not fit"):
            producer.append(at=TIMES[:1], far=fine)
        with pytest.raises(tw.UsageError, match=r"column 'far', row 0 .*does not fit"):
            producer.append(at=fine, far=np.array(["9999-01-01"], "M8[s]"))
        with pytest.raises(tw.UsageError, match="timedelta64"):
            producer.append(at=np.array([1], "m8[s]"), far=fine)
        with pytest.raises(tw.UsageError, match="is not a time"):
            producer.append(at=["yesterday"], far=fine)
        producer.append(at=fine, far=fine)
