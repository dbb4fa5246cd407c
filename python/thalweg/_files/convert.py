"""Copies a file to another container: values, types, units, descriptions and metadata."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from thalweg import _core
from thalweg._base.errors import APPEND_AGAIN, Error, SystemError, UsageError  # noqa: A004
from thalweg._base.given import MOST_THREADS, integer_of, path_of
from thalweg._base.paths import Path, is_file, is_folder, is_there
from thalweg._files.open import open  # noqa: A004
from thalweg._files.root_names import names_for_root, original_names, renamed
from thalweg._reading.not_complete import not_complete
from thalweg._reading.run import Run
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import Value, with_codec
from thalweg._writing.create import create
from thalweg._writing.reports import RunReport
from thalweg._writing.writer import Writer

_BATCH_BYTES = 16 << 20
_KEPT_BYTES = 64 << 20
_LONGEST_NAME = 220  # leaves room for ".journal.12" and the like, and for what is put before it
_OF_FILES_THAT_CONTINUE = {"next_file", "next_file_id", "previous_file", "previous_file_id"}
"""Metadata that apply to the source only: the new file continues no other file."""


def convert(
    source: Path | Iterable[Path],
    target: Path,
    *,
    codec: str | None = None,
    force: bool = False,
    threads: int = 0,
    tuning: Mapping[str, Value] | None = None,
    progress: Callable[[float], None] | None = None,
    external: Path | Iterable[Path] = (),
    next_files: bool = False,
) -> RunReport:
    """Copies `source` to a new file: HDF5 or RNTuple, as the ending of `target` says.

    A pattern or a list gives the files of one run, as in `open`; `target` has the rows of all.

    Rows keep their order. From a run that was not closed, the rows that can be seen now are copied, and `notes` of the
    report says that others may be missing. Tables are copied in parallel and in batches, so that memory is bounded for
    files of any size.

    In a .root file, names that an RNTuple cannot have, such as those with dots and spaces, are replaced. The attribute
    "thalweg_name" of the table or column keeps the name, a conversion to HDF5 restores it, and `notes` of the report
    lists the names.

    codec: the compression of `target`, as in `create`. The default is that of the container.
    force: replace `target` if it exists. It stays as it is until the new file is complete, which is written beside it.
    threads: the number of threads that copy and compress; 0: one for each usable core.
    tuning: knobs, as in `create`.
    progress: a function that is called now and then, from any thread, with the fraction that is done.
    external, next_files: as in `open`.

    Objects of other programs that cannot be read, and arrays without values, which no container can store, are left
    out; `problems` of the report lists them. Raises UsageError if there is no source, if `target` exists, or if its
    container cannot store a name or type; DataError if the source is damaged, and names table, column and offset. There
    is no `target` then.
    """
    target, threads = path_of(target), integer_of(threads, "threads", most=MOST_THREADS)
    run = open(source, external=external, next_files=next_files)
    return copied_run(run, target, codec=codec, force=force, threads=threads, tuning=tuning, progress=progress)


def copied_run(
    run: Run,
    target: str,
    *,
    codec: str | None,
    force: bool,
    threads: int = 0,
    tuning: Mapping[str, Value] | None = None,
    progress: Callable[[float], None] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> RunReport:
    """Copies a run to a new file, with its metadata or other ones."""
    schema = run.schema.without_zero_width()
    no_values = "its rows have no values, which no container can store"
    problems = (*run.problems, *(LeftOut(f"/{table}/{path}", no_values) for table, path in run.schema.zero_width()))
    if not schema:
        why = problems[-1] if problems else "it has no table"
        raise UsageError(f"{run.path} has nothing that can be copied ({why})")
    sources = tuple(part.path for part in run.parts)
    if is_file(target) and any(is_file(path) and os.path.samefile(path, target) for path in sources):
        raise UsageError(f"{target} cannot be converted into itself: give the new file another name")
    texts = run.metadata if metadata is None else metadata
    usable = threads or len(os.sched_getaffinity(0))
    copiers = max(1, min(usable, len(schema)))  # at most one for each table, since one producer keeps the row order
    written, note = names_for_root(schema) if target.endswith(".root") else (original_names(schema), "")
    place = _Place(target, force)
    out = create(
        place.path,
        written,
        force=force,
        metadata={key: texts[key] for key in texts.keys() - _OF_FILES_THAT_CONTINUE},
        tuning={"threads": usable // copiers if usable > copiers else 0, **with_codec(tuning, codec)},
    )
    try:
        _Copy(run, schema, written, out, progress).all_tables(copiers, max(1, usable // copiers))
        report = out.close()
        place.publish()
        notes = [*report.notes, *([note] if note else []), *filter(None, [not_complete(run)])]
        return replace(report, path=target, problems=problems, notes=tuple(notes), sources=sources)
    except BaseException as error:
        out.abandon()
        place.remove()
        if isinstance(error, SystemError) and APPEND_AGAIN in str(error):
            why = f"{os.strerror(error.errno or 0)}, and nothing is left of it"
            how = str(error).partition(APPEND_AGAIN)[0].rpartition("): ")[2]
            raise SystemError(
                error.errno or 0, f"{target} was not written ({why}): {how}, or give a name on another one"
            ) from error
        raise


class _Place:
    """The place of the new file: under its name, or, if it replaces a file, under a hidden name beside that."""

    def __init__(self, target: str, force: bool) -> None:
        """Raises UsageError if what is there cannot be replaced."""
        self._target = self.path = target
        if force and is_there(target):
            if is_folder(target) or self._is_run():
                _core.SetAside(os.path.abspath(target)).restore()  # this raises the error
            folder, name = os.path.split(target)
            # The same name each time, so that nothing stays of conversions that were killed.
            self.path = os.path.join(folder, f".converting-{name[-_LONGEST_NAME:]}")

    def _is_run(self) -> bool:
        """Returns whether an unfinished run is there."""
        return any(is_there(f"{self._target}{each}") for each in (".journal", ".parts"))

    def publish(self) -> None:
        """Gives the complete file its name, durably."""
        if self.path == self._target:
            return
        aside = _core.SetAside(os.path.abspath(self._target)) if self._is_run() else None
        os.replace(self.path, self._target)
        if aside is not None:
            aside.discard()
        folder = os.open(os.path.dirname(self._target) or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def remove(self) -> None:
        with suppress(Error):  # the caller must see the error that came before
            _core.remove_run(os.path.abspath(self.path))


class _Copy:
    def __init__(
        self, run: Run, schema: Schema, written: Schema, out: Writer, progress: Callable[[float], None] | None
    ) -> None:
        """`written` is the schema of `out`: the same tables and columns, perhaps with other names."""
        self._run = run
        self._schema = schema
        self._written = dict(zip(schema, written.tables, strict=True))
        self._out = out
        self._progress = progress
        self._raw_bytes = {name: _raw_bytes(run, name) for name in schema}
        self._lock = threading.Lock()
        self._done_bytes = 0.0
        self._stopped = threading.Event()

    def all_tables(self, copiers: int, threads_each: int) -> None:
        largest_first = sorted(self._raw_bytes, key=lambda name: -self._raw_bytes[name])
        from concurrent.futures import ThreadPoolExecutor  # importing it takes long

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
        table, written = self._run[name], self._written[name]
        old, new = self._schema[name].row, written.row
        with self._out.producer(written.name) as producer:
            # Values that are decoded together with those of a batch, in wide pages, are kept for the next one.
            size, columns = self._batch_rows(name), list(self._schema[name].row.leaves())
            for rows in table.batches(columns, rows=size, memory_bytes=_KEPT_BYTES, threads=threads):
                producer.append(rows if old == new else renamed(rows, old, new))
                self._is_done(self._raw_bytes[name] * rows.row_count / len(table))
                if self._stopped.is_set():
                    return

    def _batch_rows(self, name: str) -> int:
        """Returns the number of rows of a batch: about _BATCH_BYTES, in whole pages if possible."""
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


def _raw_bytes(run: Run, table: str) -> int:
    return sum(raw_bytes for raw_bytes, _ in run[table].storage())
