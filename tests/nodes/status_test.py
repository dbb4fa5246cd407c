"""`Run.status` of a run that several machines write: each sees the figures of its own node, and says what it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from machines import Machine, Make
from runs import NodesRun, expect_complete

import thalweg as tw

_STATUS = """
import json, sys, thalweg as tw
status = tw.open(sys.argv[1]).status()
print(json.dumps(status.to_dict()))
print(status)
"""


def status_on(machine: Machine, path: Path) -> tuple[dict[str, Any], str]:
    """What a process there is told: as JSON, and in sentences."""
    done = machine.run(sys.executable, "-c", _STATUS, str(path))
    assert done.returncode == 0, done.stderr
    as_json, _, said = done.stdout.partition("\n")
    return json.loads(as_json), said


def pid_of(run: NodesRun, index: int) -> int:
    return int(Path(f"{run.logs[index]}.pid").read_text())


def test_each_machine_has_the_figures_of_its_own_node(make_machines: Make, name: str, tmp_path: Path) -> None:
    machines = make_machines(2)
    run = NodesRun(machines, tmp_path / name, pace=0.002)
    run.wait_for_rows(300)
    for index, other in ((0, 1), (1, 0)):
        status, said = status_on(machines[index], run.path)
        assert status["state"] == "written"
        own, far = status["nodes"][index], status["nodes"][other]
        assert [node["host"] for node in status["nodes"]] == ["machine1", "machine2"]
        assert [node["node"] for node in status["nodes"]] == [1, 2]
        # Process numbers are those of that machine.
        assert (own["state"], own["why"], own["pid"]) == ("written", "", pid_of(run, index))
        (table,) = own["figures"]["tables"]
        assert 300 <= table["rows"] <= run.numbers(index)[0] + 50
        assert 0 <= own["figures"]["durable_lag"] < 30
        assert (far["state"], far["pid"], far["figures"]) == ("unknown", None, None)
        assert f"machine{other + 1}" in far["why"]
        assert f"node {index + 1} of {run.path} is being written (process {own['pid']} keeps its journal)" in said
        assert f"It is not known whether node {other + 1} of {run.path} is still written" in said
    # A machine that writes no node of it knows of none.
    status = tw.open(run.path).status()
    assert (status.state, status.rows, status.durable_lag) == ("unknown", None, None)
    assert [node.state for node in status.nodes] == ["unknown", "unknown"]
    assert not status.is_whole
    run.stop()
    assert [code for code, _ in run.ends()] == [0, 0]
    closed = tw.open(run.path).status()
    assert (closed.state, closed.nodes) == ("closed", ())


def test_a_node_whose_process_was_killed_is_left(make_machines: Make, tmp_path: Path) -> None:
    machines = make_machines(2)
    run = NodesRun(machines, tmp_path / "run.h5", pace=0.002, death="continue", timeout=8)
    run.wait_for_rows(300)
    run.kill_process(1)
    run.nodes[1].wait()
    status, said = status_on(machines[1], run.path)
    # The run is not left: nothing is known of the other machine from here.
    assert (status["state"], status["nodes"][1]["state"], status["nodes"][1]["pid"]) == ("unknown", "left", None)
    assert status["nodes"][1]["figures"]["tables"][0]["rows"] >= 300  # of its memory, which is still there
    assert "thalweg recover" in said
    seen, _ = status_on(machines[0], run.path)
    assert (seen["state"], seen["nodes"][0]["state"], seen["nodes"][1]["state"]) == ("written", "written", "unknown")
    run.stop()
    assert run.ends()[0][0] == 0
    expect_complete(run, least=[run.numbers(0)[0], run.durable(1)])


def test_what_a_machine_does_not_say_is_an_error(make_machines: Make, tmp_path: Path) -> None:
    """Whether a process lives is in /proc: without it, no process is called dead."""
    machines = make_machines(1)
    run = NodesRun(machines, tmp_path / "run.h5", pace=0.002)
    run.wait_for_rows(300)
    blind = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$@"', "sh"]
    done: subprocess.CompletedProcess[str] = machines[0].run(*blind, sys.executable, "-c", _STATUS, str(run.path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].endswith("mount /proc"), done.stderr
    run.stop()
    assert run.ends()[0][0] == 0
