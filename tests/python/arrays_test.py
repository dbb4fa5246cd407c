"""What users of uproot and pandas reach for: patterns of columns, steps of a size, libraries, frames."""

import os
import subprocess
import sys
from pathlib import Path

import awkward as ak
import numpy as np
import pandas as pd
import pytest

import thalweg as tw

ROWS = 5000


@pytest.fixture(scope="module", params=[".h5", ".root"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tw.Table:
    path = tmp_path_factory.mktemp("arrays") / f"events{request.param}"
    fields = {
        "event": tw.uint64,
        "Muon_pt": tw.list_(tw.float32),
        "Muon_charge": tw.list_(tw.int32),
        "MET_pt": tw.float32,
        "good": tw.bool_,
        "z": tw.complex128,
        "vertex": {"x": tw.float64, "cov": tw.array(tw.float32, 3)},
        "name": tw.string,
    }
    numbers = np.arange(ROWS)
    lists = tw.Ragged.from_lengths(numbers % 4, np.repeat(numbers, numbers % 4).astype(np.float32))
    with tw.create(path, {"Events": fields}) as out:
        out.producer("Events").append(
            event=numbers.astype(np.uint64),
            Muon_pt=lists,
            Muon_charge=tw.Ragged(lists.offsets, lists.content.astype(np.int32)),
            MET_pt=numbers.astype(np.float32),
            good=numbers % 2 == 0,
            z=numbers + 1j,
            vertex={"x": numbers / 8, "cov": np.repeat(numbers, 3).reshape(-1, 3).astype(np.float32)},
            name=[f"e{i}" for i in range(ROWS)],
        )
    return tw.open(path)["Events"]


def test_columns_are_found_by_patterns(table: tw.Table) -> None:
    assert table.keys() == list(table)
    assert table.num_entries == ROWS
    array = table.arrays(["Muon_*", "event"])
    assert isinstance(array, ak.Array)
    assert set(ak.fields(array)) == {"event", "Muon_pt", "Muon_charge"}
    assert array.Muon_pt[3].tolist() == [3.0, 3.0, 3.0]
    assert ak.fields(table.arrays("vertex/c*")["vertex"]) == ["cov"]
    assert len(table.arrays("MET_pt", entry_start=10, entry_stop=-10)) == ROWS - 20
    with pytest.raises(
        KeyError, match="table 'Events' has no column that matches 'Jet_\\*'; its fields are event, Muon_pt"
    ):
        table.arrays("Jet_*")
    with pytest.raises(tw.UsageError, match="library cannot be 'numpy': give 'ak'"):
        table.arrays("event", library="numpy")
    assert table.arrays("MET_pt", library="np")["MET_pt"][7] == 7


@pytest.mark.parametrize("step_size", [700, "16 kB", "10 KiB", "100 MB"])
def test_steps_have_all_rows_and_keep_to_their_size(table: tw.Table, step_size: int | str) -> None:
    steps = list(table.iterate(["event", "Muon_pt"], step_size=step_size))
    assert ak.concatenate(steps).event.tolist() == list(range(ROWS))
    assert max(map(len, steps)) <= {700: 700, "16 kB": 16_000 // 16, "10 KiB": 10_240 // 16}.get(step_size, ROWS)
    assert len(steps) >= {700: 8, "16 kB": 5, "10 KiB": 8}.get(step_size, 1)
    frames = table.iterate("MET_pt", step_size=step_size, library="pd")
    assert sum(frame["MET_pt"].sum() for frame in frames) == ROWS * (ROWS - 1) / 2


@pytest.mark.parametrize("step_size", [0, -1, True, "100", "MB", "-3 MB", None, 1.5, "0 kB"])
def test_steps_of_no_size_are_refused(table: tw.Table, step_size: object) -> None:
    with pytest.raises(tw.UsageError, match="step_size cannot be"):
        next(table.iterate(step_size=step_size))  # type: ignore[arg-type]


def test_frames_are_flat_and_have_the_dtypes_of_arrow(table: tw.Table) -> None:
    frame = table.to_pandas()
    assert list(frame) == ["event", "Muon_pt", "Muon_charge", "MET_pt", "good", "z", "vertex/x", "vertex/cov", "name"]
    assert len(frame) == ROWS
    assert all(isinstance(frame[name].dtype, pd.ArrowDtype) for name in frame if name != "z")
    assert frame["z"].dtype == np.complex128
    row = frame.iloc[7]
    assert (row["event"], row["good"], row["z"], row["vertex/x"], row["name"]) == (7, False, 7 + 1j, 7 / 8, "e7")
    assert list(row["Muon_pt"]) == [7.0, 7.0, 7.0]
    assert list(row["vertex/cov"]) == [7.0, 7.0, 7.0]
    assert frame[frame["good"]]["MET_pt"].sum() == sum(range(0, ROWS, 2))
    assert frame.groupby("good")["event"].count().tolist() == [ROWS // 2, ROWS // 2]
    assert table["MET_pt"].to_pandas().mean() == (ROWS - 1) / 2
    assert list(table["vertex"].to_pandas()) == ["vertex/x", "vertex/cov"]
    assert table.read("z").to_pandas()["z"].tolist()[2] == 2 + 1j
    assert len(table[5:9].to_pandas()) == 4


def test_frames_agree_with_arrow(table: tw.Table) -> None:
    frame = table.read(["event", "Muon_pt", "name", "MET_pt"]).to_pandas()
    pd.testing.assert_frame_equal(
        frame, table.read(["event", "Muon_pt", "name", "MET_pt"]).to_arrow().to_pandas(types_mapper=pd.ArrowDtype)
    )


def test_numpy_gets_a_structured_array(table: tw.Table) -> None:
    array = table[:100].to_numpy()
    assert array.shape == (100,)
    assert array.dtype["vertex"]["cov"].shape == (3,)
    assert array["vertex"]["cov"][9].tolist() == [9.0, 9.0, 9.0]
    assert array["name"][3] == "e3"
    assert array["Muon_pt"][2].tolist() == [2.0, 2.0]
    assert array[["event", "MET_pt"]][5].tolist() == (5, 5.0)
    assert np.recarray((100,), array.dtype, array).MET_pt.sum() == sum(range(100))


def test_a_table_without_rows_is_empty_everywhere(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", {"t": {"x": tw.int32, "l": tw.list_(tw.int8), "s": tw.string}}):
        pass
    table = tw.open(tmp_path / "run.root")["t"]
    assert len(table.to_pandas()) == len(table.to_numpy()) == len(table.arrays()) == 0
    assert list(table.iterate()) == []
    assert table.read(rows=[])["x"].dtype == np.int32
    assert table[::2].read().row_count == 0
    assert table.read(rows=slice(None, None, -1)).row_count == 0


def highest_memory_bytes(path: Path, step_size: str, library: str) -> int:
    """Returns the highest PSS of a process that iterates over all of a file."""
    program = """
import sys, threading, time, thalweg as tw
path, step_size, library = sys.argv[1:]
if library == "ak":
    import awkward
if library == "pd":
    import pandas, pyarrow
def memory():
    text = open("/proc/self/smaps_rollup").read()
    return int(text.partition("Pss:")[2].split()[0]) * 1024
highest = of_libraries = memory()
if library == "np":
    of_libraries = 0
is_over = threading.Event()
def watch():
    global highest
    while not is_over.wait(0.001):
        highest = max(highest, memory())
watcher = threading.Thread(target=watch)
watcher.start()
rows = 0
table = tw.open(path)["t"]
for each in table.iterate(step_size=step_size, library=library):
    rows += len(each["x"])
is_over.set()
watcher.join()
assert rows == len(table), rows
print(highest - of_libraries)
"""
    command = [sys.executable, "-c", program, str(path), step_size, library]
    environment = {**os.environ, "THALWEG_READ_MEMORY": str(READERS_BYTES)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True, env=environment)
    return int(done.stdout)


READERS_BYTES = 16 << 20


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_iterating_takes_little_memory_of_a_large_file(name: str, tmp_path: Path) -> None:
    """What a step has, what readers may have, and 64 MiB for all else: Python, NumPy and the library itself."""
    random = np.random.default_rng(5)
    fields = {"x": tw.float64, "w": tw.array(tw.uint16, 500), "l": tw.list_(tw.float32)}
    with tw.create(tmp_path / name, {"t": fields}) as out:
        producer = out.producer("t")
        for _ in range(12):
            lengths = random.integers(0, 200, 8000)
            lists = tw.Ragged.from_lengths(lengths, random.random(lengths.sum()).astype(np.float32))
            producer.append(x=random.random(8000), w=random.integers(0, 4096, (8000, 500)).astype(np.uint16), l=lists)
    assert (tmp_path / name).stat().st_size > 90e6
    for library in ("np", "pd"):
        highest = highest_memory_bytes(tmp_path / name, "60 MB", library)
        assert highest <= 60e6 + READERS_BYTES + (64 << 20), library
