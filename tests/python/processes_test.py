"""Threads, forked, spawned and unrelated processes write one run."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw

SCHEMA = tw.schema({"t": {"producer": tw.uint8, "id": tw.uint64, "trace": tw.array(tw.uint16, 100)}})


def write(handle: str, producer: int, rows: int) -> None:
    with tw.attach(handle) as run, run.producer("t") as table:
        fill(table, producer, rows)


def fill(table: tw.Producer, producer: int, rows: int) -> None:
    for first in range(0, rows, 10):
        ids = np.arange(first, min(first + 10, rows), dtype=np.uint64)
        trace = np.repeat(ids.astype(np.uint16)[:, None] * 7 + producer, 100, axis=1)
        table.append(producer=np.full(len(ids), producer, np.uint8), id=ids, trace=trace)


def check(path: Path, rows_of: dict[int, int]) -> None:
    """Each producer's rows are all there, in their order."""
    rows = tw.open(path)["t"].read()
    assert rows.row_count == sum(rows_of.values())
    for producer, count in rows_of.items():
        mine = rows["producer"] == producer
        ids = rows["id"][mine]
        assert sorted(ids) == list(range(count))
        np.testing.assert_array_equal(rows["trace"][mine][:, 50], (ids * 7 + producer).astype(np.uint16))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_processes_of_multiprocessing(method: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context(method)
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        children = [context.Process(target=write, args=(out.handle, i, 205)) for i in range(2)]
        for child in children:
            child.start()
        fill(out.producer("t"), 2, 33)
        for child in children:
            child.join(300)
    assert [child.exitcode for child in children] == [0, 0]
    check(tmp_path / "run.h5", {0: 205, 1: 205, 2: 33})


def test_a_process_started_on_its_own(tmp_path: Path) -> None:
    script = (
        "import sys, thalweg as tw\n"
        "with tw.attach(sys.argv[1]) as run:\n"
        "    table = run.producer('t')\n"
        "    for i in range(50):\n"
        "        table.append(producer=4, id=i, trace=[(i * 7 + 4) % 65536] * 100)\n"
    )
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        subprocess.run([sys.executable, "-c", script, out.handle], check=True)
    check(tmp_path / "run.h5", {4: 50})


def test_threads_each_have_a_producer(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning={"threads": 1}) as out:
        threads = [threading.Thread(target=fill, args=(out.producer("t"), i, 2000)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        status = out.status()
        assert status.rows == 6000
        assert not status.failure
    check(tmp_path / "run.h5", dict.fromkeys(range(3), 2000))


def in_fork(work: Callable[[], None]) -> int:
    """The exit code of a forked child in which `work` was done, with whatever ending a process has."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            os._exit(3)
        os._exit(0)
    for _ in range(1000):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("threads", [0, 2])
def test_what_is_inherited_through_fork_says_use_attach(threads: int, tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA, tuning={"threads": threads}) as out:
        table = out.producer("t")
        fill(table, 0, 10)
        uses = [lambda: fill(table, 0, 10), table.finish, lambda: out.producer("t"), out.close]

        def try_all() -> None:
            for use in uses:
                with pytest.raises(tw.UsageError, match="attach"):
                    use()

        assert in_fork(try_all) == 0

        def drop() -> None:
            nonlocal table, out, uses
            out.abandon()
            del table, out, uses

        assert in_fork(drop) == 0
        fill(table, 1, 10)
    check(tmp_path / "run.h5", {0: 10, 1: 10})


def test_after_close_everything_says_why(tmp_path: Path) -> None:
    out = tw.create(tmp_path / "run.h5", SCHEMA)
    table, handle = out.producer("t"), out.handle
    report = out.close()
    assert (report.rows, report.lost_rows, report.producers_lost) == (0, 0, 0)
    assert out.close() is report is out.report
    with pytest.raises(tw.UsageError, match=r"run.h5 is closed"):
        out.producer("t")
    with pytest.raises(tw.UsageError, match=r"'t'.*no more rows.*finished"):
        fill(table, 0, 1)
    with pytest.raises(tw.UsageError, match="cannot attach"):
        tw.attach(handle)
    table.finish()
    out.abandon()
    assert len(tw.open(tmp_path / "run.h5")["t"]) == 0


def test_leaving_on_an_exception_abandons(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"

    def interrupted(out: tw.Writer) -> None:
        with out:
            fill(out.producer("t"), 0, 25)
            raise ZeroDivisionError

    out = tw.create(path, SCHEMA)
    with pytest.raises(ZeroDivisionError):
        interrupted(out)
    with pytest.raises(tw.UsageError, match=r"run.h5 is abandoned"):
        out.producer("t")
    assert tw.open(path).is_open
    report = tw.recover(path)
    assert report.rows == 25
    assert "25 rows in 1 table" in str(report)
    check(path, {0: 25})
    with pytest.raises(tw.UsageError, match="nothing to recover"):
        tw.recover(path)


def test_existing_files_are_not_replaced_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, SCHEMA) as out:
        with pytest.raises(tw.Error, match=r"run\.h5"):
            tw.create(path, SCHEMA, force=True)
        with pytest.raises(tw.Error, match=r"run\.h5"):
            tw.recover(path)
        fill(out.producer("t"), 0, 3)
    with pytest.raises(tw.UsageError, match=r"run.h5 \(it exists, and a closed file is not opened"):
        tw.create(path, SCHEMA)
    check(path, {0: 3})
    with tw.create(path, SCHEMA, force=True):
        pass
    assert len(tw.open(path)["t"]) == 0


def test_close_names_who_did_not_finish(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        other = tw.attach(out.handle)
        table = other.producer("t")
        fill(table, 0, 10)
        with pytest.raises(tw.SystemError, match=rf"process {os.getpid()} \(table 't', 10 rows\)") as caught:
            out.close(timeout=0.3)
        assert caught.value.errno == 110
        fill(table, 1, 10)
        other.finish()
    check(tmp_path / "run.h5", {0: 10, 1: 10})


def test_a_killed_producer_loses_nothing_it_published(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, numpy as np, thalweg as tw\n"
        "table = tw.attach(sys.argv[1]).producer('t')\n"
        "for i in range(321): table.append(producer=0, id=i, trace=np.full(100, i * 7, np.uint16))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        subprocess.run([sys.executable, "-c", script, out.handle], check=False)
        fill(out.producer("t"), 1, 50)
        report = out.close(timeout=120)
    assert report.producers_lost == 1
    check(tmp_path / "run.h5", {0: 321, 1: 50})


def test_producers_hear_that_the_creator_is_dead(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, thalweg as tw\n"
        f"schema = tw.Schema.from_json({SCHEMA.to_json()!r})\n"
        "out = tw.create(sys.argv[1], schema)\n"
        "print(out.handle, flush=True)\n"
        "sys.stdin.read()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "run.h5"
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as creator:
        assert creator.stdin
        assert creator.stdout
        handle = creator.stdout.readline().strip()
        table = tw.attach(handle).producer("t")
        fill(table, 0, 20)
        creator.stdin.close()
        creator.wait(120)
    time.sleep(1.2)
    with pytest.raises(tw.SystemError, match=r"dead.*thalweg recover"):
        fill(table, 0, 1)
    with pytest.raises(tw.Error, match=r"dead|cannot attach"):
        tw.attach(handle)
    del table
    assert tw.recover(path).rows == 20
    check(path, {0: 20})
