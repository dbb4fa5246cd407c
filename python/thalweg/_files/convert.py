"""From one container to another: values, types, units, descriptions and metadata."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._base.paths import Path
from thalweg._files.open import open  # noqa: A004
from thalweg._reading.run import Run
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import Value, with_codec
from thalweg._schema.types import Type
from thalweg._writing.create import create
from thalweg._writing.reports import RunReport
from thalweg._writing.writer import Writer

_BATCH_BYTES = 16 << 20
_KEPT_BYTES = 64 << 20
_OF_FILES_THAT_CONTINUE = {"next_file", "next_file_id", "previous_file", "previous_file_id"}
"""Metadata that are true of the source alone: the new file continues none."""


def convert(
    source: Path,
    target: Path,
    *,
    codec: str | None = None,
    force: bool = False,
    threads: int = 0,
    tuning: Mapping[str, Value] | None = None,
    progress: Callable[[float], None] | None = None,
    external: Path | Iterable[Path] = (),
) -> RunReport:
    """Writes what is in `source` to a new file; the ending of `target` says in which container.

    Rows keep their order. Of a run that is still being written, the rows that are in pages by now are taken. Tables
    are copied side by side, in batches: memory is bounded, whatever the size of the file.

    codec: as `create` takes it; None: the default of the container.
    force: replace a file that is there already.
    threads: that copy and compress; 0: as many as there are usable cores.
    tuning: as `create` takes it.
    progress: is told now and then, from any thread, which share is done.
    external: folders for the source, as `open` takes them.

    Raises UsageError where there is no source, something is at the target already, or its container cannot hold a
    name or type; DataError naming table, column and offset where the source is damaged. There is no target then.
    What cannot be read of a source of another program is left out, and listed in `problems` of the report; so are
    arrays of no values, which can be read, and not written.
    """
    run = open(source, external=external)
    schema = run.schema.without_zero_width()
    why = "its rows have no values, and no container of ours holds such"
    problems = (*run.problems, *(LeftOut(f"/{table}/{path}", why) for table, path in run.schema.zero_width()))
    if not schema and problems:
        raise UsageError(f"{run.path} has nothing that can be written ({problems[-1]})")
    if os.path.exists(target) and os.path.samefile(source, target):
        raise UsageError(f"{os.fspath(target)} cannot be converted into itself; give the result another name")
    usable = threads or len(os.sched_getaffinity(0))
    copiers = max(1, min(usable, len(schema)))  # one a table, because a producer keeps the order of its rows
    out = create(
        target,
        schema,
        force=force,
        metadata={key: run.metadata[key] for key in run.metadata.keys() - _OF_FILES_THAT_CONTINUE},
        tuning={"threads": usable // copiers if usable > copiers else 0, **with_codec(tuning, codec)},
    )
    try:
        _Copy(run, schema, out, progress).all_tables(copiers, max(1, usable // copiers))
        return replace(out.close(), problems=problems)
    except BaseException:
        out.abandon()
        _remove(target)
        raise


def _remove(target: Path) -> None:
    with suppress(Error):  # what went wrong before is what the caller has to hear
        _core.remove_run(os.path.abspath(target))


class _Copy:
    def __init__(self, run: Run, schema: Schema, out: Writer, progress: Callable[[float], None] | None) -> None:
        self._run = run
        self._schema = schema
        self._out = out
        self._progress = progress
        self._raw_bytes = {name: _raw_bytes(run, name) for name in schema}
        self._lock = threading.Lock()
        self._done_bytes = 0.0
        self._stopped = threading.Event()

    def all_tables(self, copiers: int, threads_each: int) -> None:
        largest_first = sorted(self._raw_bytes, key=lambda name: -self._raw_bytes[name])
        from concurrent.futures import ThreadPoolExecutor  # which takes long to import

        with ThreadPoolExecutor(copiers) as pool:
            copies = [pool.submit(self._table, name, threads_each) for name in largest_first]
            try:
                for copy in copies:
                    copy.result()
            except BaseException:
                self._stopped.set()
                raise

    def _table(self, name: str, threads: int) -> None:
        if self._stopped.is_set():
            return
        table = self._run[name]
        with self._out.producer(name) as producer:
            # What is decoded with the rows of a batch, in wide pages of others, is kept for the next one.
            size, columns = self._batch_rows(name), list(_leaves(self._schema[name].row))
            for rows in table.batches(columns, rows=size, memory_bytes=_KEPT_BYTES, threads=threads):
                producer.append(rows)
                self._is_done(self._raw_bytes[name] * rows.row_count / len(table))
                if self._stopped.is_set():
                    return

    def _batch_rows(self, name: str) -> int:
        """Of about so many bytes, and of whole pages where that is possible: then nothing has to be kept."""
        rows = len(self._run[name])
        size = max(1, int(_BATCH_BYTES / max(1.0, self._raw_bytes[name] / max(1, rows))))
        pages = [page_items for _, page_items in self._run[name].storage()]
        return size - size % max((items for items in pages if 0 < items <= size), default=1)

    def _is_done(self, size_bytes: float) -> None:
        with self._lock:
            self._done_bytes += size_bytes
            share = self._done_bytes / max(1, sum(self._raw_bytes.values()))
        if self._progress:
            self._progress(share)


def _leaves(type_: Type, path: str = "") -> Iterator[str]:
    if type_.name != "struct":
        yield path
    for name, member in type_.members:
        yield from _leaves(member, f"{path}/{name}" if path else name)


def _raw_bytes(run: Run, table: str) -> int:
    return sum(raw_bytes for raw_bytes, _ in run[table].storage())
