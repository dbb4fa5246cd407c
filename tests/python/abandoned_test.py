"""Workers that end on an exception leave a trace: in the status, in the report, and in the exit code of `record`."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

import thalweg as tw

SCHEMA = tw.schema({"t": {"id": tw.uint64}})


@pytest.fixture(params=[".h5", ".root"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"run{request.param}"


def expect(report: tw.RunReport, reason: str, rows: int) -> None:
    assert (report.producers_abandoned, report.producers_lost, report.lost_rows) == (1, 0, 0)
    (abandoned,) = report.abandoned
    assert (abandoned.table, abandoned.rows, abandoned.reason) == ("t", rows, reason)
    assert f"abandoned behind {rows} rows ({reason})" in str(report)


def test_an_exception_that_leaves_the_block_of_a_producer_is_in_the_report(path: Path) -> None:
    with tw.create(path, SCHEMA) as out:
        with pytest.raises(ZeroDivisionError), out.producer("t") as table:  # noqa: PT012
            table.append(id=7)
            1 / 0  # noqa: B018
        with pytest.raises(tw.UsageError, match="no more rows"):
            table.append(id=8)
        report = out.close()
    expect(report, "ZeroDivisionError: division by zero", 1)
    assert tw.open(path)["t"].read(["id"])["id"].tolist() == [7]


def work(handle: str, way: str) -> None:
    attached = tw.attach(handle)
    if way == "attached":
        with attached:
            attached.producer("t").append(id=range(5))
            raise ValueError("no such détecteur")
    if way == "unit":
        with attached:
            with attached.work_unit(1) as unit:
                unit["t"].append(id=range(5))
            with attached.work_unit(2) as unit:
                unit["t"].append(id=range(3))
                raise ValueError("no such détecteur")
    attached.producer("t").append(id=range(5))
    raise ValueError("no such détecteur")


@pytest.mark.parametrize("way", ["attached", "unit", "without a block"])
def test_so_is_that_of_a_worker_of_a_pool(path: Path, way: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    with tw.create(path, SCHEMA) as out:
        pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn)
        with pool, pytest.raises(ValueError, match="détecteur"):
            pool.submit(work, out.handle, way).result()
        status = out.status()
        report = out.close()
    reason = "finish() was not called" if way == "without a block" else "ValueError: no such détecteur"
    expect(report, reason, 5)
    assert report.rows == 5
    if status.abandoned:  # the committer has met it
        assert status.abandoned == report.abandoned
        assert status.ended[0].abandoned == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_it_is_known_after_everything_was_killed(path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        out = tw.create(path, SCHEMA)
        with contextlib.suppress(ZeroDivisionError), out.producer("t") as table:
            table.append(id=range(4))
            1 / 0  # noqa: B018
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    expect(tw.recover(path), "ZeroDivisionError: division by zero", 4)


def test_an_exception_that_abandons_the_run_is_known_to_recover(path: Path) -> None:
    with pytest.raises(KeyError), tw.create(path, SCHEMA) as out:  # noqa: PT012
        out.producer("t").append(id=range(4))
        raise KeyError("calibration")
    expect(tw.recover(path), "KeyError: 'calibration'", 4)
