"""What makes I/O slow, or unsafe, and can be seen in the calls of a program. Each rule looks at ordinary files alone.

A rule is a function of a trace that yields findings. Its limits are chosen so that what it names is worth a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from thalweg._explain.findings import Finding, by_file, data, of_kind, places, ranks_of, seconds
from thalweg._explain.settings import settings_without_effect
from thalweg._explain.trace_file import Calls, Integers, Trace
from thalweg._recording.units import as_bytes

Rule = Callable[[Trace], Iterator[Finding]]

MANY = 1000
BLOCK = 4096
LARGE = 1 << 20


def small_requests(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(data(trace.on_disk(trace.posix))):
        mean = calls.moved.mean()
        if len(calls) >= MANY and mean < BLOCK:
            yield Finding(
                "small requests",
                f"{len(calls):,} reads and writes move {as_bytes(mean)} each: gather them, or use a buffer",
                trace.files[number],
                seconds(calls),
                {"calls": len(calls), "bytes": int(calls.moved.sum())},
            )


def unaligned(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(of_kind(trace.on_disk(trace.posix), "write")):
        large = calls.where((calls.offset >= 0) & (calls.size >= BLOCK))
        if len(large) < 100:
            continue
        share = float((large.offset % BLOCK != 0).mean())
        if share > 0.5:
            yield Finding(
                "unaligned writes",
                f"{100 * share:.0f} % of {len(large):,} writes of {BLOCK} bytes or more begin inside a block: "
                "each makes the system read or lock two",
                trace.files[number],
                seconds(large),
                {"calls": len(large), "share": share},
            )


def redundant_reads(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(trace.on_disk(trace.posix)):
        for process in np.unique(calls.process):
            mine = calls.where(calls.process == process)
            at = places(mine)
            is_read = (mine.kind == "read") & (mine.moved > 0)
            total, distinct = int(mine.moved[is_read].sum()), _distinct(at[is_read], mine.moved[is_read])
            if total >= LARGE and total >= 2 * distinct:
                yield Finding(
                    "redundant reads",
                    f"process {trace.processes[int(process)]['pid']} reads {as_bytes(total)} of {as_bytes(distinct)} "
                    "that it needs: keep what was read",
                    trace.files[number],
                    seconds(mine.where(is_read)) * (1 - distinct / total),
                    {"read_bytes": total, "distinct_bytes": distinct, "calls": int(is_read.sum())},
                )


def _distinct(at: Integers, size: Integers) -> int:
    """Bytes in the union of these ranges."""
    order = np.argsort(at, kind="stable")
    begin, end = at[order], (at + size)[order]
    latest = np.maximum.accumulate(end)
    before = np.r_[begin[:1], latest[:-1]]
    return int(np.maximum(0, end - np.maximum(begin, before)).sum())


def metadata_storm(trace: Trace) -> Iterator[Finding]:
    calls = trace.posix.where(trace.posix.depth == 0)
    for process in np.unique(calls.process):
        mine = calls.where(calls.process == process)
        names, moves = of_kind(mine, "open", "close", "metadata"), data(mine)
        if len(names) >= 2 * MANY and len(names) > 5 * len(moves):
            yield Finding(
                "metadata storm",
                f"process {trace.processes[int(process)]['pid']} makes {len(names):,} calls that open, close, ask for "
                f"or change names, and {len(moves):,} that move data: use fewer files, or ask less often",
                "",
                seconds(names),
                {"calls": len(names), "data_calls": len(moves)},
            )


def seeks(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(trace.on_disk(trace.posix)):
        moves, steps = data(calls), of_kind(calls, "seek")
        if len(steps) >= MANY // 2 and len(steps) > 0.4 * len(moves):
            yield Finding(
                "seeks",
                f"{len(steps):,} seeks go with {len(moves):,} reads and writes: pread and pwrite need none",
                trace.files[number],
                seconds(steps),
                {"seeks": len(steps), "data_calls": len(moves)},
            )


def no_sync(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(trace.on_disk(trace.posix)):
        written = int(of_kind(calls, "write").moved.sum())
        if written >= LARGE and not len(of_kind(calls, "sync")) and not _opened_for_sync(calls):
            yield Finding(
                "no sync",
                f"{as_bytes(written)} were written and never synced: what was measured is the page cache, and a power "
                "cut may take them",
                trace.files[number],
                0.0,
                {"written_bytes": written},
            )


def _opened_for_sync(calls: Calls) -> bool:
    return bool((of_kind(calls, "open").extra & 0o10000).any())  # O_DSYNC, which is in O_SYNC


def sync_storm(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(trace.on_disk(trace.posix)):
        syncs, written = of_kind(calls, "sync"), int(of_kind(calls, "write").moved.sum())
        if len(syncs) >= 100 and written < len(syncs) * LARGE:
            yield Finding(
                "sync storm",
                f"{len(syncs):,} syncs for {as_bytes(written)}, one for every "
                f"{as_bytes(written / len(syncs))}: sync more at once",
                trace.files[number],
                seconds(syncs),
                {"syncs": len(syncs), "written_bytes": written},
            )


def opened_again(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(of_kind(trace.on_disk(trace.posix), "open")):
        for process in np.unique(calls.process):
            mine = calls.where((calls.process == process) & (calls.error == 0))
            if len(mine) >= 50:
                yield Finding(
                    "opened again and again",
                    f"process {trace.processes[int(process)]['pid']} opens it {len(mine):,} times: keep it open",
                    trace.files[number],
                    seconds(mine),
                    {"opens": len(mine)},
                )


def truncation(trace: Trace) -> Iterator[Finding]:
    opens = of_kind(trace.levels["posix"], "open"), of_kind(trace.levels["stdio"], "open")
    for calls in opens:
        for number, mine in by_file(calls.where((calls.size >= LARGE) & (calls.error == 0))):
            yield Finding(
                "truncation of an existing file",
                f"opening it threw {as_bytes(int(mine.size.sum()))} away: to free them took {seconds(mine):.3g} s, and "
                "a program that dies now has lost them",
                trace.files[number],
                seconds(mine),
                {"bytes": int(mine.size.sum()), "opens": len(mine)},
            )


def read_modify_write(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(data(trace.on_disk(trace.posix))):
        ordered = calls.where(np.argsort(calls.thread, kind="stable"))
        pair = (ordered.kind[:-1] == "read") & (ordered.kind[1:] == "write")
        pair &= (ordered.thread[:-1] == ordered.thread[1:]) & (ordered.offset[:-1] >= 0)
        pair &= (ordered.offset[:-1] == ordered.offset[1:]) & (ordered.size[:-1] == ordered.size[1:])
        writes = int((ordered.kind == "write").sum())
        if pair.sum() >= 20 and pair.sum() > writes / 2:
            yield Finding(
                "read, modify, write",
                f"{int(pair.sum()):,} of {writes:,} writes put back what was read before at the same place: data "
                "sieving of MPI-IO (romio_ds_write) does that, and chunks that are written in parts",
                trace.files[number],
                seconds(ordered.where(np.r_[pair, False])),
                {"pairs": int(pair.sum()), "writes": writes},
            )


def one_rank_does_all(trace: Trace) -> Iterator[Finding]:
    ranks = ranks_of(trace)
    for number, calls in by_file(data(trace.on_disk(trace.posix))):
        mine = calls.where(calls.rank >= 0)
        total = int(mine.moved.sum())
        if ranks < 2 or total < LARGE:
            continue
        shares = {int(rank): int(mine.moved[mine.rank == rank].sum()) for rank in np.unique(mine.rank)}
        rank, most = max(shares.items(), key=lambda each: each[1])
        if most > 0.9 * total:
            yield Finding(
                "one rank does all",
                f"rank {rank} of {ranks} moves {as_bytes(most)} of {as_bytes(total)}",
                trace.files[number],
                seconds(mine.where(mine.rank == rank)),
                {"rank": rank, "bytes_by_rank": shares},
            )


def stragglers(trace: Trace) -> Iterator[Finding]:
    calls = data(trace.on_disk(trace.posix))
    spent = {int(rank): seconds(calls.where(calls.rank == rank)) for rank in np.unique(calls.rank) if rank >= 0}
    if ranks_of(trace) < 3 or len(spent) < 3:
        return
    middle = float(np.median(list(spent.values())))
    rank, most = max(spent.items(), key=lambda each: each[1])
    if most > 2 * middle and most - middle > 0.1:
        yield Finding(
            "straggler",
            f"rank {rank} spends {most:.3g} s in reads and writes, and half of the ranks {middle:.3g} s or less: the "
            "others wait for it",
            "",
            most - middle,
            {"rank": rank, "seconds_by_rank": spent},
        )


RULES: tuple[Rule, ...] = (
    small_requests,
    unaligned,
    redundant_reads,
    metadata_storm,
    seeks,
    no_sync,
    sync_storm,
    opened_again,
    truncation,
    read_modify_write,
    one_rank_does_all,
    stragglers,
    settings_without_effect,
)
