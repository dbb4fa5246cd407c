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
    kills: Path | None = None  # the file of the kernel that counts kills for memory; None: there is no limit
    _killed_before: int | None = 0  # None: it could not be asked

    @property
    def joins(self) -> list[str]:
        """The files into which a process writes its number to join; a group of version 2 has both controllers."""
        return [str(folder / "cgroup.procs") for folder in dict.fromkeys(self.folders.values())]

    def was_killed_for_memory(self) -> bool:
        """Returns whether the kernel has killed a process of the group for its memory since the last call.

        Raises OSError if that cannot be asked, now or at the last call."""
        if self.kills is None:
            return False
        before, self._killed_before = self._killed_before, None
        killed = self._killed_before = _killed(self.kills)
        if before is None and killed:
            raise OSError(0, "it could not be read before, and has kills now", str(self.kills))
        return killed > (before or 0)


class ControlGroups:
    """All groups of one supervisor. `own` are the groups in which it makes them."""

    def __init__(self, own: dict[str, OwnGroup] | None = None) -> None:
        self._own = own_groups() if own is None else own
        self._made: list[Path] = []
        self._left: Path | None = None  # the group of version 2 that this process has left for one of its own
        self._problem = ""  # of version 2: why there cannot be groups
        self._is_prepared = False
        self.left_over: list[str] = []
        """Groups of supervisors that have ended, which could not be removed, and why."""
        for folder in {each.folder for each in self._own.values() if not each.problem}:
            self.left_over += _remove_left_over(folder)

    def make(self, number: int, share: Share) -> Group:
        """Makes the groups of handler `number`. Raises nothing: what is refused is said in the result."""
        group = Group()
        wanted = {CPUSET: bool(share.processors), MEMORY: share.memory_bytes > 0}
        for controller in (each for each, is_wanted in wanted.items() if is_wanted):
            self._add(group, controller, number, share)
        return group

    def close(self) -> list[str]:
        """Removes the groups, whose processes have ended. Returns which could not be removed, and why."""
        left = [why for folder in self._made if (why := _remove(folder))]
        if self._left is not None:
            with contextlib.suppress(OSError):  # if it cannot be moved back, its group cannot be removed, which is said
                (self._left / "cgroup.subtree_control").write_text(f"-{CPUSET} -{MEMORY}")
            with contextlib.suppress(OSError):
                (self._left / "cgroup.procs").write_text(str(os.getpid()))
            if why := _remove(self._left / _name(_SUPERVISOR)):
                left.append(why)
            self._left = None
        return left

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
                group.kills = folder / ("memory.oom_control" if own.version == 1 else "memory.events")
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


def _killed(file: Path) -> int:
    """Returns how many processes the kernel has killed because the group was full. Raises OSError if it does not say.

    Kernels before 4.13 count none."""
    for line in file.read_text().splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    raise OSError(0, "it has no line oom_kill", str(file))


def _name(what: str) -> str:
    return _NAME.format(process=os.getpid(), what=what)


def _remove(folder: Path) -> str:
    """Removes an empty group. The kernel may need a moment after the last process has ended. Returns why it stays."""
    end_s = time.monotonic() + _PATIENCE_S
    while folder.exists():
        try:
            folder.rmdir()
        except FileNotFoundError:
            break
        except OSError as error:
            if time.monotonic() > end_s:
                return f"{folder} ({error.strerror}{_processes_in(folder)})"
            time.sleep(_PAUSE_S)
    return ""


def _processes_in(folder: Path) -> str:
    with contextlib.suppress(OSError):
        if found := (folder / "cgroup.procs").read_text().split():
            return f", it has the processes {', '.join(found[:4])}"
    return ""


def _remove_left_over(folder: Path) -> list[str]:
    """Removes the groups of supervisors that were killed. Returns which stay, and why: those that have processes."""
    try:
        found = [(inside, _OURS.fullmatch(inside.name)) for inside in folder.iterdir()]
    except OSError as error:
        return [f"{folder} ({error.strerror})"]
    left = []
    for inside, ours in found:
        if ours and not Path("/proc", ours[1]).exists():
            try:
                inside.rmdir()
            except FileNotFoundError:
                continue
            except OSError as error:
                left.append(f"{inside} ({error.strerror}{_processes_in(inside)})")
    return left
