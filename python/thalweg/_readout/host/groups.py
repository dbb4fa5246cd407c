"""Makes a control group for each handler, with its processors, its memory nodes and the most memory that it may take.

What the machine does not grant is a sentence of `refused`, and the handler runs without it."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from thalweg import _core
from thalweg._base.quantities import as_bytes
from thalweg._readout.host.hierarchies import CPUSET, MEMORY, OwnGroup, own_groups

_NAME = "thalweg-host-{process}-{what}"
_OURS = re.compile(r"thalweg-host-(\d+)-.*")
_SUPERVISOR = "supervisor"
_PATIENCE_S = 2.0
_PAUSE_S = 0.02


@dataclass(frozen=True)
class Share:
    """The part of the machine that one handler gets. Empty lists and 0 stand for all."""

    processors: Sequence[int] = ()
    memory_nodes: Sequence[int] = ()
    memory_bytes: int = 0


@dataclass
class Group:
    """The groups of one handler, one for each controller that is granted."""

    folders: dict[str, Path] = field(default_factory=dict)
    granted: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    _killed_before: int = 0

    @property
    def joins(self) -> list[str]:
        """The files into which a process writes its number to join; a group of version 2 has both controllers."""
        return [str(folder / "cgroup.procs") for folder in dict.fromkeys(self.folders.values())]

    def was_killed_for_memory(self) -> bool:
        """Returns whether the kernel has killed a process of the group for its memory since the last call."""
        killed = _killed(self.folders[MEMORY]) if MEMORY in self.folders else 0
        before, self._killed_before = self._killed_before, killed
        return killed > before


class ControlGroups:
    """All groups of one supervisor. `own` are the groups in which it makes them."""

    def __init__(self, own: dict[str, OwnGroup] | None = None) -> None:
        self._own = own_groups() if own is None else own
        self._made: list[Path] = []
        self._left: Path | None = None  # the group of version 2 that this process has left for one of its own
        self._problem = ""  # of version 2: why there cannot be groups
        self._is_prepared = False
        for folder in {each.folder for each in self._own.values() if not each.problem}:
            _remove_left_over(folder)

    def make(self, number: int, share: Share) -> Group:
        """Makes the groups of handler `number`. Raises nothing: what is refused is said in the result."""
        group = Group()
        wanted = {CPUSET: bool(share.processors), MEMORY: share.memory_bytes > 0}
        for controller in (each for each, is_wanted in wanted.items() if is_wanted):
            self._add(group, controller, number, share)
        return group

    def close(self) -> None:
        """Removes the groups, whose processes have ended."""
        for folder in self._made:
            _remove(folder)
        if self._left is not None:
            with contextlib.suppress(OSError):
                (self._left / "cgroup.subtree_control").write_text(f"-{CPUSET} -{MEMORY}")
            with contextlib.suppress(OSError):
                (self._left / "cgroup.procs").write_text(str(os.getpid()))
            _remove(self._left / _name(_SUPERVISOR))
            self._left = None

    def _add(self, group: Group, controller: str, number: int, share: Share) -> None:
        own = self._own[controller]
        problem = own.problem or (self._prepare(own.folder) if own.version == 2 else "")
        if problem:
            group.refused[controller] = problem
            return
        folder = own.folder / _name(str(number))
        try:
            folder.mkdir(exist_ok=True)
            if folder not in self._made:
                self._made.append(folder)
            if controller == CPUSET:
                group.granted[controller] = _limit_processors(folder, own, share)
            else:
                group.granted[controller] = _limit_memory(folder, own.version, share.memory_bytes)
            group.folders[controller] = folder
        except OSError as error:
            group.refused[controller] = f"{error.filename or folder}: {error.strerror}"

    def _prepare(self, folder: Path) -> str:
        """Lets the groups inside one of version 2 have controllers. Returns why that cannot be done.

        Only a group without processes of its own may hand them on, so this process moves into a group inside."""
        if not self._is_prepared:
            self._is_prepared = True
            try:
                self._problem = self._hand_on(folder)
            except OSError as error:
                self._problem = f"{error.filename}: {error.strerror}"
        return self._problem

    def _hand_on(self, folder: Path) -> str:
        control = folder / "cgroup.subtree_control"
        wanted = [each.controller for each in self._own.values() if each.version == 2 and not each.problem]
        if set(wanted) <= set(control.read_text().split()):
            return ""
        processes = (folder / "cgroup.procs").read_text().split()
        if others := [each for each in processes if each != str(os.getpid())]:
            return f"{folder} has other processes ({', '.join(others[:4])}): start the command in a group of its own"
        inside = folder / _name(_SUPERVISOR)
        inside.mkdir()
        self._left = folder
        (inside / "cgroup.procs").write_text(str(os.getpid()))
        control.write_text(" ".join(f"+{each}" for each in wanted))
        return ""


def _limit_processors(folder: Path, own: OwnGroup, share: Share) -> str:
    processors = _core.processors_text(list(share.processors))
    nodes = _core.processors_text(list(share.memory_nodes)) or _nodes_of(own)
    (folder / "cpuset.cpus").write_text(processors)
    (folder / "cpuset.mems").write_text(nodes)
    read = (folder / "cpuset.cpus").read_text().strip()
    if read != processors:
        raise OSError(0, f"it has the processors {read} instead of {processors}", str(folder / "cpuset.cpus"))
    return f"processors {processors}, memory node {nodes}"


def _nodes_of(own: OwnGroup) -> str:
    return (own.folder / ("cpuset.mems" if own.version == 1 else "cpuset.mems.effective")).read_text().strip()


def _limit_memory(folder: Path, version: int, size_bytes: int) -> str:
    """Sets the limit, with no swap beside it: a handler that swaps would stop the whole host."""
    limit, with_swap = (
        ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes") if version == 1 else ("memory.max", "memory.swap.max")
    )
    (folder / limit).write_text(str(size_bytes))
    read = (folder / limit).read_text().strip()
    if not read.isdigit() or int(read) > size_bytes:
        raise OSError(0, f"it is {read} instead of {size_bytes}", str(folder / limit))
    if (folder / with_swap).exists():
        (folder / with_swap).write_text(str(size_bytes) if version == 1 else "0")
    if version == 2:
        (folder / "memory.oom.group").write_text("1")
    return f"at most {as_bytes(int(read))}"


def _killed(folder: Path) -> int:
    """Returns how many processes the kernel has killed because the group was full."""
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            pairs = (line.split() for line in (folder / name).read_text().splitlines())
            return next((int(pair[1]) for pair in pairs if pair[0] == "oom_kill"), 0)
    return 0


def _name(what: str) -> str:
    return _NAME.format(process=os.getpid(), what=what)


def _remove(folder: Path) -> None:
    """Removes an empty group. The kernel may need a moment after the last process has ended."""
    end_s = time.monotonic() + _PATIENCE_S
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > end_s:
                return
            time.sleep(_PAUSE_S)


def _remove_left_over(folder: Path) -> None:
    """Removes the groups of supervisors that were killed. Groups that have processes cannot be removed, and stay."""
    with contextlib.suppress(OSError):
        for inside in folder.iterdir():
            found = _OURS.fullmatch(inside.name)
            if found and not Path("/proc", found[1]).exists():
                with contextlib.suppress(OSError):
                    inside.rmdir()
