"""The work of a worker: it finds the fields of the outputs, computes ranges, and commits them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thalweg._append.columns import columns_of
from thalweg._base.errors import UsageError
from thalweg._derive.compute import Derived, RowSource, derived
from thalweg._derive.derivation import Derivation
from thalweg._derive.function_identity import Identity
from thalweg._derive.inputs import Inputs
from thalweg._derive.kept import Kept, kept_columns
from thalweg._derive.large_summaries import LARGE_BYTES, PART, TABLE, append_large, in_unit
from thalweg._derive.lazy import LazyForm, LazyRows
from thalweg._derive.opened import FewOpenInputs
from thalweg._derive.ranges import Range
from thalweg._derive.seeds import Seeds, SeedState
from thalweg._derive.summaries import MOST_BYTES, Summary, can_grow
from thalweg._derive.types import UnknownTypeError, type_of_values
from thalweg._derive.unit import EventLoop, EventRange, OutputRows, looped
from thalweg._schema.schema import TableSchema
from thalweg._schema.types import Type, as_type
from thalweg._writing.attached import Attached, attach
from thalweg._writing.work_unit import UnitOfGroup, UnitTable, WorkGroup, WorkUnit

_SAMPLE_ROWS = 1000
_MOST_SAMPLES = 8


@dataclass(frozen=True)
class Job:
    """The settings of a job that all workers have."""

    inputs: Inputs
    train: tuple[Derivation, ...]
    kept: tuple[tuple[str, ...], ...]
    """The columns that each derivation keeps."""
    tables: tuple[str, ...]
    """The table of each output."""
    carried: tuple[TableSchema, ...] = ()
    """The other tables of the input that all outputs have."""
    loop: EventLoop | None = None
    """The event loop, if rows come from one and not from functions."""
    identities: tuple[Identity, ...] = ()
    """What identifies the functions of each derivation, as they are before they are called."""
    state: SeedState = (0, 0)
    """The state of the random generators of the process when the job began."""


@dataclass(frozen=True)
class Task:
    """Ranges that are committed together, and the outputs that lack them."""

    number: int
    """The number of the work unit, or of the group."""
    ranges: tuple[Range, ...]
    outputs: tuple[int, ...]
    in_order: bool


@dataclass(frozen=True)
class Looped:
    """The rows that a loop has made from a range, for one output."""

    rows: OutputRows
    summary: Summary


Made = Derived | Looped
Announce = Callable[[tuple[Any, ...]], None]
"""Called with ("trying",) before functions are tried on events, and with ("began", range) and ("committing", output,
range, summary) before each step of the work. So the process of the job knows what happened if this worker hangs or
dies."""


class WorkerSession:
    """The state of one thread of a worker. It opens each file and each output once.

    is_process: the worker is a process of its own, so that no other thread uses its random generators.
    """

    def __init__(self, job: Job, is_process: bool) -> None:
        self._job = job
        functions = (function for each in job.train for function in each.functions(job.loop))
        self._seeds = Seeds(functions, job.state) if is_process else None
        self._inputs = FewOpenInputs(job.inputs.files, job.inputs.opened, self._close)
        self._attached: dict[int, Attached] = {}
        self._kept: dict[tuple[int, int], Kept | None] = {}  # by output and file
        self._computed: dict[int, TableSchema] = {}  # the schema of each output without the columns that it keeps
        self._tried: dict[int, Summary] = {}  # the summary of the events on which functions were tried, by output
        self._first_sums: dict[int, bytes] = {}  # the summary of the first events, by output
        self._counted = self._copied_before = (0, 0)  # pages and bytes; the latter of files that are closed
        self.used: set[str] = set()

    @cached_property
    def _form(self) -> LazyForm:
        return LazyForm(self._job.inputs.fields)

    def describe(self, ranges: Sequence[Range], announce: Announce) -> list[tuple[tuple[str, Type], ...]]:
        """Returns the fields of each output, found from the first events. Raises what the functions raise."""
        found = []
        for index in range(len(self._job.train)):
            fields = self._fields_of(index, ranges, announce)
            announce(("trying",))
            found.append((*fields, (TABLE, PART)) if self._needs_table(index, ranges) else fields)
        return found

    def _needs_table(self, index: int, ranges: Sequence[Range]) -> bool:
        """Returns whether summaries of ranges may need a table: that of the first events is large, or can grow."""
        if self._job.train[index].summary is None or not ranges:
            return False
        if index not in self._tried:  # no function was called
            self._tried[index] = self._first_summary(index, self._samples(ranges))
        tried = self._tried[index]  # without values: nothing is known, since all failed that was tried
        return not tried.values or any(map(can_grow, tried.values.values())) or len(tried.plain()) > LARGE_BYTES

    def open(self, handles: Sequence[str | None]) -> None:
        """Attaches to the outputs; the handle of a complete output is None."""
        self._kept, self._computed, self._counted, self._copied_before = {}, {}, (0, 0), (0, 0)
        self._attached = {out: attach(handle) for out, handle in enumerate(handles) if handle is not None}

    def do(self, task: Task, announce: Announce) -> list[float]:
        """Does the ranges of a task and commits them. Returns the time of each range in seconds."""
        with ExitStack() as stack:
            groups: dict[int, WorkGroup] = {}
            units: list[WorkUnit] = []
            if task.in_order:
                groups = {out: stack.enter_context(self._attached[out].work_group(task.number)) for out in task.outputs}
            times, summaries = [], []
            for each in task.ranges:
                announce(("began", each.number))
                begin = time.monotonic()
                for out, result in self._results(each, task.outputs):
                    text = self._encoded(out, each, result.summary)
                    summary = in_unit(text)
                    if task.in_order:
                        with groups[out].work_unit(each.number, summary) as part:
                            self._append(part, out, each.file, result)
                            append_large(part, text)
                    else:
                        units.append(stack.enter_context(self._attached[out].work_unit(each.number, summary)))
                        self._append(units[-1], out, each.file, result)
                        append_large(units[-1], text)
                    summaries.append(("committing", out, each.number, text))
                times.append(time.monotonic() - begin)
            for message in summaries:
                announce(message)
            wholes: list[WorkUnit | WorkGroup] = [*units, *groups.values()]
            for whole in wholes:
                whole.commit()
        return times

    def committed(self, commits: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Returns which of these pairs of output and range are committed, by this worker or another one."""
        return {(out, number) for out, number in commits if self._attached[out].is_committed(number)}

    def copied(self) -> tuple[int, int]:
        """Returns the numbers of pages and bytes that were copied without decoding since the last call."""
        counts = [self._copied_before, *(kept.copied for kept in self._kept.values() if kept is not None)]
        pages, size = (sum(each) for each in zip(*counts, strict=True))
        before, self._counted = self._counted, (pages, size)
        return pages - before[0], size - before[1]

    def finish(self) -> None:
        for attached in self._attached.values():
            attached.finish()

    def _results(self, each: Range, outputs: Sequence[int]) -> list[tuple[int, Made]]:
        if self._job.loop is not None:
            self._seed(each)
            return self._looped(self._job.loop, each, outputs)
        source = self._source(each.file, each.start, each.stop)
        results: list[tuple[int, Made]] = []
        for out in outputs:
            self._seed(each)
            results.append((out, derived(self._job.train[out], self._job.kept[out], source)))
        return results

    def _seed(self, each: Range) -> None:
        if self._seeds is not None:
            self._seeds.begin(each.number)

    def _encoded(self, out: int, range_: Range, summary: Summary) -> bytes:
        """Returns the summary of a range. Raises UsageError if it cannot be added to that of the first events."""
        what = f"the derivation of {self._job.train[out].path}, range {range_.number}"
        text = summary.encoded()
        if summary.values and self._job.loop is None:
            if out not in self._first_sums:
                self._first_sums[out] = self._sum_of_first_events(out)
            both = Summary.decoded(self._first_sums[out])
            try:
                both.add(Summary.decoded(text))  # adding may change objects
            except Exception as error:
                raise UsageError(f"{what}: the {error}") from error
        if len(text) > MOST_BYTES and TABLE not in self._attached[out].schema:
            raise UsageError(
                f"{what}: the summary takes {len(text):,} bytes, and at most {MOST_BYTES:,} have room in this output "
                "(that of the first events was small, and nothing in it could grow): give its large values from the "
                "first events on"
            )
        return text

    def _sum_of_first_events(self, out: int) -> bytes:
        """Returns the summary of the first events, so that all workers compare theirs with the same one."""
        parts: list[tuple[int, int, int]] = []
        for number, file in enumerate(self._job.inputs.files):
            for start in dict.fromkeys((0, file.rows // 3, file.rows // 2)):
                if start < file.rows and len(parts) < _MOST_SAMPLES:
                    parts.append((number, start, min(file.rows, start + _SAMPLE_ROWS)))
        return self._first_summary(out, parts or [(0, 0, 0)]).encoded()

    def _first_summary(self, out: int, parts: Sequence[tuple[int, int, int]]) -> Summary:
        """Returns the summary of the first of these parts on which nothing fails; none: one of nothing, to which each
        summary can be added. What fails there is told by the ranges."""
        for part in parts:
            with suppress(Exception):
                return derived(self._job.train[out], self._job.kept[out], self._source(*part)).summary
        return Summary()

    def _looped(self, loop: EventLoop, each: Range, outputs: Sequence[int]) -> list[tuple[int, Made]]:
        file = self._job.inputs.files[each.file]
        range_ = EventRange(each.number, file.path, file.table, each.start, each.stop, file)
        paths = [os.fspath(derivation.path) for derivation in self._job.train]
        made = looped(loop, range_, {path: self._schema_of(out) for out, path in enumerate(paths)})
        assert made.made is not None
        rows = [made.outputs[path] for path in paths]
        return [(out, Looped(rows[out], made.made.summary(rows[out].rows))) for out in outputs]

    def _schema_of(self, out: int) -> TableSchema:
        """Returns the schema of an output; for a complete one, as it was requested, so that rows are still checked."""
        table = self._job.tables[out]
        if out in self._attached:
            return self._attached[out].schema[table]
        given = self._job.train[out].schema or {}
        return TableSchema(table, tuple((name, as_type(like)) for name, like in given.items()))

    def _append(self, unit: WorkUnit | UnitOfGroup, out: int, file: int, result: Made) -> None:
        table = unit[self._job.tables[out]]
        if isinstance(result, Looped):
            for count, columns in result.rows.batches:
                table.append_columns(count, columns)
        elif result.rows:
            self._append_derived(table, out, file, result)

    def _append_derived(self, table: UnitTable, out: int, file: int, result: Derived) -> None:
        names = self._job.kept[out]
        kept = self._kept_of(out, file) if names else None
        if kept is None:
            table.append(result.kept(names) | result.computed)
            return
        rest = self._computed_of(out, table.schema)
        computed = columns_of(rest, result.computed, {})[1] if rest.fields or result.computed else []
        self.used.update(names)
        table.append_kept(kept, result.source.lazy.start, len(result.source), result.mask, computed)

    def _computed_of(self, out: int, schema: TableSchema) -> TableSchema:
        if out not in self._computed:
            names = set(self._job.kept[out])
            fields = tuple((name, type_) for name, type_ in schema.fields if name not in names)
            self._computed[out] = TableSchema(schema.name, fields)
        return self._computed[out]

    def _kept_of(self, out: int, file: int) -> Kept | None:
        """Returns the kept columns, or None if they must go through Python: the core does not read that file, or its
        columns differ."""
        if self._job.inputs.fills_of(file).keys() & set(self._job.kept[out]):
            return None
        if (out, file) not in self._kept:
            name, derivation, each = self._job.tables[out], self._job.train[out], self._inputs.open(file)
            self._kept[out, file] = kept_columns(
                self._attached[out], each.table, each.stored, name, self._job.kept[out], derivation.copy_pages
            )
        return self._kept[out, file]

    def _close(self, file: int) -> None:
        """Lets go of what reads a file that is closed."""
        for key in [key for key in self._kept if key[1] == file]:
            kept = self._kept.pop(key)
            if kept is not None:
                pages, size = kept.copied
                self._copied_before = self._copied_before[0] + pages, self._copied_before[1] + size

    def _source(self, file: int, start: int, stop: int) -> RowSource:
        inputs, table = self._job.inputs, self._inputs.open(file).table
        lazy = LazyRows(table, start, stop, self.used, inputs.fills_of(file))
        attrs = {"file": inputs.files[file].path, "dataset": table.name, "first_event": start}
        return RowSource(lambda: self._form, lazy, attrs)

    def _fields_of(self, index: int, ranges: Sequence[Range], announce: Announce) -> tuple[tuple[str, Type], ...]:
        derivation = self._job.train[index]
        known = dict(self._job.inputs.fields)
        fields = {name: known[name] for name in self._job.kept[index]}
        given = {name: as_type(like) for name, like in (derivation.schema or {}).items()}
        if derivation.is_for_loop:
            return tuple(given.items())
        if derivation.function is None:
            self._expect(given, fields, derivation)
            return tuple((fields | given).items())
        error: Exception | None = None
        for each in self._samples(ranges):
            announce(("trying",))
            try:
                tried = derived(derivation, self._job.kept[index], self._source(*each))
                self._tried[index] = tried.summary
                for name, value in tried.computed.items():
                    if name not in fields:
                        what = f"the derivation of {derivation.path}: column '{name}'"
                        fields[name] = given[name] if name in given else type_of_values(value, what)
                self._expect(given, fields, derivation)
            except Exception as first:
                if isinstance(first, UsageError) and not isinstance(first, UnknownTypeError):
                    raise
                error = error or first
            else:
                return tuple(fields.items())
        raise error or UsageError(
            f"the columns of the derivation of {derivation.path} are not known (the input has no events): give schema="
        )

    def _expect(self, given: Iterable[str], there: Mapping[str, Any], derivation: Derivation) -> None:
        if unknown := set(given) - there.keys():
            raise UsageError(
                f"the derivation of {derivation.path} does not make column '{min(unknown)}' of its schema: return it "
                "from the function, or leave it out of the schema"
            )

    def _samples(self, ranges: Sequence[Range]) -> list[tuple[int, int, int]]:
        """Returns the events on which functions are tried: the first ones, then whole ranges from all of the input."""
        if not ranges:
            return [(0, 0, 0)]
        first, *_ = ranges
        steps = ranges[:: max(1, len(ranges) // _MOST_SAMPLES)]
        small = (first.file, first.start, min(first.stop, first.start + _SAMPLE_ROWS))
        return [small, *((each.file, each.start, each.stop) for each in steps)]


def check_handles(handles: Iterable[str | None]) -> None:
    """Raises Error if one of these runs accepts no more rows."""
    for handle in handles:
        if handle is not None:
            attach(handle)
