"""`Run.status`: how a run is that other processes write, that they have left, or that is closed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from live_runs import recovers, when
from recording import recording, wait_for

import thalweg as tw

SCHEMA = {"a": {"x": tw.int64}, "b": {"x": tw.int64}}
# Three producers: one that has ended and one at work in table a, one at work in table b.
WRITER = """
import os, sys, numpy as np, thalweg as tw
out = tw.create(sys.argv[1], {"a": {"x": tw.int64}, "b": {"x": tw.int64}}, tuning={"flush_interval": 0.05})
ended, first, second = out.producer("a"), out.producer("a"), out.producer("b")
ended.append_columns(10, [np.arange(10)])
ended.set_counters({"lost_triggers": 1, "dead_time_ns": 1_000, "live_time_ns": 1_000})
ended.finish()
first.append_columns(20, [np.arange(20)])
first.set_counters({"lost_triggers": 2, "dead_time_ns": 2_000, "live_time_ns": 8_000})
second.append_columns(30, [np.arange(30)])
print(out.handle, flush=True)
for line in sys.stdin:
    if line == "close\\n":
        out.close()
    if line == "append\\n":
        second.append_columns(5, [np.arange(5)])
    print("done", flush=True)
"""


class Writing:
    def __init__(self, path: Path) -> None:
        words = [sys.executable, "-c", WRITER, str(path)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.handle = self.process.stdout.readline().strip()

    def tell(self, what: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(params=["run.h5", "run.root"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


@pytest.fixture
def writing(path: Path) -> Iterator[Writing]:
    child = Writing(path)
    yield child
    child.kill()
    if Path(f"{path}.journal").exists():
        recovers(path)


def table_of(status: tw.RunStatus, name: str) -> Any:
    return {each.table: each for each in status.tables}[name]


def test_a_run_that_another_process_writes(path: Path, writing: Writing) -> None:
    run = tw.open(path)
    when(lambda: len(run.status().producers) == 2)  # the committer has settled the one that has ended
    status = run.status()
    assert status.state == "written"
    (node,) = status.nodes
    assert (node.node, node.pid, node.why) == (1, writing.process.pid, "")
    assert [(each.table, each.rows, each.alive, each.state) for each in status.producers] == [
        ("a", 20, True, "active"),
        ("b", 30, True, "active"),
    ]
    assert {each.pid for each in status.producers} == {writing.process.pid}
    a = table_of(status, "a")
    assert (a.rows, a.alive, a.died, a.abandoned) == (30, 1, 0, 0)
    assert a.counters == {"lost_triggers": 3, "dead_time_ns": 3_000, "live_time_ns": 9_000}
    assert a.dead_time == 0.25
    assert table_of(status, "b").dead_time is None
    assert status.rows == 60
    assert status.is_whole
    assert f"process {writing.process.pid}" in str(status)
    json.dumps(status.to_dict())
    writing.tell("append")
    assert run.status().rows == 65  # of the same object, which shows older rows
    when(lambda: (run.status().durable_lag or 0) < 10)


def test_the_figures_are_those_that_the_writer_has(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, SCHEMA, tuning={"flush_interval": 3600, "staging_bytes": "64KiB"}) as out:
        out.producer("a").append(x=np.arange(200_000))
        out.producer("b").append(x=range(3))
        when(lambda: out.status().rows == 200_003)  # the committer has met both
        mine, theirs = out.status(), tw.open(path).status()
        (figures,) = theirs.figures
        assert theirs.rows == mine.rows == 200_003
        assert figures.memory == mine.memory
        assert [each.number for each in figures.producers] == [each.number for each in mine.producers]
        assert [each.waited for each in figures.producers] == [each.waited for each in mine.producers]
        assert figures.pages <= out.status().pages
        assert abs(figures.durable_lag - out.status().durable_lag) < 30


def test_producers_that_the_committer_has_not_met_have_a_status(tmp_path: Path) -> None:
    states = set()
    with tw.create(tmp_path / "run.h5", tw.schema({"t": {"x": tw.float64}})) as out:
        for _ in range(300):
            with out.producer("t"):
                status = out.status()
                states |= {each.state for each in status.producers}
                assert all(each.waited >= 0 for each in status.producers)
    assert "attaching" in states


def test_units_that_are_not_durable_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, SCHEMA, tuning={"flush_interval": 3600}) as out:
        for key in range(3):
            with out.work_unit(key) as unit:
                unit["a"].append(x=[key])
        (figures,) = tw.open(path).status().figures
        assert (figures.units_committed, figures.units_not_durable) == (3, 3)
        assert figures.oldest_unit_age > 0


def test_a_writer_that_was_killed_has_left_the_run(path: Path, writing: Writing) -> None:
    run = tw.open(path)
    writing.tell("append")
    writing.kill()
    status = run.status()
    assert status.state == "left"
    assert status.nodes[0].pid is None
    assert status.rows == 65
    assert {each.alive for each in status.producers} == {False}
    assert sum(each.died for each in status.tables) >= 2
    assert "thalweg recover" in str(status)
    assert tw.recover(path).rows == 65
    for each in (run, tw.open(path)):
        closed = each.status()
        assert (closed.state, closed.nodes, closed.rows, closed.durable_lag) == ("closed", (), None, None)
    assert "no process writes it" in str(closed)


def test_without_its_memory_it_is_known_that_no_process_writes_it(path: Path, writing: Writing) -> None:
    run = tw.open(path)
    writing.kill()
    for memory in Path("/dev/shm").glob(f"{writing.handle}*"):  # as a restart of the machine does it
        memory.unlink()
    status = run.status()
    assert (status.state, status.figures, status.rows, status.is_whole) == ("left", (), None, False)
    assert "its memory is gone" in str(status)


def test_a_run_that_is_closed_meanwhile(path: Path, writing: Writing) -> None:
    run = tw.open(path)
    writing.tell("close")
    assert run.is_open
    assert run.status().state == "closed"


def test_a_producer_that_was_killed_is_one_that_died(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    program = "import os, sys, thalweg as tw; out = tw.attach(sys.argv[1]); p = out.producer('a'); p.append(x=[1, 2]);"
    with tw.create(path, SCHEMA) as out:
        subprocess.run([sys.executable, "-c", f"{program} os.kill(os.getpid(), 9)", out.handle], check=False)
        run = tw.open(path)
        when(lambda: table_of(run.status(), "a").died == 1 and not run.status().producers)
        assert table_of(run.status(), "a").rows == 2


def test_figures_of_another_version_are_an_error_that_says_so(
    path: Path, writing: Writing, thalweg_command: Any
) -> None:
    run = tw.open(path)
    with open(f"/dev/shm/{writing.handle}-board", "r+b") as board:
        board.seek(8)
        board.write((2).to_bytes(4, "little"))
    with pytest.raises(tw.UsageError, match="another version of Thalweg: 2, and this one's is 1"):
        run.status()
    assert "It is not known whether it is still written" in thalweg_command("inspect", path).stdout


def test_another_run_at_its_path_is_an_error(tmp_path: Path) -> None:
    path, other = tmp_path / "run.h5", tmp_path / "other.h5"
    child, another = Writing(path), Writing(other)
    run = tw.open(path)
    for each in (child, another):
        each.kill()
    tw.recover(path)
    for end in ("", ".journal"):
        os.replace(f"{other}{end}", f"{path}{end}")
    with pytest.raises(tw.DataError, match="another run now"):
        run.status()
    tw.recover(path)


def test_files_that_no_process_of_thalweg_writes(tmp_path: Path) -> None:
    foreign, ours = tmp_path / "foreign.h5", tmp_path / "ours.h5"
    with h5py.File(foreign, "w") as file:
        file["x"] = np.arange(3)
    with pytest.raises(tw.UsageError, match="Thalweg has not written it"):
        tw.open(foreign).status()
    with tw.create(ours, SCHEMA):
        pass
    with ours.open("rb") as file, pytest.raises(tw.UsageError, match="not read by a path"):
        tw.open(file).status()
    run = tw.open(ours)
    run.close()
    with pytest.raises(tw.UsageError, match="closed by close"):
        run.status()


def test_inspect_says_how_a_recording_is(tmp_path: Path, thalweg_command: Any) -> None:
    out = tmp_path / "run.h5"
    with recording(out, "--samples", "64", "--channels", "2", "--rate", "2kHz") as recorder:

        def facts() -> dict[str, Any]:
            return dict(json.loads(thalweg_command("inspect", "--json", out).stdout))

        wait_for(lambda: facts()["status"]["nodes"][0]["figures"]["tables"][0]["counters"].get("triggers", 0) > 0)
        status = facts()["status"]
        assert status["state"] == "written"
        assert status["nodes"][0]["pid"] == recorder.process.pid
        assert {each["pid"] for each in facts()["producers"] if each["alive"]} <= {*recorder.workers()}
        said = thalweg_command("inspect", out).stdout
        assert "a power cut would lose at most the last" in said
        assert "lost_triggers 0" in said
        recorder.signal(signal.SIGTERM)
        report = recorder.report()
    assert facts()["status"] is None
    assert report["rows"] > 0


def test_several_files_have_the_status_of_the_last_one(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        small = ("--samples", "64", "--channels", "1", "--rate", "2kHz", "--max-file-size", "1MB")
        recorder = stack.enter_context(recording(tmp_path / "run.h5", *small))
        second = tmp_path / "run-00002.h5"
        wait_for(second.exists)
        run = tw.open(tmp_path / "run-00001.h5", next_files=True)
        assert run.status().path == str(run.parts[-1].path)
        recorder.signal(signal.SIGTERM)
        recorder.report()
