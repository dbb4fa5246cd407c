"""Finds which cores of this machine share their last-level cache."""

from __future__ import annotations

from pathlib import Path

from thalweg._base.processors import processors_of

_CORES = Path("/sys/devices/system/cpu")


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
    return sorted(found, key=processors_of)
