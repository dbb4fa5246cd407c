"""Measures the memory of a process."""

from pathlib import Path


def pss_bytes() -> int:
    """Returns the memory of this process: its own, and its share of what it has in common with others."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
