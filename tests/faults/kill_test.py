"""kill -9 at random moments: what was published is in the recovered file, bit by bit, and nothing is left behind.

Any program can open the files before they are complete, with the rows up to interim metadata: every one of these is
right and stays, in RNTuples at its place.
"""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from faults import Driver, Run
from judges import CONTAINERS, Container, Numbers, RNTuple

PRODUCERS = 3
ROWS = 12000  # the last producer is slow, and writes a tenth
ENDLESS = 10**6  # for runs that must still be open when they are killed, however late
TIMES = 8  # of each test on each of the two file systems: 6 x 2 x 8 runs of each container; `make kills` has many more
TIMES_LONG = 1000


@pytest.fixture
def times(long_mode: bool) -> int:
    return TIMES_LONG if long_mode else TIMES


@pytest.fixture(params=CONTAINERS, ids=lambda container: container.extension)
def container(request: pytest.FixtureRequest) -> Container:
    return request.param


def rows_of(rows: int) -> list[int]:
    """Returns the rows of each producer."""
    return [rows] * (PRODUCERS - 1) + [rows // 10]


class Suite:
    """Runs to kill, each with random numbers of its own. What one leaves behind is checked and removed."""

    def __init__(self, driver: Driver, folder: Path, times: int, container: Container) -> None:
        self.driver, self.folder, self.times, self.container = driver, folder, times, container
        self.rows_shown_early = 0  # in all unfinished files together

    def runs(self, rows: int = ROWS) -> Iterator[tuple[Run, random.Random]]:
        for number in range(self.times):
            run = self.driver.start(self.folder / f"run{number}{self.container.extension}", PRODUCERS, rows)
            yield run, random.Random(number)
            run.expect_nothing_left()
            run.path.unlink()
        if rows == ENDLESS:
            assert self.rows_shown_early > 0

    def let_it_run(self, run: Run, chance: random.Random) -> None:
        """Waits for a random time, or until it shows its first rows if that was never seen yet and it lives long
        enough."""
        run.wait_for_rows(1)
        time.sleep(chance.uniform(0, 0.15))
        end_s = time.monotonic() + 120
        while not self.rows_shown_early and not run.ended_at:
            self.rows_shown_early += len(self.container.rows_shown(run.path))
            assert time.monotonic() < end_s, "no interim metadata are written"

    def look(self, run: Run) -> Numbers:
        """Checks what other programs see of the file as it was left."""
        shown = self.container.rows_shown(run.path)
        if self.container.is_complete(run.path):
            self.expect_published(run)  # a file that looks complete is complete
        else:
            self.rows_shown_early += len(shown)
        return shown

    def recover(self, run: Run) -> list[str]:
        """Recovers the run and returns the notes. What was seen before keeps its place."""
        shown = self.look(run)
        said = self.driver.ask("recover", run.path)
        assert said[0].startswith("recovered ")
        assert self.container.is_complete(run.path)
        there = self.container.rows_shown(run.path)
        if self.container.keeps_places:
            np.testing.assert_array_equal(there[: len(shown)], shown)
        else:
            assert set(map(tuple, shown.tolist())) <= set(map(tuple, there.tolist()))
        return said[1:]

    def expect_published(self, run: Run) -> dict[int, int]:
        there = self.driver.rows_in(run.path)
        for who, rows in run.published.items():
            assert there.get(who, 0) >= rows, f"producer {who} published {rows} rows, {there.get(who, 0)} are there"
        return there

    def show_to_others(self, run: Run, chance: random.Random) -> None:
        """Checks some of the files with slow readers."""
        if chance.random() < 0.2:
            assert len(self.container.rows_shown(run.path)) == sum(self.driver.rows_in(run.path).values())
            self.driver.ask("verify", run.path)
        if chance.random() < 0.05:
            self.container.show_to_others(run.path)


@pytest.fixture
def suite(driver: Driver, folder: Path, times: int, container: Container) -> Suite:
    return Suite(driver, folder, times, container)


def test_no_process_is_killed_and_all_can_watch(driver: Driver, folder: Path) -> None:
    container = RNTuple()
    for attempt in range(10):  # until one was slower than its observers
        run = driver.start(folder / f"run{attempt}.root", PRODUCERS, ROWS)
        run.wait_for_handle()
        shown, looks_with_news = container.rows_shown(run.path), 0
        while run.closed_rows is None and not run.ended_at:
            now = container.rows_shown(run.path)
            np.testing.assert_array_equal(now[: len(shown)], shown)
            looks_with_news += len(now) > len(shown)
            shown = now
        run.wait()
        assert len(container.rows_shown(run.path)) == sum(rows_of(ROWS))
        if looks_with_news > 1:
            break
    assert looks_with_news > 1
    container.show_to_others(run.path)


@pytest.mark.timeout(7200)
def test_everything(suite: Suite) -> None:
    read_early = 0
    for run, chance in suite.runs(ENDLESS):
        suite.let_it_run(run, chance)
        run.kill()
        assert not suite.container.is_complete(run.path)
        read_early += bool(suite.driver.rows_in(run.path))  # through its journal, as soon as that has rows
        assert not [note for note in suite.recover(run) if "lost" in note]
        suite.expect_published(run)
        suite.show_to_others(run, chance)
    assert read_early > suite.times / 2


@pytest.mark.timeout(7200)
def test_everything_and_the_memory_is_gone_too(suite: Suite) -> None:
    for run, chance in suite.runs(ENDLESS):
        suite.let_it_run(run, chance)
        run.kill()
        run.drop_shared_memory()
        durable = suite.driver.rows_in(run.path, "durable")
        notes = suite.recover(run)
        there = suite.driver.rows_in(run.path)
        for who, rows in durable.items():
            assert there.get(who, 0) >= rows
        if any(there.get(who, 0) < rows for who, rows in run.published.items()):
            assert any("memory of its producers is gone" in note for note in notes)
        suite.show_to_others(run, chance)


@pytest.mark.timeout(7200)
def test_a_producer(suite: Suite) -> None:
    for run, chance in suite.runs():
        suite.let_it_run(run, chance)
        victim = chance.randrange(PRODUCERS)
        with contextlib.suppress(KeyError, ProcessLookupError):  # it has not begun, or has ended
            os.kill(run.producers[victim], signal.SIGKILL)
        suite.rows_shown_early += len(suite.container.rows_shown(run.path))  # while the others go on
        run.wait()
        assert not run.errors
        there = suite.expect_published(run)
        assert suite.container.is_complete(run.path)
        assert sum(there.values()) == run.closed_rows
        assert all(there[who] == rows for who, rows in enumerate(rows_of(ROWS)) if who != victim)
        suite.show_to_others(run, chance)


@pytest.mark.timeout(7200)
def test_the_committer(suite: Suite) -> None:
    waited_s = []
    for run, chance in suite.runs(ENDLESS):
        suite.let_it_run(run, chance)
        os.kill(run.process.pid, signal.SIGKILL)
        killed_at = time.monotonic()
        run.wait()
        waited_s.append(run.ended_at - killed_at)
        assert len(run.errors) == len(run.producers)
        assert all(f"process {run.process.pid}, is dead" in error for error in run.errors)
        assert not suite.container.is_complete(run.path)
        suite.recover(run)
        suite.expect_published(run)
        suite.show_to_others(run, chance)
    # Each process reports the dead one within a second; a busy machine may add to that.
    assert np.median(waited_s) < 2, waited_s
    assert max(waited_s) < 30, waited_s


@pytest.mark.timeout(7200)
def test_closing(suite: Suite) -> None:
    for run, chance in suite.runs(rows=600):
        assert run.closing.wait(timeout=120)
        time.sleep(chance.uniform(0, 0.03))
        run.kill()
        suite.look(run)
        if Path(f"{run.path}.journal").exists():
            suite.recover(run)
        assert sum(suite.expect_published(run).values()) == sum(rows_of(600))
        suite.show_to_others(run, chance)


@pytest.mark.timeout(7200)
def test_recovering(suite: Suite) -> None:
    for run, chance in suite.runs(ENDLESS):
        suite.let_it_run(run, chance)
        run.kill()
        for _ in range(3):
            recovering = subprocess.Popen([suite.driver.program, "recover", run.path], stdout=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 0.04))
            recovering.kill()
            recovering.wait()
            suite.look(run)
        if Path(f"{run.path}.journal").exists():
            assert not [note for note in suite.recover(run) if "lost" in note]
        suite.expect_published(run)
        suite.show_to_others(run, chance)
