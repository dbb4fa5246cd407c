"""Columns as users of h5py have datasets: shape, dtype, attributes, slices with steps; and `out` of `read`."""

from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401 (the filters of our files)
import numpy as np
import pytest

import thalweg as tw

ROWS = 300
TRACE = np.arange(ROWS * 40, dtype=np.uint16).reshape(ROWS, 40)
PAIRS = np.arange(2 * ROWS, dtype=np.int32).reshape(ROWS, 2)


@pytest.fixture(scope="module", params=[".h5", ".root"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tw.Run:
    path = tmp_path_factory.mktemp("column") / f"run{request.param}"
    fields = {
        "t": tw.float64(unit="s", description="since the start"),
        "waveform": {"t0": tw.float32, "values": tw.array(tw.uint16, 40)},
        "grid": tw.array(tw.struct({"x": tw.int32, "z": tw.complex64}), 2),
        "hits": tw.list_({"energy": tw.float32, "name": tw.string}),
        "samples": tw.list_(tw.int16),
        "note": tw.string,
    }
    with tw.create(path, {"ch0": fields, "deep/er": {"x": tw.int8}}) as out:
        numbers = np.arange(ROWS)
        out.producer("ch0").append(
            t=numbers / 4,
            waveform={"t0": numbers.astype(np.float32), "values": TRACE},
            grid={"x": PAIRS, "z": (PAIRS * 1j).astype(np.complex64)},
            hits=[[{"energy": i, "name": f"n{i}"}] * (i % 3) for i in range(ROWS)],
            samples=[[i] * (i % 4) for i in range(ROWS)],
            note=[f"µ{i}" for i in range(ROWS)],
        )
    return tw.open(path)


def test_a_column_says_what_it_is(run: tw.Run) -> None:
    table = run["ch0"]
    values = table["waveform/values"]
    assert (values.shape, values.ndim, values.size, values.dtype, len(values)) == ((300, 40), 2, 12000, np.uint16, 300)
    assert table["t"].attrs["units"] == "s"
    assert (table["grid"].shape, table["grid/x"].shape, table["grid"].dtype["z"]) == ((300, 2), (300, 2), np.complex64)
    assert (table["hits"].shape, table["hits/energy"].dtype, table["note"].dtype) == ((300,), object, object)
    assert str(run["ch0"]["note"]) == "<Column 'note': 300 rows of string>"


def test_paths_lead_to_columns_as_in_h5py(run: tw.Run) -> None:
    values = run["ch0/waveform/values"]
    assert isinstance(values, tw.Column)
    assert values[7].tolist() == TRACE[7].tolist()
    assert run["ch0"]["waveform"]["values"][7].tolist() == TRACE[7].tolist()
    assert isinstance(run["deep/er"], tw.Table)
    assert len(run["deep/er/x"]) == 0
    assert ("ch0/t" in run, "ch0/nope" in run, "nope" in run) == (True, False, False)
    with pytest.raises(KeyError, match=r"no column 'nope'.*; its fields are t, waveform"):
        run["ch0/nope"]
    with pytest.raises(KeyError, match="no table 'nope/t'; the tables are ch0"):
        run["nope/t"]


SLICES = [
    (),
    ...,
    slice(10, 20),
    slice(None, None, 17),
    5,
    -1,
    (slice(10, 20), slice(None, None, 4)),
    (slice(10, 20), 3),
    (3, slice(5)),
    (3, 4),
    (..., 0),
    (7, ...),
    ([4, 2], slice(None, None, -1)),
    [4, 2, 2],
    np.arange(ROWS) % 50 == 1,
    np.int64(9),
]


@pytest.mark.parametrize("key", SLICES, ids=range(len(SLICES)))
def test_slices_are_those_of_numpy(run: tw.Run, key: object) -> None:
    found = run["ch0/waveform/values"][key]
    wanted = TRACE[key]
    assert np.asarray(found).dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("key", [slice(3, 40, 5), 7, (slice(0, 4), slice(1, 9, 2))], ids=str)
def test_a_slice_is_what_h5py_gives_for_it(run: tw.Run, key: object) -> None:
    if not run.path.endswith(".h5"):
        pytest.skip("h5py reads HDF5 only")
    with h5py.File(run.path) as file:
        np.testing.assert_array_equal(run["ch0/waveform/values"][key], file["ch0/waveform/values"][key])


def test_columns_that_are_no_arrays_of_numbers(run: tw.Run) -> None:
    table = run["ch0"]
    assert table["note"][3:5].tolist() == ["µ3", "µ4"]
    assert table["note"][3] == "µ3"
    assert [each.tolist() for each in table["samples"][1:6:2]] == [[1], [3, 3, 3], [5]]
    assert table["samples"][3].tolist() == [3, 3, 3]
    assert [each.tolist() for each in table["hits/energy"][3:6]] == [[], [4.0], [5.0, 5.0]]
    assert [each.tolist() for each in table["hits/name"][4:6]] == [["n4"], ["n5", "n5"]]
    assert table["waveform"][2:4]["t0"].tolist() == [2, 3]
    assert table["grid"].to_numpy()["x"].tolist() == PAIRS.tolist()
    assert table["grid/z"][5].tolist() == [10j, 11j]
    for column in ("samples", "hits"):
        with pytest.raises(tw.UsageError, match=f"column '{column}' is not an array"):
            np.asarray(table[column])
        assert table[column].to_numpy().dtype == object


def test_numpy_takes_a_column_as_an_array(run: tw.Run) -> None:
    np.testing.assert_array_equal(np.asarray(run["ch0/waveform/values"]), TRACE)
    assert np.asarray(run["ch0/t"], np.float32).dtype == np.float32
    assert float(np.mean(run["ch0/t"])) == float(np.mean(np.arange(ROWS) / 4))
    assert [float(each) for each in run["ch0/t"]] == [i / 4 for i in range(ROWS)]
    with pytest.raises(ValueError, match="cannot be an array without a copy"):
        np.array(run["ch0/t"], copy=False)


def test_wrong_indices_of_a_column_are_told(run: tw.Run) -> None:
    values = run["ch0/waveform/values"]
    with pytest.raises(tw.UsageError, match=r"column 'waveform/values' cannot be indexed with 3 axes \(it has 2\)"):
        values[1, 2, 3]
    with pytest.raises(IndexError):
        values[1, 40]
    with pytest.raises(tw.UsageError, match="one index for each axis"):
        values[None]
    with pytest.raises(tw.UsageError, match="one index for each axis"):
        values[..., ...]
    with pytest.raises(tw.UsageError, match="has no more axes to index"):
        run["ch0/samples"][1, 0]


def test_values_are_read_into_arrays_that_are_given(run: tw.Run) -> None:
    t, values = np.empty(100), np.empty((100, 40), np.uint16)
    rows = run["ch0"].read(["t", "waveform/values"], rows=slice(50, 150), out={"t": t, "waveform/values": values})
    assert rows["t"] is t
    assert t.tolist() == [i / 4 for i in range(50, 150)]
    np.testing.assert_array_equal(values, TRACE[50:150])
    with pytest.raises(tw.UsageError, match=r"in `out` is float64 \(100,\), but the values are float64 \(300,\)"):
        run["ch0"].read("t", out={"t": t})
    with pytest.raises(tw.UsageError, match="`out` has 'samples', which is not a column of numbers of table 'ch0'"):
        run["ch0"].read("samples", out={"samples": t})
    with pytest.raises(tw.UsageError, match="'t' in `out` must be C-contiguous and writeable"):
        run["ch0"].read("t", out={"t": np.empty((300, 2))[:, 0]})
    with pytest.raises(tw.UsageError, match="do not follow each other"):
        run["ch0"].read("t", rows=[1, 5], out={"t": t[:2]})
    with pytest.raises(tw.UsageError, match="`out` has 't'"):
        run["ch0"].read("note", out={"t": t})


def test_a_table_may_be_named_like_a_column(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", {"x": {"x": tw.int32, "y": {"x": tw.int8}}}) as out:
        out.producer("x").append(x=np.arange(3, dtype=np.int32), y={"x": np.arange(3, dtype=np.int8)})
    run = tw.open(tmp_path / "run.root")
    assert isinstance(run["x"], tw.Table)
    assert run["x/x"][:].tolist() == [0, 1, 2]
    assert run["x"]["y/x"][:].tolist() == run["x/y/x"][:].tolist() == [0, 1, 2]


def test_libraries_take_a_column_as_a_tensor(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"t": {"w": tw.array(tw.float32, 3), "v": tw.list_(tw.float32)}}) as out:
        out.producer("t").append(w=np.arange(6, dtype=np.float32).reshape(2, 3), v=[[], [1]])
    table = tw.open(tmp_path / "run.h5")["t"]
    taken = np.from_dlpack(table["w"])
    assert (taken.dtype, taken.tolist()) == (np.float32, [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(tw.UsageError, match=r"column 'v' cannot be a tensor \(it is list"):
        np.from_dlpack(table["v"])
    with pytest.raises(BufferError, match="lies in a file"):
        table["w"].__dlpack__(copy=False)
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(table["w"]).sum().item() == 15
