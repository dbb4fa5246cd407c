"""Snapshots of runs that are being written, judged by h5py and uproot alone."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from live_runs import OFTEN, check, written_by_three

import thalweg as tw


@pytest.fixture(params=["run.h5", "run.root"])
def recorded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A run that three processes write, and the process that keeps it."""
    path = tmp_path / request.param
    with written_by_three(path) as recorder:
        yield path, recorder


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
    assert f"{out} has " in done.stdout
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
