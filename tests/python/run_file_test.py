"""`Run.as_file`: what other programs read of a run that is written, killed, closed, replaced or removed."""

import copy
import io
import os
import pickle
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import uproot
import xarray as xr
from live_runs import OFTEN, SCHEMA, append, check, recovers, when, written_by_three

import thalweg as tw

Recorded = tuple[Path, subprocess.Popen[str]]


@pytest.fixture(params=["run.h5", "run.root"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recorded]:
    path = tmp_path / request.param
    with written_by_three(path) as recorder:
        yield path, recorder


def file_with(path: Path, more_than: int = 0) -> tw.RunFile:
    end = time.monotonic() + 60
    while True:
        file = tw.open(path).as_file()
        if file.rows["events"] > more_than:
            return file
        assert time.monotonic() < end, "no rows come"
        time.sleep(0.02)


def test_an_open_run_is_read_by_other_programs_while_it_grows(recorded: Recorded) -> None:
    path, _ = recorded
    rows, files = 0, []
    for _ in range(10):
        files.append(file_with(path, rows))
        rows = files[-1].rows["events"]
        assert sum(check(files[-1]).values()) == rows
        assert files[-1].is_open_run
    first = files[0]
    assert sum(check(first).values()) == first.rows["events"] < rows


def test_a_file_stays_as_it_is_over_the_death_of_all_and_recover(recorded: Recorded) -> None:
    path, recorder = recorded
    file = file_with(path, 2_000)
    before = check(file)
    os.killpg(recorder.pid, signal.SIGKILL)
    recorder.wait()
    left = tw.open(path).as_file()
    assert sum(check(left).values()) >= sum(before.values())
    assert check(file) == before
    when(lambda: recovers(path))
    assert check(file) == before
    recovered = tw.open(path).as_file()
    assert not recovered.is_open_run
    assert sum(check(recovered).values()) >= sum(check(left).values())
    os.remove(path)
    assert check(file) == before


def test_a_copy_of_the_bytes_is_sound_and_says_that_the_run_was_open(recorded: Recorded, thalweg_command) -> None:
    path, _ = recorded
    copy = path.with_name(f"copy{path.suffix}")
    with file_with(path) as file, open(copy, "wb") as out:
        shutil.copyfileobj(io.BufferedReader(file), out)
    assert thalweg_command("verify", copy).returncode == 0
    assert check(copy)
    assert '"rows":{"events":' in tw.open(copy).metadata["snapshot"]


def test_h5ls_and_uproot_see_what_is_in_a_copy_of_an_image(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning=OFTEN) as out:
        append(out, 0, 5_000)
        when(lambda: len(tw.open(tmp_path / "run.h5")["events"]) == 5_000)
        (tmp_path / "copy.h5").write_bytes(tw.open(tmp_path / "run.h5").as_file().read())
    listed = subprocess.run(["h5ls", "-r", tmp_path / "copy.h5"], capture_output=True, text=True, check=True)
    assert "Dataset {5000/Inf}" in listed.stdout


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_committed_units_are_seen_although_a_table_has_less_than_a_page(tmp_path: Path, name: str) -> None:
    schema = {"waves": {"unit": tw.int64, "wave": tw.array(tw.uint16, 1_000)}, "sums": {"unit": tw.int64}}
    waves = np.random.default_rng(1).integers(0, 60_000, (50, 1_000)).astype(np.uint16)
    with tw.create(tmp_path / name, schema, tuning={"flush_interval": 0.1}) as out:
        for key in range(100):
            with out.work_unit(key) as unit:
                unit["waves"].append(unit=np.full(50, key), wave=waves)
                unit["sums"].append(unit=[key])
        when(lambda: tw.open(tmp_path / name).as_file().rows == {"waves": 5_000, "sums": 100})
        file = tw.open(tmp_path / name).as_file()
        if name.endswith(".h5"):
            with h5py.File(file) as opened:
                assert opened["sums/unit"][:].tolist() == list(range(100))
                np.testing.assert_array_equal(opened["waves/wave"][-50:], waves)
        else:
            assert uproot.open(file)["sums"]["unit"].array().tolist() == list(range(100))


def test_threads_share_it(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning=OFTEN) as out:
        append(out, 0, 20_000)
        when(lambda: len(tw.open(tmp_path / "run.h5")["events"]) == 20_000)
        file = tw.open(tmp_path / "run.h5").as_file()
        whole = file.read_at(0, file.size)
        wrong: list[int] = []

        def read(number: int) -> None:
            random = np.random.default_rng(number)
            for offset in random.integers(0, file.size, 300).tolist():
                if file.read_at(offset, 5_000) != whole[offset : offset + 5_000]:
                    wrong.append(offset)

        threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        with h5py.File(file) as opened:
            columns = [opened["events/row"][:] for _ in range(2)]
        np.testing.assert_array_equal(columns[0], np.arange(20_000))


def test_it_is_pickled_by_its_path(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning=OFTEN) as out:
        append(out, 0, 100)
        when(lambda: len(tw.open(tmp_path / "run.h5")["events"]) == 100)
        pickled = pickle.dumps(tw.open(tmp_path / "run.h5").as_file())
        append(out, 100, 100)
        when(lambda: len(tw.open(tmp_path / "run.h5")["events"]) == 200)
        assert pickle.loads(pickled).rows == {"events": 200}
    assert pickle.loads(pickled).rows == {}
    with tw.create(tmp_path / "run.h5", SCHEMA, force=True) as out:
        append(out, 0, 1)
    with pytest.raises(tw.DataError, match=r"run\.h5 is not the file that was opened"):
        pickle.loads(pickled)


def test_xarray_opens_an_open_run(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"ch0": {"t": tw.int64}}, tuning=OFTEN) as out:
        with out.producer("ch0") as producer:
            producer.append(t=np.arange(500))
        when(lambda: len(tw.open(tmp_path / "run.h5")["ch0"]) == 500)
        file = tw.open(tmp_path / "run.h5").as_file()
        with xr.open_dataset(file, group="ch0", engine="h5netcdf", phony_dims="sort") as data:
            assert data["t"].values.tolist() == list(range(500))


