"""Rules about the ranks of a program: which rank moves what, which ranks wait, and on which cores they run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thalweg._base.processors import processors_of, processors_text
from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import (
    Finding,
    aggregators_of,
    by_file,
    call_places,
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
from thalweg._trace.calls import Calls, Integers, Mask
from thalweg._trace.spans import elapsed
from thalweg._trace.trace_file import Trace


def is_collective(calls: Calls) -> Mask:
    """Returns which calls of MPI-IO are collective."""
    return calls.name.matching(lambda name: "_all" in name or "_ordered" in name)


def one_rank_does_all(trace: Trace) -> Iterator[Finding]:
    ranks = ranks_in(trace)
    if ranks < 2:
        return
    for table in ("posix", "stdio"):
        yield from _one_rank_in(trace, table, ranks)


def _is_aggregated(trace: Trace, file: int, moves: Calls) -> bool:
    """Returns whether most of these bytes are moved inside collective calls, in which one rank moves them for all."""
    calls = data(calls_of(trace, file))
    together = calls.where(is_collective(calls))
    if len(np.unique(together.rank)) < 2:
        return False
    inside = moves.moved[outer_of(moves, together) >= 0]
    return float(inside.sum()) > 0.5 * moves.moved_bytes


def _largest_share(calls: Calls) -> float:
    """Returns the largest fraction of all bytes that one rank moves."""
    sums = np.bincount(calls.rank, calls.moved) if len(calls) else np.zeros(1)
    return float(sums.max() / max(1, sums.sum()))


def _one_rank_in(trace: Trace, table: str, ranks: int) -> Iterator[Finding]:
    everything = data(trace.on_disk(trace.levels[table]))
    everything = everything.where(everything.rank >= 0)
    # If each rank has a file of its own, one rank moves all of each.
    if _largest_share(everything) <= 0.9:
        return
    for number, mine in by_file(everything):
        total = mine.moved_bytes
        if total < LARGE or _is_aggregated(trace, number, mine):
            continue
        shares = {int(rank): int(mine.moved[mine.rank == rank].sum()) for rank in np.unique(mine.rank)}
        rank, most = max(shares.items(), key=lambda each: each[1])
        if most > 0.9 * total:
            yield found(
                trace,
                mine.where(mine.rank == rank),
                f"rank {rank} of {ranks} moves {as_bytes(most)} of {as_bytes(total)}: let all ranks read and write",
                gain=1 - 1 / ranks,
                table=table,
                where=f"rank == {rank}",
                rank=rank,
                bytes_by_rank=shares,
            )


def stragglers(trace: Trace) -> Iterator[Finding]:
    if ranks_in(trace) < 3:
        return
    calls = data(trace.on_disk(trace.posix))
    spent = {rank: seconds(calls.where(calls.rank == rank)) for rank in calls.ranks if rank >= 0}
    if len(spent) < 3:
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
    for number, calls in by_file(of_kind(trace.on_disk(trace.posix), "write")):
        if len(calls.processes) < 2:
            continue
        mine = calls.where((calls.offset >= 0) & (calls.moved > 0) & ~np.isin(calls.process, _lockers(trace, number)))
        writers = [(process, mine.of_process(process)) for process in mine.processes]
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


def _lockers(trace: Trace, file: int) -> Integers:
    """Returns the processes that lock ranges of the file, as data sieving does, so that writes wait for each other."""
    locks = of_kind(trace.posix.where(trace.posix.file == file), "lock")
    return np.unique(locks.process)


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
        # With a view, what a rank writes may lie in small pieces between those of others.
        has_view = (calls_of(trace, number).name == "MPI_File_set_view").any()
        if not len(together) or together.size.mean() < LARGE or ranks_in(trace) < 2 or has_view:
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


def calls_of(trace: Trace, file: int) -> Calls:
    """Returns the calls of MPI on a file."""
    return trace.levels["mpi"].where(trace.levels["mpi"].file == file)


def same_reads(trace: Trace) -> Iterator[Finding]:
    if ranks_in(trace) >= 2:
        for table in ("posix", "stdio"):
            yield from _same_reads_in(trace, table)


def _same_reads_in(trace: Trace, table: str) -> Iterator[Finding]:
    ranks = ranks_in(trace)
    for _, calls in by_file(trace.on_disk(trace.levels[table])):
        reads = []
        for process in np.unique(calls.process[calls.rank >= 0]):
            mine = calls.where(calls.process == process)
            at, is_read = call_places(mine), (mine.kind == "read") & (mine.moved > 0)
            if is_read.any():
                reads.append((mine.where(is_read), at[is_read]))
        of_each = sum(distinct(at, mine.moved) for mine, at in reads)
        if len(reads) < 2 or of_each < 2 * LARGE:
            continue
        of_all = distinct(np.concatenate([at for _, at in reads]), np.concatenate([mine.moved for mine, _ in reads]))
        if of_each >= 1.5 * of_all:
            about = calls.where((calls.kind == "read") & (calls.moved > 0) & (calls.rank >= 0))
            yield found(
                trace,
                about,
                f"{len(reads)} of {ranks} ranks read {as_bytes(of_each)}, but only {as_bytes(of_all)} of these are "
                "different: let one rank read and send it (MPI_Bcast), or read collectively",
                gain=1 - of_all / of_each,
                table=table,
                where="error == 0 and result > 0 and rank >= 0",
                read_bytes=of_each,
                distinct_bytes=of_all,
            )


def shared_pointer(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(data(trace.levels["mpi"])):
        shared = calls.where(calls.name.matching(lambda name: "_shared" in name or "_ordered" in name))
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
    cores = {core for each in _ranks(trace) for core in processors_of(str(each.get("cores", "")))}
    waits = of_kind(trace.levels["mpi"], "wait")
    waits = waits.where(waits.rank >= 0)
    if cores and ranks > len(cores) and len(waits):
        yield found(
            trace,
            waits,
            f"{ranks} ranks run on {len(cores)} cores ({processors_text(cores)}) and wait {seconds(waits):.3g} s for "
            "each other; a rank that waits by polling takes the core from the rank it waits for: start fewer ranks, or "
            "let waiting ranks yield (Open MPI: mpi_yield_when_idle)",
            gain=_time_of_others(waits, ranks, len(cores)) / max(elapsed(waits), 1e-9),
            how="the time that waiting ranks take from the others, if they poll",
            table="mpi",
            ranks=ranks,
            cores=len(cores),
        )


def _time_of_others(waits: Calls, ranks: int, cores: int) -> float:
    """Returns the time by which ranks would be done earlier if those that wait took no core from the others."""
    edges = np.concatenate([waits.start, waits.end])
    steps = np.repeat([1, -1], len(waits))
    order = np.argsort(edges, kind="stable")
    waiting = np.minimum(np.cumsum(steps[order])[:-1], ranks)
    # Each of the ranks has a part of a core; without those that wait, the others would have more.
    saved = np.where(waiting > 0, 1 - np.maximum(cores, ranks - waiting) / ranks, 0.0)
    return float((saved * np.diff(edges[order])).sum())


def mpi_files_opened_again(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(of_kind(trace.levels["mpi"], "open", "close", "metadata", "other")):
        opens = of_kind(calls, "open")
        opens = opens.where(opens.error == 0)
        times = int(np.bincount(opens.process).max(initial=0)) if len(opens) else 0
        if times >= 50:
            yield found(
                trace,
                calls,
                f"it is opened {times:,} times with MPI_File_open, and each time all ranks wait for each other: keep "
                "it open",
                gain=1 - 1 / times,
                table="mpi",
                opens=times,
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
    allowed = {int(str(each["rank"])): set(processors_of(str(each.get("cores", "")))) for each in _ranks(trace)}
    everything = set().union(*allowed.values()) if allowed else set()
    machine = {core for text in trace.report.get("caches", []) for core in processors_of(text)} or everything
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
                f"{len(machine)} cores ({processors_text(cores)}), so that they take turns: `thalweg topology` plans a "
                "better placement",
                gain=1 - len(cores) / len(aggregators),
                where=f"rank in {aggregators}",
                aggregators=aggregators,
                cores=processors_text(cores),
            )
