"""The machines of a job that an engine works on: how they come to it, what each has that would outlive it, and how the
job goes on without one that dies."""

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

from thalweg._derive.job_folder import BEGUN, CLOSING, DOING, JOB, JobFolder, durable, failed, joined, owned
from thalweg._derive.machines import host, machine
from thalweg._derive.node_process import Rules, durable_times
from thalweg._derive.outputs import Output
from thalweg._errors import SystemError, UsageError  # noqa: A004
from thalweg._reports import RunReport

_LOOK_EVERY_S = 0.5
_PAUSE_S = 0.05


@dataclass(frozen=True)
class Place:
    """One node, as the workers on its machine find it."""

    node: int
    handles: tuple[str | None, ...]
    """Of the outputs. None: that output is complete."""


Commit = tuple[int, int]
"""Output and range."""


class Nodes:
    """Of the process of the job, which is node 1 of every output."""

    def __init__(self, paths: Sequence[str], count: int, timeout: float) -> None:
        self.count, self.timeout = count, timeout
        absolute = tuple(map(os.path.abspath, paths))
        self.folder = JobFolder(f"{absolute[0]}.{uuid.uuid4().hex[:8]}.job")
        self._rules = Rules(machine(), absolute, count, timeout)
        self.hosts: dict[int, str] = {1: host()}
        self.places: dict[str, Place] = {}
        """Of nodes that live, by machine."""
        self.dead: dict[int, str] = {}
        """Others, and why they are taken for that."""
        self._durable: set[Commit] = set()
        self._pending: defaultdict[Commit, list[tuple[int, float]]] = defaultdict(list)
        self.died_at = -math.inf
        """When the last one was taken for dead."""
        self._next_look = 0.0

    def make_folder(self) -> None:
        self.folder.make()
        self.folder.put(JOB, self._rules.to_text())

    def wait_for_machines(self, ask: Callable[[], Iterable[tuple[str, str]]]) -> list[str]:
        """Until all have come. `ask` lets workers of the engine see to that, and returns their machines and hosts.

        Returns hosts that are too many. Raises UsageError where the time is over."""
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
                    f"the outputs cannot be written from {self.count} machines (besides this one, {host()}, workers of "
                    f"{', '.join(names) or 'no other'} have come within {self.timeout:g} s): let workers run on as "
                    "many, or give another number of nodes; this machine is one of them"
                )
            time.sleep(_PAUSE_S)

    def begin(self) -> None:
        """Each joins the outputs that are created now."""
        self.folder.put(BEGUN, "")

    def wait_until_joined(self, outputs: Sequence[Output]) -> None:
        """Raises SystemError where a node does not say that it has."""
        mine = Place(1, tuple(each.writer.handle if each.writer else None for each in outputs))
        self.places = {self._rules.machine: mine}
        end = time.monotonic() + self.timeout
        for node in range(2, self.count + 1):
            while (text := self.folder.text(joined(node))) is None:
                self._check_failures()
                if time.monotonic() > end:
                    raise SystemError(0, f"node {node} has come, and does not answer")
                time.sleep(_PAUSE_S)
            self.hosts[node], handles = json.loads(text)
            owner = self.folder.owner(owned(node))
            assert owner is not None
            self.places[owner] = Place(node, tuple(handles))

    def _check_failures(self) -> None:
        for node in range(2, self.count + 1):
            if why := self.folder.text(failed(node)):
                raise SystemError(0, f"node {node} cannot write the outputs ({why})")

    def committed(self, commit: Commit, node: int, when: float) -> bool:
        """`when`: by the clock of that node's machine. False where it is taken for dead."""
        if node not in self.dead and commit not in self._durable:
            self._pending[commit].append((node, when))
        return node not in self.dead or commit in self._durable

    def is_due(self) -> bool:
        """It was not looked at them for some time."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        return True

    def look(self, outputs: Sequence[Output]) -> dict[int, list[Commit]]:
        """By node that has died since: what it had committed, and nobody has now."""
        writers = [each.writer for each in outputs]
        # Before what they say of themselves is read: what a dead one has said by then stands.
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
        """From here on the death of any machine costs nothing."""
        return not self._pending

    def doing(self) -> dict[int, int]:
        """Nodes that are said to do pieces of work, by the numbers of these."""
        found = {}
        for name in self.folder.names(DOING):
            with suppress(ValueError):
                if (node := self.folder.owner(f"{DOING}{name}")) is not None:
                    found[int(name)] = int(node)
        return found

    def how_it_went(self, node: int, ranges: int) -> str:
        """A sentence, of one that died. `ranges`: so many were lost with it."""
        what = "all that it had done is in the outputs"
        if ranges:
            what = f"{ranges} range{'' if ranges == 1 else 's'} that it had done, not yet durably, had to be done again"
        return f"the job went on without node {node}, {self.hosts[node]} ({self.dead[node]}): {what}"

    def missed_at_close(self, file: RunReport) -> list[str]:
        """Sentences about those that died when all was durable already, so that nobody had noticed it before."""
        new = [each.node for each in file.nodes if not each.settled and each.node not in self.dead]
        self.dead.update(dict.fromkeys(new, "it was missed when the outputs were closed"))
        return [self.how_it_went(node, 0) for node in new]

    def to_json(self) -> list[dict[str, str | int]]:
        """What the machines were, for the outputs."""
        return [{"node": node, "host": name, "died": self.dead.get(node, "")} for node, name in self.hosts.items()]

    def close(self) -> None:
        """Lets the others close the outputs, which this process does, too, from now on."""
        self.folder.put(CLOSING, "")

    def end(self) -> None:
        self.folder.remove()
