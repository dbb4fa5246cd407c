"""Rules about the ranks of a program: which rank moves what, which ranks wait, and on which cores they run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import (
    Finding,
    aggregators_of,
    by_file,
    data,
    distinct,
    found,
    interleaved,
    of_kind,
    outer_of,
    ranks_in,
    seconds,
)
from thalweg._explain.rules_files import BLOCK, LARGE
from thalweg._trace.cores import as_ranges, of_ranges
from thalweg._trace.trace_file import Calls, Mask, Trace


def is_collective(calls: Calls) -> Mask:
    """Returns which calls of MPI-IO are collective."""
    return np.array(["_all" in name or "_ordered" in name for name in calls.name], bool)


def one_rank_does_all(trace: Trace) -> Iterator[Finding]:
    ranks = ranks_in(trace)
    for _, calls in by_file(data(trace.on_disk(trace.posix))):
        mine = calls.where(calls.rank >= 0)
        total = int(mine.moved.sum())
        if ranks < 2 or total < LARGE:
            continue
        shares = {int(rank): int(mine.moved[mine.rank == rank].sum()) for rank in np.unique(mine.rank)}
        rank, most = max(shares.items(), key=lambda each: each[1])
        if most > 0.9 * total:
            yield found(
                trace,
                mine.where(mine.rank == rank),
                f"rank {rank} of {ranks} moves {as_bytes(most)} of {as_bytes(total)}: let all ranks read and write",
                gain=1 - 1 / ranks,
                where=f"rank == {rank}",
                rank=rank,
                bytes_by_rank=shares,
            )


def stragglers(trace: Trace) -> Iterator[Finding]:
    calls = data(trace.on_disk(trace.posix))
    spent = {int(rank): seconds(calls.where(calls.rank == rank)) for rank in np.unique(calls.rank) if rank >= 0}
    if ranks_in(trace) < 3 or len(spent) < 3:
        return
    middle = float(np.median(list(spent.values())))
    rank, most = max(spent.items(), key=lambda each: each[1])
    if most > 2 * middle and most - middle > 0.1:
        yield found(
            trace,
            calls.where(calls.rank == rank),
            f"rank {rank} spends {most:.3g} s in reads and writes, while half of the ranks spend {middle:.3g} s or "
            "less, so that the others wait for it: distribute the data evenly",
            gain=1 - middle / most,
            where=f"rank == {rank}",
            rank=rank,
            seconds_by_rank=spent,
        )


def overlapping_writes(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(of_kind(trace.on_disk(trace.posix), "write")):
        mine = calls.where((calls.offset >= 0) & (calls.moved > 0))
        writers = [(process, mine.where(mine.process == process)) for process in np.unique(mine.process)]
        if len(writers) < 2 or not _is_at_one_time([each for _, each in writers]):
            continue
        of_each = sum(distinct(each.offset, each.moved) for _, each in writers)
        twice = of_each - distinct(mine.offset, mine.moved)
        if twice >= 16 * BLOCK and twice > 0.1 * of_each:
            yield found(
                trace,
                mine,
                f"{as_bytes(twice)} are written by more than one of {len(writers)} processes at the same time, so that "
                "the content of the file depends on chance: let one process write each range",
                gain=twice / of_each,
                where="offset >= 0 and result > 0 and error == 0",
                twice_bytes=twice,
            )


def _is_at_one_time(parts: list[Calls]) -> bool:
    return max(float(part.start.min()) for part in parts) < min(float(part.end.max()) for part in parts)


def independent_and_interleaved(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(data(trace.levels["mpi"])):
        alone = calls.where(~is_collective(calls))
        inner = data(
            trace.posix.where((trace.posix.file == number) & (trace.posix.depth > 0) & (trace.posix.rank >= 0))
        )
        if len(alone) < 200 or len(np.unique(alone.rank)) < 2 or alone.size.mean() >= 64 * 1024:
            continue
        share = interleaved(inner.offset, inner.moved, inner.rank)
        if share > 0.3:
            yield found(
                trace,
                alone,
                f"{len(np.unique(alone.rank))} ranks make {len(alone):,} independent reads and writes of "
                f"{as_bytes(float(alone.size.mean()))} each in alternating ranges of the file: use collective calls, "
                "which combine them into a few large ones",
                gain=1 - min(1.0, -(-int(alone.size.sum()) // LARGE) / len(alone)),
                table="mpi",
                interleaved_share=share,
            )


def collective_and_apart(trace: Trace) -> Iterator[Finding]:
    for number, calls in by_file(data(trace.levels["mpi"])):
        together = calls.where(is_collective(calls) & (calls.size > 0))
        if not len(together) or together.size.mean() < LARGE or ranks_in(trace) < 2:
            continue
        inner = data(trace.posix.where((trace.posix.file == number) & (trace.posix.depth > 0)))
        asked = {rank: int(together.size[together.rank == rank].sum()) for rank in np.unique(together.rank)}
        moved = sum(max(0, want - int(inner.moved[inner.rank == rank].sum())) for rank, want in asked.items())
        total = sum(asked.values())
        if moved > 0.25 * total:
            below = seconds(inner) / seconds(together) if seconds(together) else 0.0
            yield found(
                trace,
                together,
                f"collective reads and writes of {as_bytes(float(together.size.mean()))} each send {as_bytes(moved)} "
                f"of {as_bytes(total)} to other ranks, though each rank could move such large pieces itself: use "
                "independent calls, or romio_cb_write=automatic",
                gain=1 - below,
                table="mpi",
                where="size > 0",
                sent_bytes=moved,
            )


def shared_pointer(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(data(trace.levels["mpi"])):
        shared = calls.where(np.array(["_shared" in name or "_ordered" in name for name in calls.name], bool))
        if len(shared) >= 20:
            yield found(
                trace,
                shared,
                f"{len(shared):,} reads and writes use the shared file pointer, for which each rank locks a hidden "
                "file and waits: give offsets (MPI_File_write_at)",
                gain=1 - 1 / max(2, ranks_in(trace)),
                table="mpi",
            )


def atomic_mode(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.levels["mpi"]):
        is_on = ((calls.name == "MPI_File_set_atomicity") & (calls.size > 0)).any()
        moves = of_kind(calls, "write")
        if is_on and len(moves) >= 10:
            yield found(
                trace,
                moves,
                f"{len(moves):,} writes are made in atomic mode, and each locks its range of the file: switch it off, "
                "unless ranks write the same bytes without waiting for each other",
                gain=0.5,
                table="mpi",
            )


def _ranks(trace: Trace) -> list[dict[str, object]]:
    return [each for each in trace.processes if int(each["rank"]) >= 0]


def more_ranks_than_cores(trace: Trace) -> Iterator[Finding]:
    ranks = ranks_in(trace)
    cores = {core for each in _ranks(trace) for core in of_ranges(str(each.get("cores", "")))}
    waits = of_kind(trace.levels["mpi"], "wait")
    waits = waits.where(waits.rank >= 0)
    if cores and ranks > len(cores) and len(waits):
        yield found(
            trace,
            waits,
            f"{ranks} ranks run on {len(cores)} cores ({as_ranges(cores)}) and wait {seconds(waits):.3g} s for each "
            "other; a rank that waits by polling takes the core from the rank it waits for: start fewer ranks, or let "
            "waiting ranks yield (Open MPI: mpi_yield_when_idle)",
            gain=1 - len(cores) / ranks,
            table="mpi",
            ranks=ranks,
            cores=len(cores),
        )


def _aggregators(trace: Trace) -> Iterator[tuple[int, list[int]]]:
    """Yields the aggregators of each file that is written collectively.

    They are those that the library lists or, if it lists none, the ranks that wrote."""
    listed = {int(each["file"]): each["value"] for each in trace.settings if each["name"] == "romio_aggregator_list"}
    for number, text in sorted(listed.items()):
        yield number, aggregators_of(trace, number, text)
    for number, calls in by_file(of_kind(trace.levels["mpi"], "write")):
        together = calls.where(is_collective(calls))
        if number in listed or not len(together):
            continue
        writes = of_kind(trace.posix.where((trace.posix.file == number) & (trace.posix.rank >= 0)), "write")
        writers = writes.rank[outer_of(writes, together) >= 0]
        yield number, [int(rank) for rank in np.unique(writers)]


def aggregators_on_one_core(trace: Trace) -> Iterator[Finding]:
    allowed = {int(str(each["rank"])): set(of_ranges(str(each.get("cores", "")))) for each in _ranks(trace)}
    everything = set().union(*allowed.values()) if allowed else set()
    machine = {core for text in trace.report.get("caches", []) for core in of_ranges(text)} or everything
    for number, all_of_them in _aggregators(trace):
        aggregators = [rank for rank in all_of_them if rank in allowed]
        cores = set().union(*(allowed[rank] for rank in aggregators)) if aggregators else set()
        # The rule applies if the aggregators share too few cores although others are free.
        if len(aggregators) < 2 or not cores or len(cores) >= min(len(aggregators), len(machine)):
            continue
        inner = data(trace.posix.where((trace.posix.file == number) & np.isin(trace.posix.rank, aggregators)))
        if len(inner):
            yield found(
                trace,
                inner,
                f"the aggregators, ranks {', '.join(map(str, aggregators))}, may run on only {len(cores)} of "
                f"{len(machine)} cores ({as_ranges(cores)}), so that they take turns: `thalweg topology` plans a "
                "better placement",
                gain=1 - len(cores) / len(aggregators),
                where=f"rank in {aggregators}",
                aggregators=aggregators,
                cores=as_ranges(cores),
            )
