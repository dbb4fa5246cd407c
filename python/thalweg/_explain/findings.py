"""Findings of rules: each has a sentence, and the figures on which it is based."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg._trace.trace_file import Calls, Integers, Trace


@dataclass(frozen=True)
class Finding:
    sentence: str
    file: str
    calls: int
    """The number of calls that it is about; `bytes` and `seconds` are what they moved and how long they took."""
    bytes: int
    seconds: float
    gain_s: float
    """The estimated time in seconds that the proposed change saves at most; 0 if none is estimated."""
    table: str
    query: str
    """The condition that selects the calls in `table`, for DataFrame.query of pandas."""
    evidence: dict[str, Any] = field(default_factory=dict)
    rule: str = ""


def found(
    trace: Trace,
    about: Calls,
    sentence: str,
    *,
    gain: float = 0.0,
    table: str = "posix",
    where: str = "",
    **evidence: Any,
) -> Finding:
    """Returns a finding about these calls.

    `gain` is the fraction of their time that can be saved. `where` is a condition that tells the calls from other calls
    of the same operations, files and processes."""
    files = np.unique(about.file)
    took = seconds(about)
    return Finding(
        sentence,
        trace.files[int(files[0])] if len(files) == 1 else "",
        len(about),
        int((about.moved if table in ("posix", "stdio") else about.size.clip(0)).sum()),
        took,
        took * min(1.0, max(0.0, gain)),
        table,
        " and ".join(filter(None, (*_conditions(about), where))),
        evidence,
    )


def _conditions(about: Calls) -> Iterator[str]:
    for name, values in (("operation", about.operation), ("file", about.file), ("process", about.process)):
        some = np.unique(values)
        if len(some) == 1:
            yield f"{name} == {some[0]}"
        elif 1 < len(some) <= _MOST_NAMED:
            yield f"{name} in [{', '.join(map(str, some))}]"


_MOST_NAMED = 64


def by_file(calls: Calls) -> Iterator[tuple[int, Calls]]:
    """Yields the calls of each known file, with the row of the file."""
    order = np.argsort(calls.file, kind="stable")
    numbers, firsts = np.unique(calls.file[order], return_index=True)
    for number, chosen in zip(numbers, np.split(order, firsts[1:]), strict=False):  # without calls there is one part
        if number:
            yield int(number), calls.where(np.sort(chosen))


def seconds(calls: Calls) -> float:
    return float(calls.duration.sum())


def data(calls: Calls) -> Calls:
    return calls.where(np.isin(calls.kind, ("read", "write")))


def of_kind(calls: Calls, *kinds: str) -> Calls:
    return calls.where(np.isin(calls.kind, kinds))


def call_places(calls: Calls) -> Integers:
    """Returns the offset in the file of each call of one process and file.

    A call without an offset reads or writes at the position after the calls before it. This is correct if one thread
    uses one descriptor at a time."""
    calls_move = (calls.offset < 0) & np.isin(calls.kind, ("read", "write"))
    moved = np.where(calls_move, calls.moved, 0)
    total = np.cumsum(moved)
    is_set = np.isin(calls.kind, ("open", "seek")) & (calls.error == 0)
    base = np.where(calls.kind == "seek", calls.result, 0)
    last = np.maximum.accumulate(np.where(is_set, np.arange(len(calls)), -1))
    since = np.where(last >= 0, total[last], 0)
    at: Integers = np.where(last >= 0, base[last], 0) + total - moved - since
    return np.where(calls.offset >= 0, calls.offset, at)


def ranks_in(trace: Trace) -> int:
    """Returns the number of ranks that a launcher has started."""
    return len({each["rank"] for each in trace.processes if each["rank"] >= 0})


def aggregators_of(trace: Trace, file: int, listed: str) -> list[int]:
    """Returns the aggregators of a file as ranks of the launcher.

    ROMIO's romio_aggregator_list numbers the ranks that opened the file. Their communicator is assumed to have the
    order of the launcher."""
    calls = trace.levels["mpi"]
    opens = calls.where((calls.file == file) & (calls.name == "MPI_File_open") & (calls.rank >= 0))
    opened = [int(rank) for rank in np.unique(opens.rank)]
    return [opened[int(rank)] for rank in listed.split() if int(rank) < len(opened)]


def gathered_by_file(calls: Calls, size: int = 1 << 20) -> float:
    """Returns the fraction of calls that would be saved if each moved `size` bytes."""
    if not len(calls):
        return 0.0
    return 1 - min(1.0, -(-int(calls.moved.sum()) // size) / len(calls))


def distinct(at: Integers, size: Integers) -> int:
    """Returns the number of bytes in the union of these ranges."""
    order = np.argsort(at, kind="stable")
    begin, end = at[order], (at + size)[order]
    latest = np.maximum.accumulate(end)
    before = np.r_[begin[:1], latest[:-1]]
    return int(np.maximum(0, end - np.maximum(begin, before)).sum())


def outer_of(inner: Calls, outer: Calls) -> Integers:
    """Returns, for each inner call, the index of the outer call in which it was made, or -1 if there is none.

    Outer calls must not be inside each other."""
    place = np.full(len(inner), -1, np.int64)
    for thread in np.unique(inner.thread):
        mine, theirs = np.flatnonzero(inner.thread == thread), np.flatnonzero(outer.thread == thread)
        theirs = theirs[np.argsort(outer.start[theirs], kind="stable")]
        if not len(theirs):
            continue
        before = np.searchsorted(outer.start[theirs], inner.start[mine] + _ROUNDED_S, side="right") - 1
        found_one = theirs[np.maximum(before, 0)]
        is_in = (before >= 0) & (inner.end[mine] <= outer.end[found_one] + _ROUNDED_S)
        place[mine[is_in]] = found_one[is_in]
    return place


_ROUNDED_S = 1e-8


def interleaved(at: Integers, size: Integers, rank: Integers) -> float:
    """Returns the fraction of ranges, in the order of the file, that follow a range of another rank."""
    order = np.argsort(at[size > 0], kind="stable")
    ranks = rank[size > 0][order]
    return float((ranks[1:] != ranks[:-1]).mean()) if len(ranks) > 1 else 0.0
