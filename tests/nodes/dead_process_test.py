"""A process of a node is killed in a run whose nodes go on without a dead one. The machine lives, with its memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from machines import Machine, Make
from runs import NodesRun, expect_complete, numbers_in, rows_by_node

import thalweg as tw

_PACE = 0.002
_FLUSH = 2.0  # rows of up to so many seconds are in memory alone


def _begin(machines: Sequence[Machine], path: Path) -> NodesRun:
    run = NodesRun(machines, path, pace=_PACE, death="continue", timeout=8, flush=_FLUSH)
    run.wait_for_rows(100)
    return run


def test_the_node_of_a_killed_process_journals_its_rows(make_machines: Make, name: str, tmp_path: Path) -> None:
    run = _begin(make_machines(2), tmp_path / name)
    attached = run.attach(1, _PACE)
    attached.wait_for_rows(1000)
    attached.kill()
    attached.started.communicate(timeout=60)
    run.stop()
    ends = run.ends()
    assert [code for code, _ in ends] == [0, 0], ends
    counts = rows_by_node(run.path)
    assert counts[52] >= attached.appended()
    expect_complete(run, least=[run.numbers(0)[0], run.numbers(1)[0]])


def test_the_last_process_of_a_node_journals_what_is_left(make_machines: Make, name: str, tmp_path: Path) -> None:
    run = _begin(make_machines(2), tmp_path / name)
    attached = run.attach(1, _PACE)
    attached.wait_for_rows(1000)
    run.kill_process(1)
    _, said = attached.started.communicate(timeout=60)
    assert "is dead" in said
    why = Path(f"{run.path}.parts/dead-0002").read_text()
    assert "another process of this node has journaled what was left" in why
    run.stop()
    _, said = run.nodes[0].communicate(timeout=60)
    assert run.nodes[0].returncode == 0, said
    counts = rows_by_node(run.path)
    assert counts[52] >= attached.appended()
    expect_complete(run, least=[run.numbers(0)[0], run.numbers(1)[0]])
    left = run.machines[1].run("ls", "/dev/shm")
    assert left.stdout == "", "the memory of the node is removed"


def test_a_node_on_the_same_machine_journals_what_is_left(make_machines: Make, name: str, tmp_path: Path) -> None:
    (machine,) = make_machines(1)
    run = _begin([machine, machine], tmp_path / name)
    run.kill_process(1)
    run.nodes[1].communicate(timeout=60)
    run.stop()
    _, said = run.nodes[0].communicate(timeout=60)
    assert run.nodes[0].returncode == 0, said
    assert "went on without node 2" not in said, "nothing is missing"
    expect_complete(run, least=[run.numbers(0)[0], run.numbers(1)[0]])


def test_rows_that_no_process_can_journal_are_reported(make_machines: Make, name: str, tmp_path: Path) -> None:
    run = _begin(make_machines(2), tmp_path / name)
    run.kill_process(1)
    run.nodes[1].communicate(timeout=60)
    run.stop()
    _, said = run.nodes[0].communicate(timeout=60)
    assert run.nodes[0].returncode == 0, said
    there = rows_by_node(run.path).get(2, 0)
    assert f"the file has {there} of its rows" in said
    assert "node 2 (machine2) has been silent" in said
    assert "it is not known how many rows that is" in said
    assert numbers_in(run.logs[1])[1] <= there
    assert tw.verify(run.path).is_sound
