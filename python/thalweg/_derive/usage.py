"""What processes take of the machine: their CPU time, and the memory that is theirs."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """Of one process, at a time since the job began."""

    time: float
    pid: int
    cpu: float
    pss: int


def pss_bytes(pid: int | None = None) -> int:
    """Memory of a process, pages that several share by their shares; 0 where it is gone or may not be looked at."""
    try:
        text = Path(f"/proc/{pid or os.getpid()}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def cpu_seconds_of(pid: int) -> float:
    """Of another process; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu_seconds() -> float:
    """Of this process alone."""
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime
