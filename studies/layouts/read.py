"""Reading one file, from the drive and from the page cache: whole tables and single columns, decoded into NumPy arrays.

The tables are read as they are. Joining them to events again is no part of it, in no layout.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from layouts import page_cache
from layouts.memory import pss_bytes
from layouts.products import SELECTIONS

import thalweg
from thalweg import _core, layouts
from thalweg._reading.stored_run import StoredRun

WARM_READS = 3
Columns = Mapping[str, list[str] | None]  # of each table; None: all


def read(path: Path, plan: layouts.Plan, raw_bytes: Mapping[str, int], threads: int) -> Iterator[dict[str, Any]]:
    """For each selection of columns what was measured cold, and what warm."""
    for selection, fields in SELECTIONS.items():
        columns: Columns = dict.fromkeys(plan.schema) if fields is None else dict(plan.where(fields))
        common = {"columns": selection, "raw_bytes": raw_bytes[selection], "file_bytes": os.path.getsize(path)}
        first = _read(path, columns, threads)  # not measured: the process has its memory and threads from then on
        cold = {"cache": "cold", "resident_share": page_cache.drop(path), **_read(path, columns, threads)}
        cold["memory_MiB"] = first["memory_MiB"]
        warm = [_read(path, columns, threads) for _ in range(WARM_READS)]
        middle = sorted(warm, key=lambda each: float(each["seconds"]))[WARM_READS // 2]
        for measured in (cold, {"cache": "warm", **middle}):
            yield {**common, **measured, "GB_per_s": raw_bytes[selection] / measured["seconds"] / 1e9}


def _read(path: Path, columns: Columns, threads: int) -> dict[str, Any]:
    """Opening is in the time, and that the system gives memory for the arrays."""
    before_bytes, begin = pss_bytes(), time.perf_counter()
    core = _core.Reader.open(str(path))
    run = StoredRun(core, thalweg.open)
    rows = [run[table].read(names, threads=threads) for table, names in columns.items()]
    seconds = time.perf_counter() - begin
    memory_bytes = pss_bytes() - before_bytes
    return {
        "seconds": seconds,
        "read_bytes": core.bytes_read(),
        "rows": max(each.row_count for each in rows),
        "memory_MiB": memory_bytes / 2**20,
    }
