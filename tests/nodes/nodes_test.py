"""Machines of their own write one file, and die: what was promised is in it, and nothing twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from machines import Make
from runs import NodesRun, expect_complete, rows_by_node

import thalweg as tw

THALWEG = str(Path(sys.executable).with_name("thalweg"))
_ROWS = 3000


def test_they_write_one_ordinary_file(make_machines: Make, name: str, tmp_path: Path) -> None:
    run = NodesRun(make_machines(3), tmp_path / name, rows=_ROWS)
    assert [code for code, _ in run.ends()] == [0, 0, 0]
    assert rows_by_node(run.path) == {1: _ROWS, 2: _ROWS, 3: _ROWS}
    expect_complete(run, least=[_ROWS] * 3)


def test_others_see_what_is_written(make_machines: Make, name: str, tmp_path: Path) -> None:
    machines = make_machines(2)
    run = NodesRun(machines, tmp_path / name, pace=0.002)
    run.wait_for_rows(500)
    shown = machines[1].run(THALWEG, "inspect", str(run.path))
    assert shown.returncode == 0, shown.stderr
    assert "Node 1 (machine1)" in shown.stdout
    assert "Node 2 (machine2)" in shown.stdout
    assert len(tw.open(run.path)["events"]) >= 1000
    assert tw.verify(run.path).is_sound
    run.stop()
    assert [code for code, _ in run.ends()] == [0, 0]


def test_every_row_of_all_nodes_is_followed_once(make_machines: Make, name: str, tmp_path: Path) -> None:
    run = NodesRun(make_machines(2), tmp_path / name, pace=0.002)
    run.wait_for_rows(100)
    seen: Counter[tuple[int | None, int | None]] = Counter()
    for number, new in enumerate(tw.open(run.path).follow(interval=0.02)):
        place = new.node, new.producer
        assert new.rows["id"].tolist() == list(range(seen[place], seen[place] + len(new.rows)))
        assert set(new.rows["node"]) == {new.node}
        seen[place] += len(new.rows)
        if number == 20:
            run.stop()
    assert [code for code, _ in run.ends()] == [0, 0]
    assert {node: rows for (node, _), rows in seen.items()} == rows_by_node(run.path)


def test_the_death_of_a_machine_ends_the_run_of_all(make_machines: Make, name: str, tmp_path: Path) -> None:
    machines = make_machines(3)
    run = NodesRun(machines, tmp_path / name, pace=0.002, timeout=8)
    run.wait_for_rows(500)
    machines[1].kill()
    durable = [run.durable(index) for index in range(3)]
    run.stop()
    ends = run.ends()
    for index in (0, 2):
        assert ends[index][0] != 0
        assert "node 2" in ends[index][1]
    with pytest.raises(tw.UsageError, match="node 2 on machine2"):
        tw.recover(run.path)
    report = tw.recover(run.path, all_nodes_are_down=True)
    assert report.rows_may_be_missing  # of the machine that was killed
    assert [node.host for node in report.nodes] == ["machine1", "machine2", "machine3"]
    expect_complete(run, least=[run.numbers(0)[0], durable[1], run.numbers(2)[0]])


@pytest.mark.parametrize("dying", [0, 1])
def test_the_others_go_on_without_a_machine_that_dies(
    make_machines: Make, name: str, tmp_path: Path, dying: int
) -> None:
    """Also without the first one, which completes the file where all live."""
    machines = make_machines(3)
    run = NodesRun(machines, tmp_path / name, pace=0.002, death="continue", timeout=8)
    run.wait_for_rows(300)
    machines[dying].kill()
    durable, appended = run.numbers(dying)[1], [run.numbers(index)[0] for index in range(3)]
    alive = [index for index in range(3) if index != dying]
    run.wait_for_rows(max(appended) + 1500, alive)
    run.stop()
    ends = run.ends()
    assert [ends[index][0] for index in alive] == [0, 0], ends
    expect_complete(run, least=[durable if index == dying else run.numbers(index)[0] for index in range(3)])


def test_clocks_of_machines_are_not_compared(make_machines: Make, tmp_path: Path) -> None:
    run = NodesRun(make_machines(3, hours=1), tmp_path / "run.h5", pace=0.002, death="continue", timeout=8)
    run.wait_for_rows(1000)
    run.stop()
    ends = run.ends()
    assert [code for code, _ in ends] == [0, 0, 0], ends
    expect_complete(run, least=[run.numbers(index)[0] for index in range(3)])


def test_a_process_that_dies_costs_only_what_it_had_not_appended(make_machines: Make, tmp_path: Path) -> None:
    machines = make_machines(2)
    run = NodesRun(machines, tmp_path / "run.h5", pace=0.002, timeout=8)
    run.wait_for_rows(300)
    assert machines[1].run("kill", "-9", Path(f"{run.logs[1]}.pid").read_text().strip()).returncode == 0
    run.stop()
    assert all(code != 0 for code, _ in run.ends())
    appended = run.numbers(1)[0]
    # The machine is there, with its memory: recovered on it, nothing of it is lost.
    done = machines[1].run(THALWEG, "recover", "--all-nodes-are-down", str(run.path))
    assert "complete" in done.stdout + done.stderr, done.stderr
    expect_complete(run, least=[run.durable(0), appended])


def recover_with_kills(path: Path, chance: random.Random) -> int:
    """How many died over it."""
    command = [THALWEG, "recover", "--all-nodes-are-down", str(path)]
    deaths = 0
    for _ in range(3):
        recovering = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 2.5))
        deaths += recovering.poll() is None
        recovering.kill()
        recovering.wait()
    try:
        tw.recover(path, all_nodes_are_down=True)
    except tw.UsageError as error:
        assert "nothing to recover" in str(error)  # noqa: PT017
    return deaths


def kill_and_recover(make_machines: Make, path: Path, chance: random.Random) -> int:
    """Returns how many died: machines, one after the other, and processes that recover what they leave."""
    machines = make_machines(2)
    run = NodesRun(
        machines, path, rows=chance.choice([500, 20_000]), pace=0.0005, death=chance.choice(["end", "continue"])
    )
    if chance.random() < 0.9:  # else while it is created
        run.wait_until_begun()
    time.sleep(chance.uniform(0, 3))
    chance.choice(machines).kill()
    time.sleep(chance.choice([0, 0, 0.3]))
    run.kill_all()
    durable = [run.durable(index) for index in range(2)]
    deaths = len(machines)
    if Path(f"{path}.parts").exists():
        deaths += recover_with_kills(path, chance)
    if path.exists():
        expect_complete(run, least=durable)
    else:
        assert durable == [0, 0]
    return deaths


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.timeout(3000)
def test_all_machines_die_at_any_moment(
    make_machines: Make, name: str, tmp_path: Path, seed: int, long_mode: bool
) -> None:
    """The machine dies while the run is created, written or closed; the process that recovers it may die, too."""
    deaths = 0
    for turn in range(8 if long_mode else 1):
        folder = tmp_path / str(turn)
        folder.mkdir()
        deaths += kill_and_recover(make_machines, folder / name, random.Random(1000 * turn + seed))
    print(f"{deaths} deaths")


def test_a_node_that_cannot_write_the_folder_is_named(make_machines: Make, tmp_path: Path) -> None:
    machines = make_machines(2)
    machines[1].make_read_only(tmp_path)
    script = (
        "import thalweg as tw, sys\n"
        "node = int(sys.argv[1])\n"
        "schema = tw.schema({'events': {'id': tw.uint64}})\n"
        "if node == 1: tw.create(sys.argv[2], schema, nodes=2, node_timeout=4)\n"
        "else: tw.join(sys.argv[2], node=2, node_timeout=4)\n"
    )
    path = str(tmp_path / "another.h5")
    nodes = [
        machine.start(sys.executable, "-c", script, str(1 + index), path) for index, machine in enumerate(machines)
    ]
    said = [node.communicate(timeout=60)[1] for node in nodes]
    assert "node 2 did not come" in said[0]
    assert "Read-only file system" in said[1]
    assert not Path(path).exists()


def test_what_a_dead_run_left_is_recovered_before_a_new_one(make_machines: Make, tmp_path: Path) -> None:
    run = NodesRun(make_machines(2), tmp_path / "run.h5", pace=0.002)
    run.wait_for_rows(300)
    run.kill_all()
    with pytest.raises(tw.UsageError, match="all-nodes-are-down"):
        tw.create(run.path, tw.schema({"events": {"id": tw.uint64}}), force=True)
    tw.recover(run.path, all_nodes_are_down=True)
    expect_complete(run, least=[run.durable(0), run.durable(1)])
