"""What a rule has found: a sentence, and the figures that it stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg._explain.trace_file import Calls, Integers, Trace


@dataclass(frozen=True)
class Finding:
    sentence: str
    file: str
    calls: int
    """What it is about, with what these moved and how long they took."""
    bytes: int
    seconds: float
    gain_s: float
    """What the change that the sentence names would save at most, as estimated from the calls; 0 where it is none."""
    table: str
    query: str
    """Shows the calls: what pandas' DataFrame.query takes, of that table."""
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
    """What a rule has found in these calls. `gain`: the share of their time that can be saved. `where`: by what they
    differ from the other calls of the same operations, files and processes."""
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


def aggregators_of(trace: Trace, file: int, listed: str) -> list[int]:
    """What ROMIO reports as romio_aggregator_list counts the ranks that have opened the file: these, as the launcher
    counts them. A communicator is taken to have its ranks in the order of the launcher's."""
    calls = trace.levels["mpi"]
    opens = calls.where((calls.file == file) & (calls.name == "MPI_File_open") & (calls.rank >= 0))
    opened = [int(rank) for rank in np.unique(opens.rank)]
    return [opened[int(rank)] for rank in listed.split() if int(rank) < len(opened)]


def gathered(calls: Calls, size: int = 1 << 20) -> float:
    """The share of calls that would not be made if each moved so much."""
    if not len(calls):
        return 0.0
    return 1 - min(1.0, -(-int(calls.moved.sum()) // size) / len(calls))


def distinct(at: Integers, size: Integers) -> int:
    """Bytes in the union of these ranges."""
    order = np.argsort(at, kind="stable")
    begin, end = at[order], (at + size)[order]
    latest = np.maximum.accumulate(end)
    before = np.r_[begin[:1], latest[:-1]]
    return int(np.maximum(0, end - np.maximum(begin, before)).sum())


def outer_of(inner: Calls, outer: Calls) -> Integers:
    """For each of these calls the one of those in which it was made, as its place in `outer`; -1: in none. Those must
    not be inside each other."""
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
    """The share of ranges, in the order of the file, whose neighbour before is another rank's."""
    order = np.argsort(at[size > 0], kind="stable")
    ranks = rank[size > 0][order]
    return float((ranks[1:] != ranks[:-1]).mean()) if len(ranks) > 1 else 0.0
