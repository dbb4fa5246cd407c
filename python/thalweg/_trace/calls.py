"""Calls of a trace in memory: columns that all selections of calls share, and texts as numbers into a table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._trace.records import IN_FLIGHT

Integers = npt.NDArray[np.int64]
Seconds = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.uint32]


_MOVING = ("read", "write", "transfer", IN_FLIGHT)
_BLOCK = 1 << 18


def blocks(count: int) -> Iterator[slice]:
    """Yields ranges that cover so many calls, for what would need much memory for all of them at once."""
    for first in range(0, count, _BLOCK):
        yield slice(first, min(first + _BLOCK, count))


def narrow(values: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """Returns the same integers in the smallest type that holds them: there may be many millions."""
    least, most = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    types: tuple[type[np.integer], ...] = (np.uint8, np.uint16, np.uint32) if least >= 0 else (np.int8, np.int16)
    for each in (*types, np.int32):
        if np.iinfo(each).min <= least and most <= np.iinfo(each).max:
            return values.astype(each, copy=False)
    return values.astype(np.int64, copy=False)


def _places(chosen: Mask) -> Places:
    """Returns where the mask is true."""
    found = np.empty(np.count_nonzero(chosen), np.uint32)
    count = 0
    for part in blocks(len(chosen)):
        more = np.flatnonzero(chosen[part])
        found[count : count + len(more)] = more + part.start
        count += len(more)
    return found


def taken(values: npt.NDArray[Any], places: npt.NDArray[np.integer]) -> npt.NDArray[Any]:
    """Returns values[places]. NumPy would make 64-bit integers of all places first."""
    found = np.empty(len(places), values.dtype)
    for part in blocks(len(places)):
        found[part] = values[places[part]]
    return found


def different(values: npt.NDArray[np.integer]) -> list[int]:
    """Returns the values that occur, in order. They must not be negative, nor large: rows of a table."""
    is_there = np.zeros(int(values.max()) + 1 if len(values) else 0, bool)
    for part in blocks(len(values)):
        is_there[values[part]] = True
    return [int(each) for each in np.flatnonzero(is_there)]


class Texts:
    """The different texts of labels. Which of them match a question is found once: rules ask it for each file."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)
        self._matching: dict[Hashable, Mask] = {}

    def matching(self, question: Hashable, is_wanted: Callable[[str], bool]) -> Mask:
        """Returns for which texts the function is true; `question` tells the function from others."""
        found = self._matching.get(question)
        if found is None:
            found = np.fromiter((is_wanted(text) for text in self.texts), bool, len(self.texts))
            self._matching[question] = found
        return found


class Labels:
    """A text for each call. There are few different ones, so a call has the number of its text."""

    def __init__(self, numbers: npt.NDArray[np.integer], texts: Texts) -> None:
        self._numbers, self._texts = numbers, texts

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return (self._texts.texts[int(number)] for number in self._numbers)

    def __getitem__(self, index: int) -> str:
        return self._texts.texts[int(self._numbers[index])]

    def matching(self, is_wanted: Callable[[str], bool]) -> Mask:
        """Returns which calls have a text for which the function is true. It is called once for each text."""
        wanted = np.fromiter(map(is_wanted, self._texts.texts), bool, len(self._texts.texts))
        return taken(wanted, self._numbers)

    def isin(self, texts: Sequence[str]) -> Mask:
        return taken(self._texts.matching(tuple(texts), lambda text: text in texts), self._numbers)

    def __eq__(self, text: object) -> Mask:  # type: ignore[override]
        return self.isin((str(text),))

    def __ne__(self, text: object) -> Mask:  # type: ignore[override]
        return ~self.isin((str(text),))

    __hash__ = None  # type: ignore[assignment]

    def unique(self) -> list[str]:
        """Returns the different texts in order."""
        return sorted({self._texts.texts[number] for number in different(self._numbers)})

    def where(self, chosen: Any) -> Labels:
        return Labels(self._numbers[chosen], self._texts)


