"""Findings of rules: each has a sentence, and the figures on which it is based."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from thalweg._explain.gains import own_time, short_pauses
from thalweg._trace.calls import Calls, Integers, blocks
from thalweg._trace.spans import elapsed
from thalweg._trace.trace_file import Trace


@dataclass(frozen=True)
class Finding:
    sentence: str
    file: str
    calls: int
    """The number of calls that it is about; `bytes` are what they moved."""
    bytes: int
    seconds: float
    """The time in seconds in which at least one of the calls was running: it is not summed over ranks and threads."""
    gain_s: float
    """The estimated part of that time that the proposed change saves at most; 0 if none is estimated, or if a stronger
    finding has the same calls."""
    table: str
    query: str
    """The condition that selects the calls in `table`, for DataFrame.query of pandas."""
    evidence: dict[str, Any] = field(default_factory=dict)
    rule: str = ""
    elsewhere_s: float = 0.0
    """The estimated time that the change saves outside of these calls."""
    disturbed_s: float = 0.0
    """The part of the gain that other programs and the tracing take from the program, not these calls."""
    low_s: float = 0.0
    """The lower end of the interval of `saves_s`: the calls alone."""
    high_s: float = 0.0
    """The upper end: the short pauses between the calls are saved, too."""
    how: str = ""
    """How the gain was estimated."""
    part_of: str = ""
    """The rule of a stronger finding with the same cause, or empty."""
    cause_file: str = ""
    """The file of that finding."""
    phase: str = ""
    """The phase of the program in which most of the time of these calls lies, or empty."""
    about: Calls | None = field(default=None, repr=False, compare=False)

    @property
    def saves_s(self) -> float:
        """The estimated time in seconds that the change saves."""
        return max(0.0, self.gain_s - self.disturbed_s + self.elsewhere_s)

    def to_dict(self) -> dict[str, Any]:
        members = {name: value for name, value in vars(self).items() if name != "about"}
        return {**members, "saves_s": self.saves_s}


FEWER_CALLS = "the time of the calls that are not needed"


def found(
    trace: Trace,
    about: Calls,
    sentence: str,
    *,
    gain: float = 0.0,
    table: str = "posix",
    where: str = "",
    elsewhere: float = 0.0,
    how: str = FEWER_CALLS,
    pauses: bool = False,
    **evidence: Any,
) -> Finding:
    """Returns a finding about these calls.

    `gain` is the fraction of their time that can be saved, `elsewhere` what is saved outside of them, in seconds.
    `pauses` says that the program makes each call in a step that the change saves, too: then the short pauses between
    the calls count like the calls. `where` is a condition that tells the calls from other calls of the same operations,
    files and processes."""
    files = about.files
    took = elapsed(about)
    moved = about.moved_bytes if table in ("posix", "stdio") else _asked_bytes(about)
    gain = min(1.0, max(0.0, gain))
    own = own_time(trace, about)
    between = gain * short_pauses(about) * own.share if gain > 0 else 0.0
    saved, elsewhere = gain * own.seconds, max(0.0, elsewhere) * own.share + (between if pauses else 0.0)
    return Finding(
        sentence,
        trace.files[files[0]] if len(files) == 1 else "",
        len(about),
        moved,
        took,
        took * gain,
        table,
        " and ".join(filter(None, (*_conditions(about), where))),
        evidence,
        elsewhere_s=elsewhere,
        disturbed_s=took * gain - saved,
        low_s=saved * max(0.0, 1 - own.error),
        high_s=(took * gain + max(elsewhere, between)) * (1 + own.error),
        how=how if saved + elsewhere > 0 else "",
        about=about,
    )


def _asked_bytes(about: Calls) -> int:
    return int(of_kind(about, "read", "write", "transfer").size.clip(0).sum())


def each_call_once(findings: list[Finding], of_libraries: frozenset[str]) -> list[Finding]:
    """Returns the findings, the strongest first. What a stronger finding has counted does not count again: a weaker one
    with the same calls, or with calls inside those, is marked as a part of it.

    `of_libraries` are the rules that know why a library makes its calls: they explain what others only describe."""

    def strength(one: Finding) -> tuple[float, float]:
        return -one.saves_s * (1.0 if one.rule in of_libraries else 0.25), -one.seconds

    kept: list[Finding] = []
    for each in sorted(findings, key=strength):
        strongest = next(
            (other for other in kept if not other.part_of and _has_same_cause(other, each, other.rule in of_libraries)),
            None,
        )
        kept.append(_part_of(strongest, each) if strongest else each)
    return sorted(kept, key=lambda one: (-one.saves_s, -one.seconds))


def _part_of(cause: Finding, each: Finding) -> Finding:
    return replace(
        each,
        part_of=cause.rule,
        cause_file=cause.file,
        gain_s=0.0,
        disturbed_s=0.0,
        elsewhere_s=0.0,
        low_s=0.0,
        high_s=0.0,
    )


def _has_same_cause(stronger: Finding, weaker: Finding, explains_calls: bool) -> bool:
    """`explains_calls`: the stronger one says why a library makes its calls, whatever calls the weaker one is about."""
    if stronger.about is None or weaker.about is None or not (len(stronger.about) and len(weaker.about)):
        return False
    if stronger.saves_s <= 0:
        return False
    if _is_made_inside(weaker.about, stronger.about):
        return True
    if stronger.table == weaker.table and not (explains_calls and stronger.file == weaker.file):
        return weaker.about.share_in(stronger.about) > 0.5
    inner, outer = sorted((stronger, weaker), key=lambda each: _OUTER.index(each.table))
    assert outer.about is not None
    assert inner.about is not None
    if not outer.file or outer.file != inner.file:
        return False
    return float((inner.about.depth > 0).mean()) > 0.5


def _is_made_inside(inner: Calls, outer: Calls) -> bool:
    """Returns whether more than half of the time of these calls lies in the other ones, which made them."""
    if not (inner.depth > 0).any() or len(outer) > _MOST_AROUND or int(inner.depth.max()) <= int(outer.depth.min()):
        return False
    whole = inner.seconds
    return whole > 0 and inner.where(outer_of(inner, outer) >= 0).seconds > 0.5 * whole


_MOST_AROUND = 1_000_000


_OUTER = ("settings", "work", "posix", "stdio", "mpi", "hdf5")


def _conditions(about: Calls) -> Iterator[str]:
    for name, some in (("operation", about.operations), ("file", about.files), ("process", about.processes)):
        if len(some) == 1:
            yield f"{name} == {some[0]}"
        elif 1 < len(some) <= _MOST_NAMED:
            yield f"{name} in [{', '.join(map(str, some))}]"


_MOST_NAMED = 64


def by_file(calls: Calls) -> Iterator[tuple[int, Calls]]:
    """Yields the calls of each known file, with the row of the file."""
    numbers = calls.files
    if len(numbers) <= _FEW:
        parts = ((number, calls.where(calls.file == number)) for number in numbers)
    else:
        ends = np.cumsum(np.bincount(calls.file))
        order = np.argsort(calls.file, kind="stable").astype(np.uint32)
        parts = ((number, calls.where(order[ends[number - 1] : ends[number]])) for number in numbers if number)
    yield from (part for part in parts if part[0])


_FEW = 16


def seconds(calls: Calls) -> float:
    return calls.seconds


def data(calls: Calls) -> Calls:
    return calls.where(calls.kind.isin(("read", "write")))


def of_kind(calls: Calls, *kinds: str) -> Calls:
    return calls.where(calls.kind.isin(kinds))


def call_places(calls: Calls) -> Integers:
    """Returns the offset in the file of each call of one process and file.

    A call without an offset reads or writes at the position after the calls before it. This is correct if one thread
    uses one descriptor at a time."""
    at = calls.offset.copy()
    if len(at) and int(at.min()) >= 0:
        return at
    position = 0
    for block in blocks(len(calls)):
        part = calls.part(block)
        moved = np.where((part.offset < 0) & part.kind.isin(("read", "write")), part.moved, 0)
        total = np.cumsum(moved)
        is_set = part.kind.isin(("open", "seek")) & (part.error == 0)
        # A stream's call returns no position; the one that it was given is taken to count from the beginning.
        sets = np.where(part.name.isin(_SEEKS_OF_STREAMS), part.offset.clip(0), part.result)
        base = np.where(part.kind == "seek", sets, 0) - total
        last = np.maximum.accumulate(np.where(is_set, np.arange(len(part)), -1))
        after = np.where(last >= 0, base[last], position) + total
        at[block] = np.where(part.offset >= 0, part.offset, after - moved)
        position = int(after[-1])
    return at


_SEEKS_OF_STREAMS = ("fseek", "fseeko", "fseeko64", "rewind")


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
    return 1 - min(1.0, -(-calls.moved_bytes // size) / len(calls))


def gathered_in_order(calls: Calls, size: int = 1 << 20) -> float:
    """Returns the fraction of reads and writes of one file that would be saved if those that continue each other were
    calls of `size` bytes. Those at places far from each other cannot be one call."""
    needed, all_of_them = 0.0, 0
    for process in calls.processes:
        mine = calls.of_process(process)
        is_move = mine.kind.isin(("read", "write"))
        ahead = steps(call_places(mine)[is_move], mine.moved[is_move])
        jumps = int(((ahead < 0) | (ahead > _NEAR)).sum())
        moves = int(is_move.sum())
        needed += 1 + jumps + mine.where(is_move).moved_bytes // size
        all_of_them += moves
    return 1 - min(1.0, needed / all_of_them) if all_of_them else 0.0


def steps(at: Integers, size: Integers) -> Integers:
    """Returns how many bytes lie between the end of each range and the beginning of the next one."""
    ahead = at[1:] - at[:-1]
    ahead -= size[:-1]
    return ahead


_NEAR = 16 << 10
"""The bytes between two ranges that are cheaper to move than to leave out."""


def distinct(at: Integers, size: Integers) -> int:
    """Returns the number of bytes in the union of these ranges."""
    order = None if _is_sorted(at) else np.argsort(at, kind="stable").astype(np.uint32)
    total, until = 0, 0
    for block in blocks(len(at)):
        places: Any = block if order is None else order[block]
        begin = at[places]
        end = begin + size[places]
        latest = np.maximum.accumulate(np.r_[until if block.start else begin[0], end])
        total += int(np.maximum(0, end - np.maximum(begin, latest[:-1])).sum())
        until = int(latest[-1])
    return total


def _is_sorted(values: Integers) -> bool:
    return all((np.diff(values[part.start : part.stop + 1]) >= 0).all() for part in blocks(len(values)))


def outer_of(inner: Calls, outer: Calls) -> Integers:
    """Returns, for each inner call, the index of the outer call in which it was made, or -1 if there is none.

    Outer calls must not be inside each other."""
    place = np.full(len(inner), -1, np.int64)
    for thread in inner.threads:
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
