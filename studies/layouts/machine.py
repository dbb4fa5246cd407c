"""Describes the machine of a study, and how busy other work keeps it."""

from __future__ import annotations

import os
import platform
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import thalweg

_HERTZ = os.sysconf("SC_CLK_TCK")


def describe(files: Path) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": _value_of("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_GiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": platform.release(),
        "file_system": file_system(files),
        "thalweg": thalweg.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def file_system(place: Path) -> str:
    """Returns the file system of the mount that holds it: "ext4", "tmpfs"."""
    resolved = place.resolve()
    found, length = "unknown", -1
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, kind, *_ = line.split()
        if resolved.is_relative_to(mount) and len(mount) > length:
            found, length = kind, len(mount)
    return found


@dataclass(frozen=True)
class Moment:
    """Counters of the whole machine, in seconds of CPU, and what of it was ours."""

    at: float
    busy: float
    stolen: float
    ours: float

    @staticmethod
    def now() -> Moment:
        fields = [int(word) / _HERTZ for word in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
        user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = fields
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        ours = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        return Moment(time.monotonic(), user + nice + system + interrupts + soft_interrupts, stolen, ours)


def noise_since(begin: Moment) -> dict[str, float]:
    end = Moment.now()
    elapsed = max(end.at - begin.at, 1e-6)
    others = end.busy - begin.busy - (end.ours - begin.ours)
    return {
        "other_cores": round(max(0.0, others / elapsed), 3),  # the kernel's work for us is in it, too
        "stolen_cores": round((end.stolen - begin.stolen) / elapsed, 3),
    }


def _value_of(file: str, key: str) -> str:
    for line in Path(file).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
