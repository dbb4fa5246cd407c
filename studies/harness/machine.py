"""Describes the machine of a study, and how busy other work keeps it."""

import importlib.metadata
import os
import platform
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERTZ = os.sysconf("SC_CLK_TCK")


def first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "not there"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return next(iter((done.stdout + done.stderr).splitlines()), "").strip()


def from_proc(file: str, key: str) -> str:
    for line in Path(file).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""


def from_sys(name: str) -> str:
    """A fact about processors; "not known" where the system has none, as in most virtual machines."""
    try:
        return (Path("/sys/devices/system/cpu") / name).read_text().strip()
    except OSError:
        return "not known"


def file_system(path: Path) -> str:
    return first_line("findmnt", "-no", "FSTYPE,SOURCE,OPTIONS", "-T", str(path))


def describe(files: Path, repository: Path) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": from_proc("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "may_run_on": ",".join(map(str, sorted(os.sched_getaffinity(0)))),
        "smt": from_sys("smt/active"),
        "governor": from_sys("cpu0/cpufreq/scaling_governor"),
        "memory_GiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "virtual_machine": first_line("systemd-detect-virt", "--vm"),
        "kernel": platform.release(),
        "file_system": file_system(files),
        "compiler": first_line("c++", "--version"),
        "commit": first_line("git", "-C", str(repository), "describe", "--always", "--dirty"),
        "fio": first_line("fio", "--version"),
    }


def packages(*names: str) -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in names}


@dataclass
class Moment:
    """Counters of the whole machine, in seconds of CPU, and of the processes that we started and that have ended."""

    at: float
    busy: float
    stolen: float
    ours: float

    @staticmethod
    def now() -> "Moment":
        fields = [int(word) / HERTZ for word in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]]
        user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen = fields
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Moment(
            time.monotonic(),
            user + nice + system + interrupts + soft_interrupts,
            stolen,
            children.ru_utime + children.ru_stime,
        )


def noise_since(begin: Moment) -> dict[str, float]:
    end = Moment.now()
    elapsed = max(end.at - begin.at, 1e-6)
    others = end.busy - begin.busy - (end.ours - begin.ours)
    return {
        "load": round(os.getloadavg()[0], 2),
        "other_cores": round(max(0.0, others / elapsed), 3),  # the kernel's work for us is in it, too
        "stolen_cores": round((end.stolen - begin.stolen) / elapsed, 3),
    }


def busy_now(seconds: float = 1.0) -> float:
    begin = Moment.now()
    time.sleep(seconds)
    return (Moment.now().busy - begin.busy) / seconds
