"""A run on several machines, and what must be in its file."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import uproot
from machines import Machine

import thalweg as tw

_PROGRAM = str(Path(__file__).with_name("node.py"))
_SECONDS = 60.0


def wait_for_line(path: Path) -> None:
    end = time.monotonic() + _SECONDS
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < end, f"{path} has no line"
        time.sleep(0.01)


def numbers_in(log: Path) -> tuple[int, int]:
    if not log.exists():
        return 0, 0
    lines = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    appended, durable = map(int, lines[-1].split()) if lines else (0, 0)
    return appended, durable


@dataclass(frozen=True)
class Process:
    """A process of a node, on its machine."""

    machine: Machine
    started: subprocess.Popen[str]
    log: Path

    def kill(self) -> None:
        pid = Path(f"{self.log}.pid")
        wait_for_line(pid)
        self.machine.run("kill", "-9", pid.read_text().strip())

    def appended(self) -> int:
        return numbers_in(self.log)[0]

    def wait_for_rows(self, least: int) -> None:
        end = time.monotonic() + _SECONDS
        while self.appended() < least:
            assert time.monotonic() < end, f"{self.log} does not get on"
            assert self.started.poll() is None, self.started.communicate()
            time.sleep(0.01)


class NodesRun:
    def __init__(
        self,
        machines: Sequence[Machine],
        path: Path,
        rows: int = 0,
        pace: float = 0.0,
        death: str = "end",
        timeout: float = 20,
        resumed: int = 0,
        flush: float = 0.05,
    ) -> None:
        """resumed: how often, so far. Rows say then that they are of node 101, 102, or 201 and so on."""
        self.machines = machines
        self.path = path
        self._first = 100 * resumed + 1
        self.logs = [path.parent / f"log{self._first + index}" for index in range(len(machines))]
        self._options = [pace, death, timeout]
        self._flush = flush
        self.nodes = [self._start(index, rows) for index in range(len(machines))]

    def _start(self, index: int, rows: int) -> subprocess.Popen[str]:
        command = [sys.executable, _PROGRAM, self.path, index + 1, len(self.machines), rows, self.logs[index]]
        return self.machines[index].start(*map(str, [*command, *self._options, self._first + index, self._flush]))

    def attach(self, index: int, pace: float) -> Process:
        """Starts one more process of this node, whose rows say that they are of node 51, 52 and so on."""
        handle, log, number = Path(f"{self.logs[index]}.handle"), Path(f"{self.logs[index]}.attached"), 51 + index
        wait_for_line(handle)
        command = [sys.executable, _PROGRAM, handle.read_text().strip(), log, pace, number]
        return Process(self.machines[index], self.machines[index].start(*map(str, command)), log)

    def kill_process(self, index: int) -> None:
        """The process that began this node. Its machine lives, with its memory."""
        Process(self.machines[index], self.nodes[index], self.logs[index]).kill()

    def wait_for_rows(self, least: int, nodes: Sequence[int] | None = None) -> None:
        """Until so many are durable on each of these nodes, from 0."""
        end = time.monotonic() + _SECONDS
        for index in range(len(self.nodes)) if nodes is None else nodes:
            while self.durable(index) < least:
                if time.monotonic() > end or self.nodes[index].poll() is not None:
                    raise AssertionError(
                        f"node {index + 1} does not get on: {self.nodes[index].communicate(timeout=9)}"
                    )
                time.sleep(0.01)

    def has_begun(self) -> bool:
        """Whether every node has created, joined or resumed the run."""
        return all(log.exists() for log in self.logs)

    def wait_until_begun(self) -> None:
        end = time.monotonic() + _SECONDS
        while not self.has_begun():
            assert time.monotonic() < end, "the run does not begin"
            time.sleep(0.01)

    def numbers(self, index: int) -> tuple[int, int]:
        """Rows that were appended, and of these how many were durable, as the node's log has it."""
        return numbers_in(self.logs[index])

    def durable(self, index: int) -> int:
        return self.numbers(index)[1]

    def stop(self) -> None:
        for log in self.logs:
            Path(f"{log}.stop").touch()

    def ends(self) -> list[tuple[int, str]]:
        """Exit codes and what was said."""
        return [
            (node.returncode, err) for node, (_, err) in ((it, it.communicate(timeout=_SECONDS)) for it in self.nodes)
        ]

    def kill_all(self) -> None:
        for machine in self.machines:
            machine.kill()
        self._wait()

    def kill_processes(self) -> None:
        """The machines live, with their memory."""
        for index in range(len(self.machines)):
            self.kill_process(index)
        self._wait()

    def _wait(self) -> None:
        for node in self.nodes:
            node.communicate(timeout=_SECONDS)

    def expect_rows(self, counts: dict[int, int], *, least: Sequence[int]) -> None:
        for index, wanted in enumerate(least):
            number = self._first + index
            assert wanted <= counts.get(number, 0) <= self.numbers(index)[0] + 50, f"node {number}"


def rows_by_node(path: Path) -> dict[int, int]:
    """As h5py and uproot see them, in their default settings; every row is what its node wrote, once, in its order."""
    if path.suffix == ".h5":
        import hdf5plugin  # noqa: F401

        with h5py.File(path) as file:
            nodes, ids, samples = (file["events"][each][:] for each in ("node", "id", "samples"))
    else:
        with uproot.open(path) as file:
            columns = file["events"].arrays(["node", "id", "samples"], library="np")
        nodes, ids = columns["node"], columns["id"]
        samples = np.stack(columns["samples"]) if len(nodes) else np.zeros((0, 200), np.uint16)
    counts: dict[int, int] = {}
    for node in np.unique(nodes):
        mine = nodes == node
        counts[int(node)] = int(mine.sum())
        np.testing.assert_array_equal(ids[mine], np.arange(counts[int(node)]))
        expected = (ids[mine][:, None] * 31 + np.arange(samples.shape[1], dtype=np.uint64) * (int(node) + 1)) % 1021
        np.testing.assert_array_equal(samples[mine], expected)
    return counts


def expect_complete(run: NodesRun, *, least: Sequence[int]) -> None:
    run.expect_rows(rows_by_node(run.path), least=least)
    assert tw.verify(run.path).is_sound
    assert not Path(f"{run.path}.parts").exists()
