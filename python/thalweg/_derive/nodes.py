"""The machines of a job: how they join it, which of their commits are durable, and how the job goes on without one."""

from __future__ import annotations

import json
import math
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._derive.job_folder import BEGUN, CLOSING, DOING, JOB, JobFolder, durable, failed, joined_path, owned
from thalweg._derive.machines import host, machine
from thalweg._derive.node_process import Rules, durable_times
from thalweg._derive.outputs import Output
from thalweg._writing.reports import RunReport

_LOOK_EVERY_S = 0.5
_PAUSE_S = 0.05


@dataclass(frozen=True)
class NodePlace:
    """One node, as the workers on its machine see it."""

    node: int
    handles: tuple[str | None, ...]
    """The handles of the outputs; None for an output that is complete."""


Commit = tuple[int, int]
"""The numbers of an output and of a range."""


class Nodes:
    """All nodes, as seen by the process of the job, which is node 1 of every output."""

    def __init__(self, paths: Sequence[str], count: int, timeout: float) -> None:
        self.count, self.timeout = count, timeout
        absolute = tuple(map(os.path.abspath, paths))
        self.folder = JobFolder(f"{absolute[0]}.{uuid.uuid4().hex[:8]}.job")
        self._rules = Rules(machine(), absolute, count, timeout)
        self.hosts: dict[int, str] = {1: host()}
        self.places: dict[str, NodePlace] = {}
        """The living nodes by machine."""
        self.dead: dict[int, str] = {}
        """The failed nodes, each with the reason why it counts as failed."""
        self._durable: set[Commit] = set()
        self._pending: defaultdict[Commit, list[tuple[int, float]]] = defaultdict(list)
        self.died_at = -math.inf
        """The time at which the last node was found to have failed."""
        self._next_look = 0.0

    def make_folder(self) -> None:
        self.folder.make()
        self.folder.put(JOB, self._rules.to_text())

    def wait_for_machines(self, ask: Callable[[], Iterable[tuple[str, str]]]) -> list[str]:
        """Waits until all machines have joined. `ask` calls workers of the executor and returns machines and hosts.

        Returns the hosts that are not needed. Raises UsageError if too few machines join in time."""
        hosts: dict[str, str] = {}
        end = time.monotonic() + self.timeout
        while True:
            hosts.update(ask())
            owners = {node: self.folder.owner(owned(node)) for node in range(2, self.count + 1)}
            if None not in owners.values():
                mine = {*owners.values(), self._rules.machine}
                return sorted(name for each, name in hosts.items() if each not in mine)
            self._check_failures()
            if time.monotonic() > end:
                names = sorted(hosts[each] for each in {*owners.values()} & hosts.keys() if each)
                raise UsageError(
                    f"the outputs cannot be written from {self.count} machines (besides {host()}, which runs the job, "
                    f"{', '.join(names) or 'no machine'} joined within {self.timeout:g} s): run workers on "
                    f"{self.count} machines, or give another nodes=; this machine counts as one"
                )
            time.sleep(_PAUSE_S)

    def begin(self) -> None:
        """Lets all nodes join the outputs, which are created now."""
        self.folder.put(BEGUN, "")

    def wait_until_joined(self, outputs: Sequence[Output]) -> None:
        """Waits until all nodes have joined the outputs. Raises SystemError if a node fails or does not answer."""
        mine = NodePlace(1, tuple(each.writer.handle if each.writer else None for each in outputs))
        self.places = {self._rules.machine: mine}
        end = time.monotonic() + self.timeout
        for node in range(2, self.count + 1):
            while (text := self.folder.text(joined_path(node))) is None:
                self._check_failures()
                if time.monotonic() > end:
                    raise SystemError(
                        0, f"node {node} has not joined the outputs (it gave no sign for {self.timeout:g} s)"
                    )
                time.sleep(_PAUSE_S)
            self.hosts[node], handles = json.loads(text)
            owner = self.folder.owner(owned(node))
            assert owner is not None
            self.places[owner] = NodePlace(node, tuple(handles))

    def _check_failures(self) -> None:
        for node in range(2, self.count + 1):
            if why := self.folder.text(failed(node)):
                raise SystemError(0, f"node {node} cannot write the outputs ({why})")

    def committed(self, commit: Commit, node: int, when: float) -> bool:
        """Notes a commit of a node; `when` is by the clock of its machine. Returns False if the node has failed."""
        if node not in self.dead and commit not in self._durable:
            self._pending[commit].append((node, when))
        return node not in self.dead or commit in self._durable

    def is_due(self) -> bool:
        """Returns whether it is time to look at the nodes again."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        return True

    def look(self, outputs: Sequence[Output]) -> dict[int, list[Commit]]:
        """Returns the nodes that have failed since the last look, each with its commits that are lost."""
        writers = [each.writer for each in outputs]
        # Deaths are looked up before the nodes' own reports are read: what a dead node has reported by then counts.
        died = {
            node: why for each in writers if each for node, why in each.dead_nodes().items() if node not in self.dead
        }
        self._note_durable(1, durable_times(writers))
        for node in self.hosts.keys() - {1} - self.dead.keys():
            if text := self.folder.text(durable(node)):
                self._note_durable(node, json.loads(text))
        if died:
            self.died_at = time.monotonic()
        self.dead.update(died)
        self.places = {key: place for key, place in self.places.items() if place.node not in self.dead}
        return {node: self._lost_with(node) for node in died}

    def _note_durable(self, node: int, until: Sequence[float]) -> None:
        for commit, places in list(self._pending.items()):
            if any(each == node and when < until[commit[0]] for each, when in places):
                self._durable.add(commit)
                del self._pending[commit]

    def _lost_with(self, node: int) -> list[Commit]:
        lost = []
        for commit, places in list(self._pending.items()):
            places[:] = [each for each in places if each[0] != node]
            if not places:
                del self._pending[commit]
                lost.append(commit)
        return lost

    @property
    def all_is_durable(self) -> bool:
        """Whether all commits are durable, so that the failure of a machine loses nothing."""
        return not self._pending

    def doing(self) -> dict[int, int]:
        """Returns which node does each call, by the number of the call."""
        found = {}
        for name in self.folder.names(DOING):
            with suppress(ValueError):
                if (node := self.folder.owner(f"{DOING}{name}")) is not None:
                    found[int(name)] = int(node)
        return found

    def how_it_went(self, node: int, ranges: int) -> str:
        """Returns a sentence about a failed node with which `ranges` ranges were lost."""
        what = "all its ranges are in the outputs"
        if ranges:
            what = f"{ranges} range{'' if ranges == 1 else 's'} that it had done, but not durably, had to be done again"
        return f"the job went on without node {node}, {self.hosts[node]} ({self.dead[node]}): {what}"

    def missed_at_close(self, file: RunReport) -> list[str]:
        """Returns sentences about nodes that failed unnoticed, when all their ranges were durable."""
        new = [each.node for each in file.nodes if not each.settled and each.node not in self.dead]
        self.dead.update(dict.fromkeys(new, "it was missed when the outputs were closed"))
        return [self.how_it_went(node, 0) for node in new]

    def to_json(self) -> list[dict[str, str | int]]:
        """Returns the machines of the job, for the metadata of the outputs."""
        return [{"node": node, "host": name, "died": self.dead.get(node, "")} for node, name in self.hosts.items()]

    def close(self) -> None:
        """Lets the other nodes close the outputs; this process closes them, too."""
        self.folder.put(CLOSING, "")

    def end(self) -> None:
        self.folder.remove()
