"""A run of several machines goes on after all its machines have died."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from machines import Make
from runs import NodesRun, expect_complete, rows_by_node

import thalweg as tw

_ROWS = 2000


def test_processes_that_were_killed_lose_nothing(make_machines: Make, name: str, tmp_path: Path) -> None:
    machines = make_machines(2)
    killed = NodesRun(machines, tmp_path / name, pace=0.002)
    killed.wait_for_rows(300)
    killed.kill_processes()
    resumed = NodesRun(machines, killed.path, rows=_ROWS, resumed=1)
    assert [code for code, _ in resumed.ends()] == [0, 0]
    expect_complete(resumed, least=[_ROWS, _ROWS])
    killed.expect_rows(rows_by_node(killed.path), least=[killed.numbers(index)[0] for index in range(2)])


def test_machines_that_were_restarted_have_what_was_durable(make_machines: Make, name: str, tmp_path: Path) -> None:
    killed = NodesRun(make_machines(2), tmp_path / name, pace=0.002)
    killed.wait_for_rows(300)
    killed.kill_all()
    resumed = NodesRun(make_machines(2), killed.path, rows=_ROWS, resumed=1)
    assert [code for code, _ in resumed.ends()] == [0, 0]
    expect_complete(resumed, least=[_ROWS, _ROWS])
    killed.expect_rows(rows_by_node(killed.path), least=[killed.durable(index) for index in range(2)])


def test_nodes_that_have_changed_their_machines_are_refused(make_machines: Make, tmp_path: Path) -> None:
    machines = make_machines(2)
    killed = NodesRun(machines, tmp_path / "run.h5", pace=0.002)
    killed.wait_for_rows(300)
    killed.kill_processes()
    exchanged = NodesRun(machines[::-1], killed.path, rows=_ROWS, resumed=1)
    ends = exchanged.ends()
    assert [code != 0 for code, _ in ends] == [True, True]
    assert "node 1 on machine1 may still write it, and this machine, machine2, cannot know" in ends[0][1]
    report = tw.recover(killed.path, all_nodes_are_down=True)
    assert report.tables[0].rows > 0


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.timeout(3000)
def test_all_die_at_any_moment_again_and_again(
    make_machines: Make, name: str, tmp_path: Path, seed: int, long_mode: bool
) -> None:
    """Machines also die while the run is resumed. The machines that resumed it last close it."""
    chance = random.Random(seed)
    machines = make_machines(2)
    path = tmp_path / name
    lives = [NodesRun(machines, path, pace=0.0005)]
    lives[0].wait_until_begun()
    promised = []
    for life in range(1, 13 if long_mode else 4):
        time.sleep(chance.uniform(0, 2))
        if chance.random() < 0.5:
            lives[-1].kill_all()
            for before, run in reversed(list(enumerate(lives[:-1]))):
                if lives[before + 1].has_begun():
                    break
                # No later life has read what was in the memory of the machines, which is lost with them.
                promised[before] = [run.durable(index) for index in range(2)]
            promised.append([lives[-1].durable(index) for index in range(2)])
            machines = make_machines(2)
        else:
            lives[-1].kill_processes()
            promised.append([lives[-1].numbers(index)[0] for index in range(2)])
        lives.append(NodesRun(machines, path, pace=0.0005, resumed=life))
    lives[-1].stop()
    assert [code for code, _ in lives[-1].ends()] == [0, 0]
    expect_complete(lives[-1], least=[lives[-1].numbers(index)[0] for index in range(2)])
    counts = rows_by_node(path)
    for run, least in zip(lives, promised, strict=False):
        run.expect_rows(counts, least=least)
    print(f"{2 * len(promised)} deaths")
