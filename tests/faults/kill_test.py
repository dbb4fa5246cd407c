"""kill -9 at random moments: what was published is in the recovered file, bit by bit, and nothing is left behind."""

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  (its filters)
import numpy as np
import pytest
from faults import Driver, Run

PRODUCERS = 3
ROWS = 6000  # of the last producer, which is slow, a tenth
TIMES = 22  # of each test on each of the two file systems: 5 x 2 x 22 runs, and more kills
TIMES_LONG = 1000


@pytest.fixture
def times(long_mode: bool) -> int:
    return TIMES_LONG if long_mode else TIMES


def rows_of(rows: int) -> list[int]:
    """Of each producer."""
    return [rows] * (PRODUCERS - 1) + [rows // 10]


def runs(driver: Driver, folder: Path, times: int, producers: int = PRODUCERS, rows: int = ROWS):
    """A run for every time, with random numbers of its own; what it leaves behind is looked at and removed."""
    for number in range(times):
        run = driver.start(folder / f"run{number}.h5", producers, rows)
        yield run, random.Random(number)
        run.expect_nothing_left()
        run.path.unlink()


def recover(run: Run) -> list[str]:
    """Returns the notes."""
    said = run.driver.ask("recover", run.path)
    assert said[0].startswith("recovered ")
    return said[1:]


def expect_published(run: Run) -> None:
    there = run.driver.rows_in(run.path)
    for who, rows in run.published.items():
        assert there.get(who, 0) >= rows, f"producer {who} had published {rows} rows, {there.get(who, 0)} are there"
    assert run.is_hdf5()


def read_with_h5py(run: Run) -> None:
    with h5py.File(run.path) as file:
        table = file["pulses"]
        who, row = table["producer"][:].astype(np.uint64)[:, None], table["id"][:][:, None]
        index = np.arange(table["waveform"].shape[1], dtype=np.uint64)[None, :]
        expected = (row * 31 + who * 7 + index * (1 + row % 3)) % 1021
        np.testing.assert_array_equal(table["waveform"][:], expected.astype(np.uint16))


def let_it_run(run: Run, chance: random.Random) -> None:
    run.wait_for_rows(1)
    time.sleep(chance.uniform(0, 0.15))


@pytest.mark.timeout(7200)
def test_everything(driver: Driver, folder: Path, times: int) -> None:
    for run, chance in runs(driver, folder, times):
        let_it_run(run, chance)
        run.kill()
        assert not run.is_hdf5()
        assert driver.rows_in(run.path)  # readable through its journal, too
        assert not [note for note in recover(run) if "lost" in note]
        expect_published(run)
        if chance.random() < 0.2:
            read_with_h5py(run)


@pytest.mark.timeout(7200)
def test_everything_and_the_memory_is_gone_too(driver: Driver, folder: Path, times: int) -> None:
    for run, chance in runs(driver, folder, times):
        let_it_run(run, chance)
        run.kill()
        run.drop_shared_memory()
        durable = driver.rows_in(run.path, "durable")
        notes = recover(run)
        there = driver.rows_in(run.path)
        for who, rows in durable.items():
            assert there.get(who, 0) >= rows
        if any(there.get(who, 0) < rows for who, rows in run.published.items()):
            assert any("memory of its producers is gone" in note for note in notes)


@pytest.mark.timeout(7200)
def test_a_producer(driver: Driver, folder: Path, times: int) -> None:
    for run, chance in runs(driver, folder, times):
        let_it_run(run, chance)
        victim = chance.randrange(PRODUCERS)
        with contextlib.suppress(KeyError, ProcessLookupError):  # it has not begun, or has ended
            os.kill(run.producers[victim], signal.SIGKILL)
        run.wait()
        assert not run.errors
        expect_published(run)
        there = driver.rows_in(run.path)
        assert sum(there.values()) == run.closed_rows
        assert all(there[who] == rows for who, rows in enumerate(rows_of(ROWS)) if who != victim)


@pytest.mark.timeout(7200)
def test_the_committer(driver: Driver, folder: Path, times: int) -> None:
    for run, chance in runs(driver, folder, times, rows=10**6):
        let_it_run(run, chance)
        os.kill(run.process.pid, signal.SIGKILL)
        killed_at = time.monotonic()
        run.wait()
        # Each says who died, within a second; what this busy machine adds to that is not ours.
        assert run.ended_at - killed_at < 2
        assert len(run.errors) == len(run.producers)
        assert all(f"process {run.process.pid}, is dead" in error for error in run.errors)
        assert not run.is_hdf5()
        recover(run)
        expect_published(run)


@pytest.mark.timeout(7200)
def test_closing(driver: Driver, folder: Path, times: int) -> None:
    for run, chance in runs(driver, folder, times, rows=600):
        run.closing.wait(timeout=30)
        time.sleep(chance.uniform(0, 0.03))
        run.kill()
        if run.is_hdf5():
            expect_published(run)  # whatever opens is complete
        if Path(f"{run.path}.journal").exists():
            recover(run)
        expect_published(run)
        assert sum(driver.rows_in(run.path).values()) == sum(rows_of(600))


@pytest.mark.timeout(7200)
def test_recovering(driver: Driver, folder: Path, times: int) -> None:
    for run, chance in runs(driver, folder, times):
        let_it_run(run, chance)
        run.kill()
        for _ in range(3):
            recovering = subprocess.Popen([driver.program, "recover", run.path], stdout=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.04))
            recovering.kill()
            recovering.wait()
            if run.is_hdf5():
                expect_published(run)
        if Path(f"{run.path}.journal").exists():
            assert not [note for note in recover(run) if "lost" in note]
        expect_published(run)
