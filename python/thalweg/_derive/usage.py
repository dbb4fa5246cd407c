"""Measures the CPU time and the memory of processes."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """CPU time (seconds) and memory (bytes) of one process, at a time in seconds since the job began."""

    time: float
    pid: int
    cpu: float
    pss: int


def pss_bytes(pid: int | None = None) -> int:
    """Returns the proportional memory (PSS) of a process; 0 if it is gone or may not be read."""
    try:
        text = Path(f"/proc/{pid or os.getpid()}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def cpu_seconds_of(pid: int) -> float:
    """Returns the CPU time of another process; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu_seconds() -> float:
    """Returns the CPU time of this process without its children."""
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime
