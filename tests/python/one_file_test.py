"""What is read is one file at one time, whatever is renamed, replaced or rewritten while it is read."""

import os
import pickle
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import thalweg as tw

uproot = pytest.importorskip("uproot")
ROWS = 2000


def hdf5(path: Path, value: int) -> None:
    """Makes a file: the core reads `x`, and h5py reads `s`."""
    with h5py.File(path, "w") as file:
        file.create_dataset("g/x", data=np.full(ROWS, value), chunks=(100,), maxshape=(None,))
        file["g/s"] = [f"of {value}"] * ROWS


def tree(path: Path, value: int) -> None:
    with uproot.recreate(path) as file:
        file["g"] = {"x": np.full(ROWS, value)}


def ntuple(path: Path, value: int) -> None:
    with tw.create(path, {"g": {"x": tw.int64}}, force=True) as run, run.producer("g") as producer:
        producer.append(x=np.full(ROWS, value))


KINDS = {"h5": hdf5, "ttree.root": tree, "ours.root": ntuple, "ours.h5": ntuple}
kinds = pytest.mark.parametrize(("ending", "make"), KINDS.items(), ids=KINDS)


def later(path: Path) -> None:
    """Gives a file a time of modification that differs on every file system."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))


def replace(path: Path, make: Callable[[Path, int], None], value: int) -> None:
    new = path.with_name(f"new-{path.name}")
    make(new, value)
    os.replace(new, path)


def rewrite(path: Path, make: Callable[[Path, int], None], value: int) -> None:
    new = path.with_name(f"new-{path.name}")
    make(new, value)
    with path.open("r+b") as file:
        file.write(new.read_bytes())
        file.truncate()
    new.unlink()
    later(path)


def values_of(rows: tw.Rows) -> set[int]:
    found = set(rows["x"].tolist())
    if "s" in rows:
        found |= {int(text.removeprefix("of ")) for text in rows["s"].tolist()}
    return found


@kinds
def test_a_file_that_is_replaced_is_read_as_it_was_or_is_an_error(tmp_path: Path, ending: str, make) -> None:
    path = tmp_path / f"latest.{ending}"
    make(path, 1)
    table = tw.open(path)["g"]
    replace(path, make, 2)
    if ending == "h5":  # h5py opens the file again
        with pytest.raises(tw.DataError, match="is not the file that was opened"):
            table.read()
        assert values_of(table.read("x")) == {1}
    else:
        assert values_of(table.read()) == {1}


@kinds
def test_a_file_that_is_rewritten_in_place_is_an_error(tmp_path: Path, ending: str, make) -> None:
    path = tmp_path / f"latest.{ending}"
    make(path, 1)
    run = tw.open(path)
    column = run["g"]
    assert values_of(column.read(rows=slice(0, 10))) == {1}
    rewrite(path, make, 2)
    for read in (lambda: column.read(), lambda: list(column.batches()), lambda: column.read(rows=[3, 5])):
        with pytest.raises(tw.DataError, match="is not the file that was opened"):
            read()
    assert values_of(tw.open(path)["g"].read()) == {2}


@kinds
def test_another_working_directory_leads_to_the_same_file(tmp_path: Path, ending: str, make, monkeypatch) -> None:
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        make(tmp_path / folder / f"f.{ending}", value)
    monkeypatch.chdir(tmp_path / "a")
    table = tw.open(f"f.{ending}")["g"]
    monkeypatch.chdir(tmp_path / "b")
    assert values_of(table.read()) == {1}
    assert values_of(pickle.loads(pickle.dumps(table)).read()) == {1}


@kinds
@pytest.mark.parametrize("change", [replace, rewrite])
def test_a_pickle_of_a_file_that_has_changed_is_an_error(tmp_path: Path, ending: str, make, change) -> None:
    path = tmp_path / f"f.{ending}"
    make(path, 1)
    whole = pickle.dumps(tw.open(path))
    assert values_of(pickle.loads(whole)["g"].read()) == {1}
    change(path, make, 2)
    with pytest.raises(tw.DataError, match="is not the file that was opened"):
        pickle.loads(whole)


def virtual(folder: Path, files: int) -> Path:
    """Makes a virtual dataset: row i is i + 1, and lies in a file of its own."""
    layout = h5py.VirtualLayout((files, 4), "u2", maxshape=(None, 4))
    for number in range(files):
        with h5py.File(folder / f"f{number:04}.h5", "w") as file:
            file["data"] = np.full((1, 4), number + 1, "u2")
        layout[number : number + 1] = h5py.VirtualSource(f"f{number:04}.h5", "data", (1, 4))
    with h5py.File(folder / "m.h5", "w") as file:
        file.create_virtual_dataset("frames", layout, fillvalue=0)
        file["id"] = np.arange(files)
    return folder / "m.h5"


READ_FEW = """
import sys, resource, numpy as np, thalweg as tw
table = tw.open(sys.argv[1])["m"]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    read = table.read("frames")["frames"]
except tw.DataError as error:
    print(error)
else:
    assert (read == np.arange(1, len(table) + 1)[:, None]).all()
    print("right")