@dataclass(frozen=True)
class Columns:
    """The calls of one level: every array has one value for each call. Times are in units of the trace since it
    began. Integers have the smallest type that holds them, since a trace may have many millions of calls."""

    start: npt.NDArray[Any]
    duration: npt.NDArray[Any]
    thread: npt.NDArray[np.integer]
    depth: npt.NDArray[np.integer]
    operation: npt.NDArray[np.integer]
    file: npt.NDArray[np.integer]
    offset: npt.NDArray[np.integer]
    size: npt.NDArray[np.integer]
    result: npt.NDArray[np.integer]
    error: npt.NDArray[np.integer]
    extra: npt.NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Tables:
    """What numbers in the columns stand for."""

    names: Texts
    """The name of each operation."""
    kinds: Texts
    process: Integers
    """The process of each thread."""
    rank: Integers
    """The rank of each thread; -1 if no launcher started its process."""
    unit_s: float = 1.0
    """The unit of times in seconds."""


class Calls:
    """Some calls of one level. A selection has the places of its calls in the columns, and no columns of its own."""

    def __init__(self, columns: Columns, tables: Tables, places: Places | None = None) -> None:
        self._columns, self._tables, self._places = columns, tables, places

    def __len__(self) -> int:
        return len(self._columns) if self._places is None else len(self._places)

    def where(self, chosen: Mask | Integers | Places) -> Calls:
        """Returns the calls that are chosen, by a mask or by their places among these calls."""
        is_mask = chosen.dtype == bool
        if is_mask and chosen.all():
            return self
        places: Places = _places(chosen.view(bool)) if is_mask else chosen.astype(np.uint32, copy=False)
        return Calls(self._columns, self._tables, places if self._places is None else taken(self._places, places))

    def _of(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return column if self._places is None else taken(column, self._places)

    def _integers(self, column: npt.NDArray[np.integer]) -> Integers:
        return self._of(column).astype(np.int64, copy=False)

    @property
    def start(self) -> Seconds:
        return self._seconds(self._of(self._columns.start))

    @property
    def duration(self) -> Seconds:
        return self._seconds(self._of(self._columns.duration))

    @property
    def end(self) -> Seconds:
        found = self.start
        found += self.duration
        return found

    def _seconds(self, times: npt.NDArray[Any]) -> Seconds:
        found: Seconds = np.multiply(times, self._tables.unit_s, dtype=np.float64)
        return found

    def of_files(self, is_wanted: Mask) -> Mask:
        """Returns which calls are about files for whose rows the mask is true."""
        return taken(is_wanted, self.file)

    def of_threads(self, is_wanted: Mask) -> Mask:
        """Returns which calls were made by threads for whose rows the mask is true."""
        return taken(is_wanted, self.thread)

    def is_of_process(self, process: int) -> Mask:
        """Returns which calls were made by a process."""
        return self.of_threads(self._tables.process == process)

    def of_process(self, process: int) -> Calls:
        return self.where(self.is_of_process(process))

    def in_blocks(self) -> Iterator[Calls]:
        """Yields these calls in parts of some hundred thousand, in their order."""
        for part in blocks(len(self)):
            yield self.part(part)

    def part(self, part: slice) -> Calls:
        """Returns these calls from one place to another."""
        if self._places is not None:
            return Calls(self._columns, self._tables, self._places[part])
        return Calls(Columns(**{name: values[part] for name, values in vars(self._columns).items()}), self._tables)

    @property
    def processes(self) -> list[int]:
        """The different processes, in order."""
        return sorted({int(self._tables.process[thread]) for thread in self.threads})

    @property
    def ranks(self) -> list[int]:
        """The different ranks, in order; -1 stands for processes without a launcher."""
        return sorted({int(self._tables.rank[thread]) for thread in self.threads})

    @property
    def threads(self) -> list[int]:
        """The different threads, in order."""
        return different(self.thread)

    @property
    def files(self) -> list[int]:
        """The different files, in order."""
        return different(self.file)

    @property
    def operations(self) -> list[int]:
        """The different operations, in order."""
        return different(self.operation)

    @property
    def thread(self) -> npt.NDArray[np.integer]:
        return self._of(self._columns.thread)

    @property
    def process(self) -> Integers:
        return taken(self._tables.process, self.thread)

    @property
    def rank(self) -> Integers:
        return taken(self._tables.rank, self.thread)

    @property
    def depth(self) -> npt.NDArray[np.integer]:
        return self._of(self._columns.depth)

    @property
    def operation(self) -> npt.NDArray[np.integer]:
        return self._of(self._columns.operation)

    @property
    def file(self) -> npt.NDArray[np.integer]:
        return self._of(self._columns.file)

    @property
    def offset(self) -> Integers:
        return self._integers(self._columns.offset)

    @property
    def size(self) -> Integers:
        return self._integers(self._columns.size)

    @property
    def result(self) -> Integers:
        return self._integers(self._columns.result)

    @property
    def error(self) -> npt.NDArray[np.integer]:
        return self._of(self._columns.error)

    @property
    def extra(self) -> Integers:
        return self._integers(self._columns.extra)

    @property
    def name(self) -> Labels:
        return Labels(self.operation, self._tables.names)

    @property
    def kind(self) -> Labels:
        return Labels(self.operation, self._tables.kinds)

    @property
    def moved(self) -> Integers:
        """The number of bytes that each call moved; 0 if it failed or moves no data."""
        found: Integers = self._of(self._columns.result).astype(np.int64)  # a copy
        found[(self.error != 0) | (found < 0) | ~self.kind.isin(_MOVING)] = 0
        return found

    @property
    def moved_bytes(self) -> int:
        """The sum of `moved`."""
        return sum(int(part.moved.sum()) for part in self.in_blocks())

    @property
    def mean_bytes(self) -> float:
        """The mean of `moved`; 0 if there are no calls."""
        return self.moved_bytes / max(1, len(self))

    @property
    def seconds(self) -> float:
        """The sum of the durations."""
        return sum(float(part.duration.sum()) for part in self.in_blocks())

    def by_start(self) -> Calls:
        """Returns the same calls in the order in which they began."""
        start = self._of(self._columns.start)
        if all((np.diff(start[part.start : part.stop + 1]) >= 0).all() for part in blocks(len(start))):
            return self
        return self.where(np.argsort(start, kind="stable").astype(np.uint32))

    def joined(self, others: Sequence[Calls]) -> Calls:
        """Returns these calls and those of other levels of the same trace."""
        parts = [part for part in (self, *others) if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else self
        columns = [part.columns() for part in parts]
        return Calls(
            Columns(**{name: np.concatenate([each[name] for each in columns]) for name in columns[0]}), self._tables
        )

    def share_in(self, other: Calls) -> float:
        """Returns the fraction of these calls, by their time, that are among other ones of the same level."""
        if self._columns is not other._columns:
            return 0.0
        is_theirs = np.full(len(self._columns), other._places is None)
        if other._places is not None:
            is_theirs[other._places] = True
        total = common = 0.0
        for part in blocks(len(self)):
            took = self.part(part).duration
            total += float(took.sum())
            common += float(took[is_theirs[part if self._places is None else self._places[part]]].sum())
        return common / total if total > 0 else 0.0

    def alone(self) -> Calls:
        """Returns the same calls with columns of their own, for those that are asked again and again."""
        return Calls(Columns(**self.columns()), self._tables)

    def replaced(self, **columns: npt.NDArray[Any]) -> Calls:
        """Returns the same calls with other values in these columns."""
        return Calls(Columns(**{**self.columns(), **columns}), self._tables)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns of these calls by name."""
        return {name: self._of(values) for name, values in vars(self._columns).items()}
