"""What a rule has found: a sentence, and the figures that it stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg._explain.trace_file import Calls, Integers, Trace


@dataclass(frozen=True)
class Finding:
    rule: str
    sentence: str
    file: str
    seconds: float
    """What the calls took that it is about: at most so much can be gained. 0 where that is not known."""
    evidence: dict[str, Any] = field(default_factory=dict)


def by_file(calls: Calls) -> Iterator[tuple[int, Calls]]:
    """Calls of each file that is known, by its row."""
    order = np.argsort(calls.file, kind="stable")
    numbers, firsts = np.unique(calls.file[order], return_index=True)
    for number, chosen in zip(numbers, np.split(order, firsts[1:]), strict=False):  # of nothing there is one part
        if number:
            yield int(number), calls.where(np.sort(chosen))


def seconds(calls: Calls) -> float:
    return float(calls.duration.sum())


def data(calls: Calls) -> Calls:
    return calls.where(np.isin(calls.kind, ("read", "write")))


def of_kind(calls: Calls, *kinds: str) -> Calls:
    return calls.where(np.isin(calls.kind, kinds))


def places(calls: Calls) -> Integers:
    """Where in the file each call of one process and file reads or writes; of one that names no place, the one at which
    the descriptor stands after the calls before it. Right where one thread uses one descriptor at a time."""
    calls_move = (calls.offset < 0) & np.isin(calls.kind, ("read", "write"))
    moved = np.where(calls_move, calls.moved, 0)
    total = np.cumsum(moved)
    is_set = np.isin(calls.kind, ("open", "seek")) & (calls.error == 0)
    base = np.where(calls.kind == "seek", calls.result, 0)
    last = np.maximum.accumulate(np.where(is_set, np.arange(len(calls)), -1))
    since = np.where(last >= 0, total[last], 0)
    at: Integers = np.where(last >= 0, base[last], 0) + total - moved - since
    return np.where(calls.offset >= 0, calls.offset, at)


def ranks_of(trace: Trace) -> int:
    """How many ranks a launcher has started."""
    return len({each["rank"] for each in trace.processes if each["rank"] >= 0})