"""


@pytest.mark.parametrize("limit", [20, 40, 64, 100])
def test_a_virtual_dataset_of_many_files_is_right_or_an_error_that_names_a_file(tmp_path: Path, limit: int) -> None:
    path = virtual(tmp_path, 120)
    done = subprocess.run([sys.executable, "-c", READ_FEW, path, str(limit)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right\n" or ("cannot be opened" in done.stdout and "f0" in done.stdout)
    if limit == 100:
        assert done.stdout == "right\n"


def test_one_row_that_needs_more_files_than_may_be_open_is_an_error(tmp_path: Path) -> None:
    layout = h5py.VirtualLayout((1, 120), "i4")
    for number in range(120):
        with h5py.File(tmp_path / f"f{number:04}.h5", "w") as file:
            file["data"] = np.full((1, 1), number + 1)
        layout[:, number : number + 1] = h5py.VirtualSource(f"f{number:04}.h5", "data", (1, 1))
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.create_virtual_dataset("frames", layout, fillvalue=0)
    done = subprocess.run([sys.executable, "-c", READ_FEW, tmp_path / "m.h5", "60"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cannot be opened" in done.stdout
    assert "f0" in done.stdout


def gone(path: Path) -> None:
    path.unlink()


def unreadable(path: Path) -> None:
    path.write_bytes(b"no HDF5 file")


def another(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["data"] = np.full((1, 4), 77, "u2")
    later(path)


@pytest.mark.parametrize("change", [gone, unreadable, another])
def test_a_source_that_is_not_what_it_was_is_an_error_that_names_it(tmp_path: Path, change) -> None:
    path = virtual(tmp_path, 5)
    run = tw.open(path)
    change(tmp_path / "f0003.h5")
    assert run["m"].read("frames", rows=slice(0, 3))["frames"][:, 0].tolist() == [1, 2, 3]
    for read in (lambda: run["m"].read("frames"), lambda: list(run["m"].batches())):
        with pytest.raises(tw.DataError, match=r"f0003\.h5"):
            read()


def test_verify_and_convert_name_a_source_that_is_gone(tmp_path: Path) -> None:
    path = virtual(tmp_path, 5)
    gone(tmp_path / "f0003.h5")
    assert any("f0003.h5" in each.why for each in tw.verify(path).problems)
    assert any("f0003.h5" in each.why for each in tw.convert(path, tmp_path / "out.root").problems)
    assert list(tw.open(tmp_path / "out.root")["m"].schema) == ["id"]


def test_the_descriptors_of_sources_are_closed(tmp_path: Path) -> None:
    table = tw.open(virtual(tmp_path, 20))["m"]
    before = len(os.listdir("/proc/self/fd"))
    table.read("frames")
    assert len(os.listdir("/proc/self/fd")) == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > before


@kinds
def test_a_job_refuses_an_input_that_is_given_by_several_names(tmp_path: Path, ending: str, make, monkeypatch) -> None:
    path = tmp_path / f"in.{ending}"
    make(path, 1)
    os.symlink(path, tmp_path / f"link.{ending}")
    os.link(path, tmp_path / f"hard.{ending}")
    monkeypatch.chdir(tmp_path)
    train = [tw.Derivation("out.root", keep="x")]
    for other in (path, f"./in.{ending}", f"link.{ending}", f"hard.{ending}", f"in.{ending}"):
        with pytest.raises(tw.UsageError, match="is given twice as input"):
            tw.derive([f"in.{ending}", other], train)
        assert not os.path.exists("out.root")


@kinds
@pytest.mark.parametrize("change", [replace, rewrite])
def test_a_job_stops_if_an_input_is_not_the_one_it_was_planned_with(tmp_path: Path, ending: str, make, change) -> None:
    """More inputs than stay open in the process of the job, so that a worker opens the last ones again."""
    paths = [tmp_path / f"in{number:02}.{ending}" for number in range(20)]
    for path in paths:
        make(path, 1)
    train = [tw.Derivation(tmp_path / "out.root", lambda events: {"x": events.x})]
    job = tw.derive(paths, train, workers=1, attempts=1)
    for path in paths[-2:]:
        change(path, make, 5)
    with pytest.raises(tw.DerivationError, match="is not the file that was opened"):
        job.run()


def test_resume_refuses_an_input_in_which_a_middle_has_been_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "in.h5"
    numbers = np.arange(200_000)
    with h5py.File(path, "w") as file:
        file["E/x"] = numbers
    marker = tmp_path / "stop"
    marker.touch()

    def stop(events):
        if marker.exists() and len(events) and events.x[-1] > 150_000:
            raise ValueError("stop")
        return {"x": events.x}

    train = [tw.Derivation(tmp_path / "out.root", stop, schema={"x": tw.int64})]
    with pytest.raises(tw.DerivationError, match="stop"):
        tw.derive(path, train, workers=1, attempts=1, range_bytes=400_000).run()
    marker.unlink()
    with h5py.File(path, "r+") as file:
        file["E/x"][90_000:110_000] = 0
    later(path)
    with pytest.raises(tw.UsageError, match="input"):
        tw.derive(path, train, workers=1, resume=True, range_bytes=400_000).run()


def test_swmr_files_that_grow_are_still_read(tmp_path: Path) -> None:
    path = tmp_path / "live.h5"
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("g/x", data=np.arange(100), chunks=(50,), maxshape=(None,))
        text = file.create_dataset("g/s", data=np.array([b"a"] * 100), chunks=(50,), maxshape=(None,))
        file.swmr_mode = True
        table = tw.open(path)["g"]
        for each in (data, text):
            each.resize((200,))
            each[100:] = each[:100]
            each.flush()
        later(path)
        assert table.read("x")["x"].tolist() == list(range(100))
        assert set(table.read("s")["s"].tolist()) == {"a"}


def test_a_copy_of_a_file_is_another_file(tmp_path: Path) -> None:
    hdf5(tmp_path / "a.h5", 1)
    shutil.copy(tmp_path / "a.h5", tmp_path / "b.h5")
    train = [tw.Derivation(tmp_path / "out.root", lambda events: {"x": events.x})]
    tw.derive([tmp_path / "a.h5", tmp_path / "b.h5"], train, workers=1).run()
    assert len(tw.open(tmp_path / "out.root")["g"]) == 2 * ROWS
