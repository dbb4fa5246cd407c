"""Writing one file: the clock runs from before it is created until it is closed, synced and complete."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from layouts.children import Child
from layouts.generate import Data
from layouts.products import MODEL
from layouts.settings import Case, Settings

from thalweg import layouts
from thalweg._writing.attached import Attached, attach
from thalweg._writing.create import create
from thalweg._writing.writer import Writer

Work = Callable[[Writer | Attached], None]


def plan_of(name: str, settings: Settings) -> layouts.Plan:
    return layouts.plan(MODEL, replace(layouts.Layout.parse(name), spill_events=settings.spill_events))


def create_file(path: Path, plan: layouts.Plan, settings: Settings) -> Writer:
    return create(path, plan.schema, force=True, codec=settings.codec or None, metadata=plan.metadata())


def write(path: Path, case: Case, data: Data, settings: Settings) -> dict[str, Any]:
    """All batches lie in memory before; each producer appends a stretch of them, one after the other."""
    plan = plan_of(case.layout, settings)
    stretches = np.array_split(np.arange(len(data.batches)), case.producers)
    works: list[Work] = [partial(_append, plan, data, stretch.tolist()) for stretch in stretches if stretch.size]
    producers = (_Threads if case.mode == "threads" else _Processes)(works)
    cpu_before_s, begin = _cpu_s(), time.perf_counter()
    out = create_file(path, plan, settings)
    try:
        producers.run(out)
        report = out.close()
    finally:
        out.abandon()
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "cpu_s": _cpu_s() - cpu_before_s,
        "arrange_s": arrange(plan, data),
        "raw_bytes": data.raw_bytes["everything"],
        "GB_per_s": data.raw_bytes["everything"] / seconds / 1e9,
        "rows": report.rows,
        "rows_per_s": report.rows / seconds,
        "file_bytes": path.stat().st_size,
    }


def arrange(plan: layouts.Plan, data: Data) -> float:
    """Seconds that events take on their way to the rows of a layout. `write` has them, too: this is their share."""
    begin = time.perf_counter()
    for batch, first_event in zip(data.batches, data.first_events, strict=True):
        plan.scatter(batch, first_event)
    return time.perf_counter() - begin


def _append(plan: layouts.Plan, data: Data, numbers: list[int], out: Writer | Attached) -> None:
    with plan.writer(out) as writer:
        for number in numbers:
            writer.append(data.batches[number], data.first_events[number])


class _Threads:
    def __init__(self, works: list[Work]) -> None:
        self._works = works

    def run(self, out: Writer) -> None:
        failures: list[Exception] = []

        def guarded(work: Work) -> None:
            try:
                work(out)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(work,)) for work in self._works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]


class _Processes:
    """They are there before the clock starts, and attach when it runs."""

    def __init__(self, works: list[Work]) -> None:
        self._children = [Child(partial(_attach_and, work)) for work in works]
        for child in self._children:
            child.connection.recv()

    def run(self, out: Writer) -> None:
        for child in self._children:
            child.connection.send(out.handle)
        for child in self._children:
            child.result()


def _attach_and(work: Work, connection: Connection) -> None:
    connection.send("ready")
    with attach(connection.recv()) as out:
        work(out)


def _cpu_s() -> float:
    """Returns the CPU time of this process, and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
