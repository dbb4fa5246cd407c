"""Finds the control groups of this process: where each controller is mounted, of version 1 or 2."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CPUSET, MEMORY = "cpuset", "memory"
CONTROLLERS = (CPUSET, MEMORY)
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class OwnGroup:
    """The group of this process for one controller, or the reason why there is none that can be used."""

    controller: str
    version: int = 0
    folder: Path = Path()
    problem: str = ""


@dataclass(frozen=True)
class _Mount:
    root: str
    point: str
    kind: str
    options: frozenset[str]


def own_groups(proc: Path = Path("/proc/self")) -> dict[str, OwnGroup]:
    """Returns the own group of each controller, from the files `cgroup` and `mountinfo` of this process."""
    try:
        lines = (proc / "cgroup").read_text().splitlines()
        mounts = [_mount(line) for line in (proc / "mountinfo").read_text().splitlines()]
    except OSError as error:
        problem = f"{error.filename} cannot be read ({error.strerror})"
        return {name: OwnGroup(name, problem=problem) for name in CONTROLLERS}
    paths: dict[str, str] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    return {name: _own_group(name, paths, mounts) for name in CONTROLLERS}


def _own_group(controller: str, paths: dict[str, str], mounts: list[_Mount]) -> OwnGroup:
    if controller in paths:
        found = [each for each in mounts if each.kind == "cgroup" and controller in each.options]
        return _in_mount(controller, 1, paths[controller], found)
    if "" in paths:
        group = _in_mount(controller, 2, paths[""], [each for each in mounts if each.kind == "cgroup2"])
        return group if group.problem else _if_delegated(group)
    return OwnGroup(controller, problem=f"the kernel has no controller {controller}")


def _in_mount(controller: str, version: int, path: str, mounts: list[_Mount]) -> OwnGroup:
    for mount in mounts:
        inside = PurePosixPath(path)
        if inside.is_relative_to(mount.root) and ".." not in inside.parts:
            return OwnGroup(controller, version, Path(mount.point) / inside.relative_to(mount.root))
    where = "is not mounted" if not mounts else f"is mounted without the group of this process, {path}"
    return OwnGroup(controller, problem=f"the controller {controller} {where}")


def _if_delegated(group: OwnGroup) -> OwnGroup:
    try:
        there = (group.folder / "cgroup.controllers").read_text().split()
    except OSError as error:
        return OwnGroup(group.controller, problem=f"{error.filename} cannot be read ({error.strerror})")
    if group.controller in there:
        return group
    problem = f"{group.folder} has no controller {group.controller}: a unit of systemd needs Delegate=yes"
    return OwnGroup(group.controller, problem=problem)


def _mount(line: str) -> _Mount:
    before, _, after = line.partition(" - ")
    fields, (kind, _, options) = before.split(), after.split(" ", 2)
    return _Mount(_unescaped(fields[3]), _unescaped(fields[4]), kind, frozenset(options.split(",")))


def _unescaped(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
