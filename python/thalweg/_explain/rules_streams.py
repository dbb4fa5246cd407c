"""Rules about buffered streams of the C library."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg._base.quantities import as_bytes
from thalweg._explain.findings import Finding, by_file, data, found
from thalweg._explain.rules_files import BLOCK
from thalweg._trace.trace_file import Trace

ITEMS = ("fread", "fwrite", "fread_unlocked", "fwrite_unlocked")
SINGLE = ("fgetc", "getc", "fputc", "putc")


def flushed_again(trace: Trace) -> Iterator[Finding]:
    for _, calls in by_file(trace.on_disk(trace.levels["stdio"])):
        flushes, moves = calls.where(calls.name == "fflush"), data(calls)
        written = moves.where(moves.kind == "write").moved_bytes
        if len(flushes) >= 500 and written < len(flushes) * BLOCK:
            yield found(
                trace,
                flushes,
                f"there are {len(flushes):,} fflush for {as_bytes(written)}, each of which makes a system call, so "
                "that the buffer does not help: flush less often",
                gain=1 - (1 + written // BLOCK) / len(flushes),
                table="stdio",
                written_bytes=written,
            )


def single_items(trace: Trace) -> Iterator[Finding]:
    stdio = trace.levels["stdio"]
    for _, calls in by_file(trace.on_disk(stdio.where(stdio.name.isin(ITEMS)))):
        if len(calls) >= 100_000 and calls.mean_bytes < 64:
            yield found(
                trace,
                calls,
                f"{len(calls):,} fread and fwrite move only {as_bytes(calls.mean_bytes)} each: move whole arrays",
                gain=1 - (1 + calls.moved_bytes // (16 * BLOCK)) / len(calls),
                table="stdio",
            )


def single_bytes(trace: Trace) -> Iterator[Finding]:
    stdio = trace.levels["stdio"]
    for _, calls in by_file(trace.on_disk(stdio.where(stdio.name.isin(SINGLE)))):
        if len(calls) >= 50_000:
            yield found(
                trace,
                calls,
                f"{len(calls):,} calls move one byte each and take a lock each: use fread, fwrite or getline",
                gain=1.0,
                table="stdio",
            )
