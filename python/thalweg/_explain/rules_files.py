"""Rules about reads, writes and syncs of ordinary files at the level of system calls."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import (
    Finding,
    by_file,
    call_places,
    data,
    distinct,
    found,
    gathered_by_file,
    gathered_in_order,
    of_kind,
    seconds,
    steps,
)
from thalweg._trace.calls import Calls, Integers
from thalweg._trace.trace_file import Trace

MANY = 1000
BLOCK = 4096
LARGE = 1 << 20
READ_AHEAD = 128 << 10
"""What Linux reads ahead by default."""
O_DIRECT, O_DSYNC = 0o40000, 0o10000


def pid(trace: Trace, process: int) -> int:
    return int(trace.processes[process]["pid"])


def by_process(calls: Calls) -> Iterator[tuple[int, Calls]]:
    for process in calls.processes:
        yield process, calls.of_process(process)


def small_requests(trace: Trace) -> Iterator[Finding]:
    for _, all_of_them in by_file(trace.on_disk(trace.posix)):
        calls = data(all_of_them)
        if len(calls) >= MANY and calls.mean_bytes < BLOCK:
            yield found(
                trace,
                calls,
                f"{len(calls):,} reads and writes move only {as_bytes(calls.mean_bytes)} each: combine them, or use a "
                "buffer",
                gain=gathered_in_order(all_of_them),
            )


def unaligned(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(of_kind(trace.on_disk(trace.posix), "write")):
        large = calls.where((calls.offset >= 0) & (calls.size >= BLOCK))
        if len(large) < 100:
            continue
        is_inside = large.offset % BLOCK != 0
        inside = large.where(is_inside)
        touched = filled = 0
        for part in inside.in_blocks():
            touched += int((-(-(part.offset % BLOCK + part.size) // BLOCK)).sum())
            filled += int((-(-part.size // BLOCK)).sum())
        more = 1 - filled / touched if touched else 0.0
        # A block more for each large write costs nothing that can be measured.
        if is_inside.mean() > 0.5 and more >= 0.1:
            yield found(
                trace,
                inside,
                f"{100 * is_inside.mean():.0f} % of {len(large):,} writes of {BLOCK} bytes or more begin inside a "
                f"block, so that they touch {100 * more:.0f} % more blocks than they fill: write at multiples of the "
                "block size",
                gain=more,
                how="the blocks that are touched, but not needed",
                where=f"offset >= 0 and size >= {BLOCK}",
                share=float(is_inside.mean()),
            )


def redundant_reads(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.posix)):
        for process, mine in by_process(calls):
            reads, at = _reads(mine)
            total = reads.moved_bytes
            needed = distinct(at, reads.moved) if total >= LARGE else 0
            if total >= LARGE and total >= 2 * needed:
                yield found(
                    trace,
                    reads,
                    f"process {pid(trace, process)} reads {as_bytes(total)}, but only {as_bytes(needed)} of these are "
                    "different: keep in memory what was read",
                    gain=1 - needed / total,
                    where="error == 0 and result > 0",
                    read_bytes=total,
                    distinct_bytes=needed,
                )


def _reads(calls: Calls) -> tuple[Calls, Integers]:
    """Returns the reads of one process and file that moved data, and where they begin in the file."""
    is_read = calls.kind == "read"
    if not is_read.any():
        return calls.where(is_read), np.zeros(0, np.int64)
    is_read &= calls.moved > 0
    return calls.where(is_read), call_places(calls)[is_read]


def random_reads(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.posix)):
        for process, mine in by_process(calls):
            reads, at = _reads(mine)
            if len(reads) < MANY or reads.mean_bytes >= 16 * BLOCK:
                continue
            jumps = steps(at, reads.moved)
            # A jump goes backwards, or farther ahead than what the system reads ahead.
            share = float(((jumps < 0) | (jumps > READ_AHEAD)).mean())
            if share > 0.5:
                yield found(
                    trace,
                    reads,
                    f"{100 * share:.0f} % of {len(reads):,} reads by process {pid(trace, process)}, of "
                    f"{as_bytes(reads.mean_bytes)} on average, do not begin where the read before them ended, so "
                    "that reading ahead does not help: sort them, or read larger parts",
                    gain=gathered_by_file(reads),
                    where="error == 0 and result > 0",
                    share=share,
                )


def metadata_storm(trace: Trace) -> Iterator[Finding]:
    for process, mine in by_process(trace.not_loading(trace.posix.where(trace.posix.depth == 0))):
        names, moves = of_kind(mine, "open", "close", "metadata"), data(mine)
        if len(names) >= 2 * MANY and len(names) > 5 * len(moves):
            yield found(
                trace,
                names,
                f"process {pid(trace, process)} makes {len(names):,} calls that open, close, query or change files, "
                f"but only {len(moves):,} that move data: use fewer files, or query less often",
                gain=1 - len(moves) / len(names),
                where="depth == 0",
                data_calls=len(moves),
            )


def failed_calls(trace: Trace) -> Iterator[Finding]:
    for process, mine in by_process(trace.not_loading(of_kind(trace.posix, "open", "metadata"))):
        failed = mine.where(mine.error != 0)
        if len(failed) >= MANY and len(failed) > len(mine) / 2:
            yield found(
                trace,
                failed,
                f"{len(failed):,} of {len(mine):,} calls with which process {pid(trace, process)} opens or queries "
                "files fail: shorten the search path, or remember where the files are",
                gain=1.0,
                where="error != 0",
            )


def seeks(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.posix)):
        moves, steps = data(calls), of_kind(calls, "seek")
        if len(steps) >= MANY // 2 and len(steps) > 0.4 * len(moves):
            yield found(
                trace,
                steps,
                f"there are {len(steps):,} seeks for {len(moves):,} reads and writes: use pread and pwrite, which need "
                "none",
                gain=1.0,
                data_calls=len(moves),
            )


def no_sync(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.posix)):
        writes = of_kind(calls, "write")
        written, was_synced = writes.moved_bytes, len(of_kind(calls, "sync")) or _opened_for_sync(calls)
        if written >= LARGE and not was_synced and not _opened_directly(calls):
            yield found(
                trace,
                writes,
                f"{as_bytes(written)} were written and never synced: the measured times are those of the page cache, "
                "and a power cut may lose the data; call fsync",
            )


def _opened_directly(calls: Calls) -> bool:
    return bool((of_kind(calls, "open").extra & O_DIRECT != 0).any())


def written_synchronously(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.posix)):
        writes = of_kind(calls, "write")
        if len(writes) >= 100 and writes.mean_bytes < LARGE and _opened_for_sync(calls):
            yield found(
                trace,
                writes,
                f"it is opened with O_SYNC or O_DSYNC, so that each of {len(writes):,} writes of "
                f"{as_bytes(writes.mean_bytes)} waits for the device: write more at once, or call fsync at the end",
                gain=1 - (1 + writes.moved_bytes // LARGE) / len(writes),
            )


def many_small_files(trace: Trace) -> Iterator[Finding]:
    for table in ("posix", "stdio"):
        yield from _many_small_files_in(trace, table)


def _many_small_files_in(trace: Trace, table: str) -> Iterator[Finding]:
    for process, mine in by_process(trace.on_disk(trace.levels[table])):
        opens = of_kind(mine, "open")
        opens = opens.where(opens.error == 0)
        files = opens.files
        moves = data(mine)
        moved = moves.where(np.isin(moves.file, files)).moved_bytes if len(files) >= MANY else 0
        if len(files) >= MANY and moved < len(files) * 16 * BLOCK:
            around = of_kind(mine, "open", "close", "metadata")
            yield found(
                trace,
                around,
                f"process {pid(trace, process)} opens {len(files):,} different files, and moves {as_bytes(moved)} in "
                "all: keep what belongs together in one file",
                gain=1 - max(1, -(-moved // LARGE)) / len(files),
                pauses=True,
                how="these calls, and the short pauses between them",
                table=table,
                files=len(files),
                moved_bytes=moved,
            )


def page_faults(trace: Trace) -> Iterator[Finding]:
    major = int(trace.report.get("faults", {}).get("major", 0))
    maps = of_kind(trace.on_disk(trace.posix), "map")
    maps = maps.where((maps.error == 0) & (maps.size >= LARGE))
    if major >= 500 and len(maps):
        yield found(
            trace,
            maps,
            f"files of {as_bytes(int(maps.size.sum()))} are mapped, and the program waited {major:,} times for a page "
            "from the disk; which page that was is not recorded: read larger parts, or advise the system (madvise)",
            elsewhere=major * FAULT_S,
            how="0.1 ms for each page",
            where=f"error == 0 and size >= {LARGE}",
            faults=major,
        )


FAULT_S = 1e-4


def _opened_for_sync(calls: Calls) -> bool:
    return bool((of_kind(calls, "open").extra & O_DSYNC).any())  # O_SYNC includes this bit


def sync_storm(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.posix)):
        syncs, written = of_kind(calls, "sync"), of_kind(calls, "write").moved_bytes
        if len(syncs) >= 100 and written < len(syncs) * LARGE:
            yield found(
                trace,
                syncs,
                f"there are {len(syncs):,} syncs for {as_bytes(written)}, one for every "
                f"{as_bytes(written / len(syncs))}: sync less often",
                gain=1 - (1 + written // LARGE) / len(syncs),
                written_bytes=written,
            )


def opened_again(trace: Trace) -> Iterator[Finding]:
    for table in ("posix", "stdio"):
        for _, calls in by_file(of_kind(trace.on_disk(trace.levels[table]), "open")):
            for process, all_of_it in by_process(calls):
                mine = all_of_it.where(all_of_it.error == 0)
                if len(mine) >= 50:
                    yield found(
                        trace,
                        mine,
                        f"process {pid(trace, process)} opens it {len(mine):,} times: keep it open",
                        gain=1 - 1 / len(mine),
                        table=table,
                        where="error == 0",
                    )


def truncation(trace: Trace) -> Iterator[Finding]:
    for table in ("posix", "stdio"):
        opens = of_kind(trace.levels[table], "open")
        for _, mine in by_file(opens.where((opens.size >= LARGE) & (opens.error == 0))):
            yield found(
                trace,
                mine,
                f"opening it discarded {as_bytes(int(mine.size.sum()))}; freeing them took {seconds(mine):.3g} s, and "
                "they are lost if the program fails afterwards: write another file and rename it",
                gain=1.0,
                table=table,
                where=f"size >= {LARGE} and error == 0",
                thrown_away_bytes=int(mine.size.sum()),
            )


def read_modify_write(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(data(trace.on_disk(trace.posix))):
        ordered = calls.where(np.argsort(calls.thread, kind="stable"))
        thread, offset, size = ordered.thread, ordered.offset, ordered.size
        pair = (ordered.kind == "read")[:-1] & (ordered.kind == "write")[1:]
        pair &= (thread[:-1] == thread[1:]) & (offset[:-1] >= 0)
        pair &= (offset[:-1] == offset[1:]) & (size[:-1] == size[1:])
        writes = int((ordered.kind == "write").sum())
        if pair.sum() >= 20 and pair.sum() > writes / 2:
            yield found(
                trace,
                ordered.where(np.r_[pair, False]),
                f"{int(pair.sum()):,} of {writes:,} writes write back a range that was read just before: this comes "
                "from data sieving of MPI-IO (romio_ds_write), or from chunks that are written in parts",
                gain=1.0,
                writes=writes,
            )


def direct_and_small(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.posix)):
        moves = data(calls)
        if len(moves) < 100 or moves.mean_bytes >= 16 * BLOCK or not _opened_directly(calls):
            continue
        # What is written asynchronously is no call.
        if not np.isin(calls.process, _asynchronous_processes(trace)).any():
            yield found(
                trace,
                moves,
                f"it is opened with O_DIRECT, but {len(moves):,} reads and writes move only "
                f"{as_bytes(moves.mean_bytes)} each and wait for the device, since no cache combines them: move "
                "1 MiB or more in each call",
                gain=gathered_by_file(moves),
            )


def _asynchronous_processes(trace: Trace) -> Integers:
    """Returns the processes whose data move without calls."""
    submits = trace.posix.where(trace.posix.name.matching(lambda name: name.startswith(("io_uring", "io_submit"))))
    maps = trace.posix.where(trace.posix.kind == "map")
    rings = [number for number, path in enumerate(trace.files) if "[io_uring]" in path]
    of_rings = maps.process[np.isin(maps.file, rings)] if rings else maps.process[:0]
    return np.unique(np.r_[submits.process, of_rings, trace.in_flight.process])


def thrown_away(trace: Trace) -> Iterator[Finding]:
    removed = trace.posix.where(trace.posix.name.isin(("unlink", "unlinkat", "remove")) & (trace.posix.error == 0))
    gone = {trace.files[number] for number in removed.files}
    for number, calls in by_file(trace.on_disk(trace.posix)):
        if trace.files[number] not in gone:
            continue
        writes = of_kind(calls, "write")
        is_used = len(calls.where(calls.kind.isin(("read", "map", "transfer")) & (calls.error == 0)))
        if not is_used and writes.moved_bytes >= LARGE:
            yield found(
                trace,
                writes,
                f"{as_bytes(writes.moved_bytes)} were written, but the file was removed before a traced process "
                "read it: do not write it, or keep it in memory",
                gain=1.0,
            )


def waiting_for_locks(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(of_kind(trace.posix, "lock")):
        waits = calls.where(calls.name.isin(("flock", "lockf", "lockf64")) | np.isin(calls.extra, _SET_LOCKS))
        threads = len(waits.threads)
        if len(waits) >= 10 and threads >= 2 and seconds(waits) >= 0.05:
            yield found(
                trace,
                waits,
                f"{threads} threads and processes wait {seconds(waits):.3g} s in {len(waits):,} calls for its lock, so "
                "that they work one after the other: hold the lock for a shorter time, or lock parts of the file",
                gain=1 - 1 / threads,
                where="" if waits.name.isin(("flock", "lockf", "lockf64")).all() else f"extra in {[*_SET_LOCKS]}",
                threads=threads,
            )


_SET_LOCKS = (6, 7, 37, 38)  # F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
