"""Writes and reads lists of cores such as 0-3,8, and finds which cores of this machine share their last-level cache."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_CORES = Path("/sys/devices/system/cpu")


def as_ranges(cores: Iterable[int]) -> str:
    """Returns cores as a text such as 0-3,8, as taskset and the kernel write them."""
    parts: list[list[int]] = []
    for core in sorted(set(cores)):
        if parts and core == parts[-1][1] + 1:
            parts[-1][1] = core
        else:
            parts.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def of_ranges(text: str) -> list[int]:
    """Returns the cores of such a text."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.strip():
            found += range(int(first), int(last or first) + 1)
    return found


def caches() -> list[str]:
    """Returns the cores of each last-level cache of this machine, as texts; empty if the system does not tell."""
    found = set()
    for core in _CORES.glob("cpu[0-9]*"):
        levels = {}
        for index in core.glob("cache/index*"):
            try:
                levels[int((index / "level").read_text())] = (index / "shared_cpu_list").read_text().strip()
            except (OSError, ValueError):
                continue
        if levels:
            found.add(levels[max(levels)])
    return sorted(found, key=of_ranges)
