"""Machines that see their folder through caches write one file: no row is missing, and nothing is left behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from machines import Machine, Make
from runs import NodesRun, expect_complete, rows_by_node

_ROWS = 1000


def _seeing_through_cache(make_machines: Make, folder: Path, nodes: int, seconds: float) -> list[Machine]:
    if shutil.which("bindfs") is None:
        pytest.skip("bindfs is not installed")
    if not Path("/dev/fuse").exists():
        pytest.skip("there is no /dev/fuse here")
    machines = list(make_machines(nodes))
    for machine in machines:
        machine.see_through_cache(folder, seconds)
    return machines


def _expect_all_rows(make_machines: Make, path: Path, nodes: int, seconds: float) -> None:
    path.parent.mkdir()
    run = NodesRun(_seeing_through_cache(make_machines, path.parent, nodes, seconds), path, rows=_ROWS)
    for log in run.logs:  # the machines read and write these through their caches, too
        assert log.parent == path.parent
    ends = run.ends()
    assert [code for code, _ in ends] == [0] * nodes, ends
    assert rows_by_node(path) == dict.fromkeys(range(1, nodes + 1), _ROWS)
    expect_complete(run, least=[_ROWS] * nodes)


@pytest.mark.parametrize("seconds", [0, 1, 10])
def test_no_row_is_lost_where_attributes_are_cached(
    make_machines: Make, name: str, tmp_path: Path, seconds: float
) -> None:
    _expect_all_rows(make_machines, tmp_path / "run" / name, 2, seconds)


def test_many_runs_lose_no_row(make_machines: Make, name: str, tmp_path: Path, long_mode: bool) -> None:
    for number in range(60 if long_mode else 1):
        nodes, seconds = 2 + number % 3, (10, 1, 0)[number // 3 % 3]
        _expect_all_rows(make_machines, tmp_path / f"run{number}" / name, nodes, seconds)


def test_those_that_go_on_without_a_machine_have_what_was_durable(
    make_machines: Make, tmp_path: Path, long_mode: bool
) -> None:
    if not long_mode:
        pytest.skip("the others wait for a while before they go on: --long")
    folder = tmp_path / "run"
    folder.mkdir()
    machines = _seeing_through_cache(make_machines, folder, 3, 10)
    run = NodesRun(machines, folder / "run.h5", pace=0.002, death="continue", timeout=8)
    run.wait_for_rows(300)
    machines[1].kill()
    durable = run.durable(1)
    run.stop()
    ends = run.ends()
    assert [ends[index][0] for index in (0, 2)] == [0, 0], ends
    expect_complete(run, least=[run.numbers(0)[0], durable, run.numbers(2)[0]])
