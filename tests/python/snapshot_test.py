"""Snapshots of runs that are being written, judged by h5py and uproot alone."""

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401  (the filters)
import numpy as np
import pytest
import uproot

import thalweg as tw

SCHEMA = {"events": {"producer": tw.uint32, "row": tw.uint64, "hits": tw.list_(tw.uint16)}}
OFTEN = {"flush_interval": 0.05}

# Writes until it is killed: the path, and how many processes append beside it.
RECORDER = """
import multiprocessing, sys, time
import snapshot_test
import thalweg as tw

if __name__ == "__main__":
    out = tw.create(sys.argv[1], snapshot_test.SCHEMA, tuning=snapshot_test.OFTEN)
    for number in range(3):
        multiprocessing.get_context("fork").Process(target=snapshot_test.write, args=(out.handle, number)).start()
    print("ready", flush=True)
    time.sleep(600)
"""


def hits_of(producers: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, producers = rows.astype(np.int64), producers.astype(np.int64)
    lengths = (rows * 3 + producers) % 6
    return lengths, (np.repeat(rows * 7 + producers, lengths) % 60000).astype(np.uint16)


def write(handle: str, number: int, stop: float = 600) -> None:
    """Appends until it is killed, or so many seconds."""
    end = time.monotonic() + stop
    with tw.attach(handle) as out:
        table = out.producer("events")
        row = 0
        while time.monotonic() < end:
            rows = np.arange(row, row + 1 + 17 * number, dtype=np.uint64)
            producers = np.full(len(rows), number, np.uint32)
            table.append(producer=producers, row=rows, hits=tw.Ragged.from_lengths(*hits_of(producers, rows)))
            row += len(rows)
            time.sleep(0.005)


def read_by_others(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Producers, rows, lengths and hits."""
    if path.suffix == ".root":
        with uproot.open(path) as file:
            arrays = file["events"].arrays()
        lengths, hits = ak.num(arrays["hits"]), ak.flatten(arrays["hits"])
        return np.asarray(arrays["producer"]), np.asarray(arrays["row"]), np.asarray(lengths), np.asarray(hits)
    with h5py.File(path) as file:
        events = file["events"]
        lengths = np.diff(events["hits/cumulative_length"][:], prepend=0)
        return events["producer"][:], events["row"][:], lengths, events["hits/flattened_data"][:]


def check(path: Path) -> dict[int, int]:
    """Checks that the first rows of every producer are there once, with their values. Returns their numbers."""
    producers, rows, lengths, hits = read_by_others(path)
    right_lengths, right_hits = hits_of(producers, rows)
    np.testing.assert_array_equal(lengths, right_lengths)
    np.testing.assert_array_equal(hits, right_hits)
    counts = {}
    for number in np.unique(producers):
        own = rows[producers == number]
        np.testing.assert_array_equal(own, np.arange(len(own)))
        counts[int(number)] = len(own)
    return counts


@pytest.fixture(params=["run.h5", "run.root"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A run that three processes write, and the process that keeps it."""
    path = tmp_path / request.param
    places = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    recorder = subprocess.Popen(
        [sys.executable, "-c", RECORDER, path], stdout=subprocess.PIPE, text=True, env=environment, process_group=0
    )
    try:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "ready\n"
        yield path, recorder
    finally:
        os.killpg(recorder.pid, signal.SIGKILL)
        recorder.communicate()
        with contextlib.suppress(tw.UsageError):  # recovered before
            tw.recover(path)  # which removes what the dead have left in /dev/shm


def rows_in(path: Path, out: Path) -> int:
    return tw.snapshot(path, out, force=True).rows


def wait_for_rows(path: Path, out: Path, more_than: int = 0) -> int:
    end = time.monotonic() + 60
    while (rows := rows_in(path, out)) <= more_than:
        assert time.monotonic() < end, "no rows come"
        time.sleep(0.02)
    return rows


def test_snapshots_of_a_run_that_goes_on(recorded: tuple[Path, subprocess.Popen[str]], thalweg_command) -> None:
    path, _ = recorded
    out = path.with_name(f"so-far{path.suffix}")
    rows = 0
    for _ in range(12):
        rows = wait_for_rows(path, out, rows)
        assert sum(check(out).values()) == rows
        assert tw.verify(out).is_sound
    done = thalweg_command("verify", out)
    assert done.returncode == 0, done.stderr
    assert len(check(out)) == 3
    assert tw.open(path).is_open
    held = json.loads(tw.open(out).metadata["snapshot"])
    assert (held["of"], held["rows"]) == (path.name, {"events": rows})


def test_the_command(recorded: tuple[Path, subprocess.Popen[str]], thalweg_command) -> None:
    path, _ = recorded
    out = path.with_name(f"so-far{path.suffix}")
    wait_for_rows(path, path.with_name(f"other{path.suffix}"))
    done = thalweg_command("snapshot", path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"{out} has " in done.stderr
    assert check(out)
    again = thalweg_command("snapshot", path, "--out", out)
    assert (again.returncode, again.stdout) == (2, "")
    assert "it exists already" in again.stderr
    forced = thalweg_command("snapshot", path, "--out", out, "--force", "--json")
    assert forced.returncode == 0, forced.stderr
    assert json.loads(forced.stdout)["tables"][0]["rows"] == sum(check(out).values())


def test_a_killed_recorder(recorded: tuple[Path, subprocess.Popen[str]]) -> None:
    path, recorder = recorded
    out = path.with_name(f"so-far{path.suffix}")
    rows = wait_for_rows(path, out)
    taking = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import thalweg as tw\nwhile True: tw.snapshot({str(path)!r}, {str(out)!r}, force=True)",
        ],
        stderr=subprocess.PIPE,
    )
    time.sleep(0.5)
    os.killpg(recorder.pid, signal.SIGKILL)
    time.sleep(0.3)
    taking.kill()
    _, said = taking.communicate()
    assert said == b""
    assert sum(check(out).values()) >= rows
    last = tw.snapshot(path, out, force=True)
    assert not last.is_written
    assert "recover" in str(last)
    of_snapshot = check(out)
    tw.recover(path)
    recovered = check(path)
    assert all(recovered[number] >= count for number, count in of_snapshot.items())


def test_killed_snapshots_leave_nothing(recorded: tuple[Path, subprocess.Popen[str]]) -> None:
    path, _ = recorded
    out = path.with_name(f"so-far{path.suffix}")
    wait_for_rows(path, out)
    out.unlink()
    context = multiprocessing.get_context("fork")
    for attempt in range(25):
        taking = context.Process(target=tw.snapshot, args=(path, out))
        taking.start()
        time.sleep(0.002 * attempt)
        taking.kill()
        taking.join()
        if out.exists():
            assert check(out)
            out.unlink()
        others = [name for name in os.listdir(path.parent) if not name.startswith(path.name)]
        assert others == []


def test_work_units_are_in_it_once_they_are_committed_and_written(tmp_path: Path) -> None:
    path, out_path = tmp_path / "run.h5", tmp_path / "so-far.h5"
    with tw.create(path, {"t": {"key": tw.int64}}, tuning=OFTEN) as out:
        with tw.attach(out.handle) as worker:  # which writes what it has in memory when it ends
            for key in range(20):
                with worker.work_unit(key) as unit:
                    unit["t"].append_columns(5, [np.full(5, key)])
        wait_for_rows(path, out_path, 99)
        with out.work_unit(99) as unit:
            unit["t"].append_columns(5, [np.full(5, 99)])
            time.sleep(0.3)
            taken = tw.snapshot(path, out_path, force=True)
    assert (taken.rows, taken.units, taken.lost_rows) == (100, 20, 0)
    with h5py.File(out_path) as file:
        assert sorted(file["t/key"][:]) == sorted(np.repeat(np.arange(20), 5))
    assert {unit.key for unit in tw.open(out_path).units} == set(range(20))


def test_of_what_is_finished_or_missing(tmp_path: Path, thalweg_command) -> None:
    path = tmp_path / "run.h5"
    missing = thalweg_command("snapshot", path, "--out", tmp_path / "so-far.h5")
    assert missing.returncode == 2
    assert "there is no such file" in missing.stderr
    with tw.create(path, {"t": {"x": tw.int64}}) as out:
        out.producer("t").append(x=[1, 2, 3])
    finished = thalweg_command("snapshot", path, "--out", tmp_path / "so-far.h5")
    assert finished.returncode == 2
    assert "it is complete" in finished.stderr
    assert "copy it" in finished.stderr
    assert os.listdir(tmp_path) == ["run.h5"]
