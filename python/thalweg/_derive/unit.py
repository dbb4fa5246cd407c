"""Event loops of the user: code that makes rows from a range of events without Awkward arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

from thalweg._append.columns import Array, columns_of
from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._base.suggestion import likely
from thalweg._derive.inputs import InputFile
from thalweg._derive.summaries import Summary, added, checked_values
from thalweg._reading.table import Table
from thalweg._schema.schema import TableSchema

EventLoop: TypeAlias = "Callable[[LoopJob, EventRange], None]"


@dataclass(frozen=True)
class EventRange:
    """Rows [start, stop) of a table of the input. Its number is its position in the input."""

    number: int
    path: str
    table: str
    start: int
    stop: int
    file: InputFile = field(repr=False)

    def __len__(self) -> int:
        return self.stop - self.start

    def open(self) -> Table:
        """Opens the table of the input. `read(columns, rows=slice(range.start, range.stop))` reads the events."""
        return self.file.open()


class OutputRows:
    """Collects the rows of one range for one output."""

    def __init__(self, schema: TableSchema) -> None:
        self._schema = schema
        self.batches: list[tuple[int, Sequence[Array]]] = []

    def append(self, rows: Any = None, /, **fields: Any) -> None:
        """Appends one or more rows, as `Producer.append` does. They count when the unit is committed."""
        count, columns = columns_of(self._schema, rows, fields)
        self.batches.append((count, [column.copy() for column in columns]))  # the loop may reuse its arrays

    @property
    def rows(self) -> int:
        return sum(count for count, _ in self.batches)


class LoopUnit:
    """The results of a loop for one range: rows for each output, and sums over the input.

    When its `with` block ends, the unit is committed in every output that lacks the range. If the block ends with an
    exception, the unit is dropped.
    """

    def __init__(self, range_: EventRange, outputs: Mapping[str, OutputRows]) -> None:
        self.range = range_
        self._outputs = outputs
        self._values: dict[str, Any] = {}
        self.is_whole = False

    def __getitem__(self, path: str) -> OutputRows:
        """Returns the rows of an output, given by its path in the train. Raises UnknownNameError if there is none."""
        self._check_open()
        try:
            return self._outputs[path]
        except KeyError:
            raise UnknownNameError(
                f"the train has no output '{path}'{likely(path, self._outputs)}; its outputs are "
                f"{', '.join(self._outputs)}"
            ) from None

    def fill(self, name: str, value: Any) -> None:
        """Adds a value to the sum of that name: a number, a NumPy array, an object that has `merge(other)`, or a
        dictionary, such as a cut flow, of these. The sums are committed with the rows in each output."""
        self._check_open()
        what = f"range {self.range.number}"
        new = checked_values({name: value}, what)[name]
        try:
            self._values[name] = added(self._values[name], new) if name in self._values else new
        except Exception as error:
            raise UsageError(
                f"{what}, summary '{name}': {value!r} cannot be added to {self._values[name]!r}"
            ) from error

    def summary(self, rows: int) -> Summary:
        return Summary(events=len(self.range), rows=rows, values=dict(self._values))

    def _check_open(self) -> None:
        if self.is_whole:
            raise UsageError(f"the unit of range {self.range.number} accepts nothing more (its `with` block has ended)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        self.is_whole = kind is None


class LoopJob:
    """The job, as a loop sees it. The loop must use `with job.unit(range) as unit: ...` once."""

    def __init__(self, range_: EventRange, schemas: Mapping[str, TableSchema]) -> None:
        self._range = range_
        self.outputs = {path: OutputRows(schema) for path, schema in schemas.items()}
        self.made: LoopUnit | None = None

    def unit(self, range_: EventRange) -> LoopUnit:
        """Returns the unit of the range. Raises UsageError if it is another range, or if it has a unit already."""
        if range_ is not self._range:
            raise UsageError(f"{range_!r} cannot have a unit (the loop was called with range {self._range.number})")
        if self.made is not None:
            raise UsageError(f"range {range_.number} has a unit already: append all its rows within one `with` block")
        self.made = LoopUnit(range_, self.outputs)
        return self.made


def looped(loop: EventLoop, range_: EventRange, schemas: Mapping[str, TableSchema]) -> LoopJob:
    """Calls the loop for one range. Raises UsageError if it makes no unit, and what the loop raises."""
    job = LoopJob(range_, schemas)
    loop(job, range_)
    if job.made is None or not job.made.is_whole:
        how = "made no unit" if job.made is None else "did not complete the `with` block of its unit"
        raise UsageError(
            f"{range_.path}: the loop {how} for events {range_.start} to {range_.stop}: use `with job.unit(range) as "
            "unit:` once in each call"
        )
    return job
