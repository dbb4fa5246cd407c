"""CPU over time and memory of a process and its children, as prmon has them, by a process of its own."""

import multiprocessing
import os
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

EVERY_S = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


def pss_mib(pid: int | str = "self") -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Watch:
    """Watches the process that makes it, from then on."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=self._look, args=(theirs, os.getpid()))
        self._process.start()

    def end(self) -> dict[str, Any]:
        """Times, and the cores that were busy until each: of who writes, and of all workers; and the most memory of the
        former and of one worker."""
        self._pipe.send(None)
        seen = dict(self._pipe.recv())
        self._process.join()
        return seen

    def _look(self, pipe: Any, of: int) -> None:
        begin, samples, most = time.monotonic(), [], {}
        while not pipe.poll(EVERY_S):
            used: dict[int, float] = {}
            for pid in [of, *(each for each in children_of(of) if each != os.getpid())]:
                with suppress(OSError, StopIteration):  # it has ended
                    used[pid] = cpu_of(pid)
                    most[pid] = max(most.get(pid, 0.0), pss_mib(pid))
            samples.append((time.monotonic() - begin, used))
        workers = [pss for pid, pss in most.items() if pid != of]
        pipe.send({"writer_most_pss_MiB": most.get(of, 0.0), "worker_most_pss_MiB": max(workers, default=0.0),
                   "cpu_over_time": _rates(samples, of)})  # fmt: skip


def _rates(samples: list[tuple[float, dict[int, float]]], of: int) -> list[tuple[float, float, float]]:
    """A worker that has ended in between counts no more."""
    rates = []
    for (before, old), (now, new) in pairwise(samples):
        busy = {pid: (new[pid] - old.get(pid, 0.0)) / (now - before) for pid in new}
        writer = busy.pop(of, 0.0)
        rates.append((now, writer, sum(busy.values())))
    return rates
