"""What the process of a job of several machines knows of these, and how their nodes end with it."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import thalweg as tw
from thalweg._derive.job_folder import BEGUN, DOING, JOB, JobFolder, durable, joined_path, owned
from thalweg._derive.machines import machine
from thalweg._derive.node_process import Rules, come
from thalweg._derive.nodes import Nodes
from thalweg._derive.outputs import Output

_SECONDS = 60.0


class Writer:
    """The writer of one output on node 1: rows of the last `durable_age` seconds are not durable."""

    handle = "handle"

    def __init__(self) -> None:
        self.dead: dict[int, str] = {}
        self.durable_age = 1000.0

    def dead_nodes(self) -> dict[int, str]:
        return self.dead

    def status(self) -> Any:
        return SimpleNamespace(units_not_durable=1, oldest_unit_age=self.durable_age)


@pytest.fixture
def outputs() -> list[Output]:
    writers: list[Any] = [Writer(), Writer()]
    return [Output("a", writers[0], {}), Output("b", writers[1], {})]


@pytest.fixture
def nodes(tmp_path: Path, outputs: list[Output]) -> Nodes:
    """Three, all of which are there."""
    made = Nodes([str(tmp_path / "a"), str(tmp_path / "b")], 3, _SECONDS)
    made.make_folder()
    for node in (2, 3):
        assert made.folder.take(owned(node), f"machine {node}")
        made.folder.put(joined_path(node), json.dumps([f"host{node}", ["x", "y"]]))
    made.wait_until_joined(outputs)
    return made


def test_what_was_not_durable_is_lost_with_its_node(nodes: Nodes, outputs: list[Output]) -> None:
    for commit, node, when in [
        ((0, 1), 2, 10.0),  # durable on node 2
        ((0, 2), 2, 30.0),  # not yet
        ((1, 1), 2, 10.0),  # not in that output
        ((0, 3), 3, 30.0),  # on another node
        ((0, 4), 2, 30.0),  # there, too, and elsewhere
        ((0, 4), 3, 30.0),
    ]:
        assert nodes.committed(commit, node, when)
    nodes.folder.put(durable(2), json.dumps([20.0, 5.0]))
    assert nodes.look(outputs) == {}
    assert not nodes.all_is_durable
    writer: Any = outputs[1].writer
    writer.dead = {2: "it was silent"}
    assert {node: sorted(lost) for node, lost in nodes.look(outputs).items()} == {2: [(0, 2), (1, 1)]}
    assert "machine 2" not in nodes.places
    assert not nodes.committed((0, 5), 2, 40.0)  # what it says now is not reliable
    assert nodes.committed((0, 1), 2, 40.0)  # but for what is known to be there
    assert nodes.look(outputs) == {}
    nodes.folder.put(durable(3), json.dumps([31.0, 31.0]))
    nodes.look(outputs)
    assert nodes.all_is_durable
    assert "host2 (it was silent): 2 ranges" in nodes.how_it_went(2, 2)


def test_what_this_process_has_is_durable_by_its_own_clock(nodes: Nodes, outputs: list[Output]) -> None:
    assert nodes.committed((0, 1), 1, time.monotonic() - 10)
    nodes.look(outputs)
    assert not nodes.all_is_durable
    writer: Any = outputs[0].writer
    writer.durable_age = 5.0
    nodes.look(outputs)
    assert nodes.all_is_durable


def test_names_of_pieces_of_work_are_replaced(nodes: Nodes) -> None:
    """Those of a worker that was killed: an engine may do its work again."""
    for node in (2, 3):
        assert nodes.folder.say(f"{DOING}7", str(node))
    assert nodes.doing() == {7: 3}
    nodes.end()
    assert not nodes.folder.say(f"{DOING}8", "2")
    assert nodes.doing() == {}


def test_a_folder_that_is_not_seen_is_named(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match=r"elsewhere does not exist on .*folder that all machines see"):
        come(str(tmp_path / "elsewhere"), 0)


def test_a_machine_comes_once(tmp_path: Path) -> None:
    folder = JobFolder(str(tmp_path / "job"))
    folder.make()
    folder.put(JOB, Rules("another machine", (str(tmp_path / "a.h5"),), 2, _SECONDS).to_text())
    for number in range(3):
        assert come(folder.path, number)[0] == machine()
    assert folder.owner(owned(2)) == machine()
    assert folder.names("said-") == ["2"]  # one process
    folder.remove()


def test_a_node_leaves_with_its_job(tmp_path: Path) -> None:
    """It waits for outputs that are never created: a process that creates them later is another job."""
    folder = JobFolder(str(tmp_path / "job"))
    folder.make()
    folder.put(JOB, Rules("another machine", (str(tmp_path / "a.h5"),), 2, _SECONDS).to_text())
    folder.put(BEGUN, "")
    words = [sys.executable, "-m", "thalweg._derive.node_process", folder.path, "2"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        begin = time.monotonic()
        folder.remove()
        _, said = process.communicate(timeout=_SECONDS)
        assert time.monotonic() - begin < _SECONDS / 4
        assert process.returncode != 0
        assert "the job ended before it was done" in said
    finally:
        process.kill()
        process.wait()
