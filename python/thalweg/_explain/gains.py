"""Estimates the time that calls take from a program, without what tracing and other programs add to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg._trace.calls import Calls, Mask, blocks
from thalweg._trace.spans import elapsed, pauses
from thalweg._trace.trace_file import Trace


@dataclass(frozen=True)
class OwnTime:
    seconds: float
    """The time in which at least one of the calls was running, without interruptions and looks at the clock."""
    share: float
    """The fraction of a time in which a process ran or waited for a core in which it ran."""
    error: float
    """Two standard errors of the mean duration of the calls, as a fraction of it."""


def own_time(trace: Trace, calls: Calls) -> OwnTime:
    took = elapsed(calls)
    threads = len(calls.threads)
    looks = len(calls) * float(trace.report.get("clock_s", 0.0)) / max(1, threads)
    schedule = _schedule(trace, calls)
    if schedule is None:
        is_rare = _are_interrupted(calls)
        part = _without(calls, is_rare)
        return OwnTime(max(_UNRESOLVED * took * part, took * part - looks), 1.0, _relative_error(calls.where(~is_rare)))
    ran, waited, blocked = schedule
    share = ran / max(ran + waited, 1e-9)
    # If the process waited for a disk or for others, it did so in these calls rather than between them.
    inside = min(took, blocked)
    own = inside + (took - inside) * share
    return OwnTime(max(_UNRESOLVED * own, own - looks), share, _relative_error(calls))


_UNRESOLVED = 0.15
"""The part that remains of calls which take hardly longer than a look at the clock."""


def _schedule(trace: Trace, calls: Calls) -> tuple[float, float, float] | None:
    """Returns how long the process of these calls ran, waited for a core, and waited for something else, in seconds.

    Returns None if it is not known: it is known for the first thread of a process that the tracer has waited for."""
    if len(calls.threads) != 1:
        return None
    process, thread = int(calls.process[0]), trace.threads[int(calls.thread[0])]
    if thread["tid"] != trace.processes[process]["pid"]:
        return None
    known = {int(each["pid"]): each for each in trace.report.get("schedule", [])}
    found = known.get(int(trace.processes[process]["pid"]))
    if found is None or found["ran_s"] <= 0:
        return None
    first, last = trace.span(process)
    return found["ran_s"], found["waited_s"], max(0.0, last - first - found["ran_s"] - found["waited_s"])


def short_pauses(calls: Calls) -> float:
    """Returns the time in short pauses of threads between these calls: a thread prepares its next call then.

    It is the mean of the threads, since they may run at the same time."""
    threads = calls.threads
    total = 0.0
    for thread in threads:
        short = longer = 0.0
        tight = count = 0
        for some in pauses(calls.where(calls.thread == thread)):
            short += float(some[some < SHORT_PAUSE_S].sum())
            longer += float(some[some < _LONGEST_S].sum())
            tight += int((some < _TIGHT_S).sum())
            count += len(some)
        # If most pauses are this short, longer ones are interruptions, and no work of the program.
        total += longer if 2 * tight > count else short
    return total / max(1, len(threads))


SHORT_PAUSE_S, _TIGHT_S, _LONGEST_S = 1e-3, 2e-4, 0.1


def _are_interrupted(calls: Calls) -> Mask:
    """Returns which calls seem to have been interrupted by other programs: a few of many short ones that took long."""
    is_long, not_short = np.zeros(len(calls), bool), 0
    if len(calls) < 1000:
        return is_long
    for part in blocks(len(calls)):
        duration = calls.part(part).duration
        is_long[part] = duration > 1e-3
        not_short += int((duration > 1e-5).sum())
    if is_long.mean() >= 1e-3 or 2 * not_short > len(calls):
        is_long[:] = False
    return is_long


def _without(calls: Calls, is_rare: Mask) -> float:
    """Returns the fraction of the time of these calls that they take if the rare ones take as long as the others."""
    if not is_rare.any():
        return 1.0
    usual = calls.where(~is_rare)
    return usual.seconds * len(calls) / len(usual) / calls.seconds


def _relative_error(calls: Calls) -> float:
    mean = calls.seconds / max(1, len(calls))
    squares = sum(float(((part.duration - mean) ** 2).sum()) for part in calls.in_blocks())
    return 2 * squares**0.5 / mean / len(calls) if mean > 0 else 0.0