def test_closed_files_of_others_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "tree.root"
    with uproot.recreate(path) as file:
        file["t"] = {"x": np.arange(10)}
    shown = tw.open(path).as_file()
    assert shown.read() == path.read_bytes()
    assert uproot.open(tw.open(path).as_file())["t/x"].array().to_list() == list(range(10))
    path.write_bytes(path.read_bytes() + b"more")
    shown.seek(0)
    with pytest.raises(tw.DataError, match=r"tree\.root is not the file that was opened"):
        shown.read()


def test_it_is_a_file_object(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        append(out, 0, 10)
    bytes_ = (tmp_path / "run.h5").read_bytes()
    file = tw.open(tmp_path / "run.h5").as_file()
    assert (file.readable(), file.seekable(), file.writable()) == (True, True, False)
    assert (file.seek(-7, os.SEEK_END), file.read(), file.tell()) == (len(bytes_) - 7, bytes_[-7:], len(bytes_))
    assert (file.seek(3), file.seek(2, os.SEEK_CUR), file.read(4)) == (3, 5, bytes_[5:9])
    assert (file.seek(10, os.SEEK_END), file.read(4), file.read_at(len(bytes_), 1)) == (len(bytes_) + 10, b"", b"")
    with pytest.raises(ValueError, match="no byte -1"):
        file.seek(-1)
    with pytest.raises(ValueError, match="cannot be counted from 7"):
        file.seek(0, 7)
    with pytest.raises(io.UnsupportedOperation, match=r"run\.h5 cannot be written"):
        file.write(b"x")
    file.seek(3)
    other = copy.copy(file)
    assert (other.read(4), file.read(4)) == (bytes_[:4], bytes_[3:7])
    assert repr(file) == f"<RunFile {tmp_path / 'run.h5'}: {len(bytes_)} bytes>"
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read(1)
    assert other.read(1) == bytes_[4:5]


def test_a_run_that_is_another_one_now_is_an_error(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning=OFTEN):
        run = tw.open(tmp_path / "run.h5")
    again = tw.create(tmp_path / "run.h5", SCHEMA, tuning=OFTEN, force=True)
    with again, pytest.raises(tw.DataError, match="is another run now"):
        run.as_file()
    os.remove(tmp_path / "run.h5")
    with pytest.raises(tw.UsageError, match="no such file"):
        run.as_file()


def test_far_files_have_a_url(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        append(out, 0, 10)
    run = tw.open(io.BytesIO((tmp_path / "run.h5").read_bytes()))
    with pytest.raises(tw.UsageError, match="cannot be shown as a file"):
        run.as_file()
