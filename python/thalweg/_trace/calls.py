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


_MOVING = ("read", "write", "transfer", IN_FLIGHT)


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
        chosen: Mask = wanted[self._numbers]
        return chosen

    def isin(self, texts: Sequence[str]) -> Mask:
        chosen: Mask = self._texts.matching(tuple(texts), lambda text: text in texts)[self._numbers]
        return chosen

    def __eq__(self, text: object) -> Mask:  # type: ignore[override]
        return self.isin((str(text),))

    def __ne__(self, text: object) -> Mask:  # type: ignore[override]
        return ~self.isin((str(text),))

    __hash__ = None  # type: ignore[assignment]

    def unique(self) -> list[str]:
        """Returns the different texts in order."""
        numbers = np.flatnonzero(np.bincount(self._numbers, minlength=len(self._texts.texts)))
        return sorted({self._texts.texts[number] for number in numbers})

    def where(self, chosen: Any) -> Labels:
        return Labels(self._numbers[chosen], self._texts)


@dataclass(frozen=True)
class Columns:
    """The calls of one level: every array has one value for each call. Times are in seconds since the trace began."""

    start: Seconds
    duration: Seconds
    thread: npt.NDArray[np.integer]
    depth: npt.NDArray[np.integer]
    operation: npt.NDArray[np.integer]
    file: npt.NDArray[np.integer]
    offset: Integers
    size: Integers
    result: Integers
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


class Calls:
    """Some calls of one level. A selection has the places of its calls in the columns, and no columns of its own."""

    def __init__(self, columns: Columns, tables: Tables, places: npt.NDArray[np.uint32] | None = None) -> None:
        self._columns, self._tables, self._places = columns, tables, places

    def __len__(self) -> int:
        return len(self._columns) if self._places is None else len(self._places)

    def where(self, chosen: Mask | Integers) -> Calls:
        """Returns the calls that are chosen, by a mask or by their places among these calls."""
        places = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return Calls(
            self._columns,
            self._tables,
            places.astype(np.uint32) if self._places is None else self._places[places],
        )

    def _of(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return column if self._places is None else column[self._places]

    def _integers(self, column: npt.NDArray[np.integer]) -> Integers:
        return self._of(column).astype(np.int64, copy=False)

    @property
    def start(self) -> Seconds:
        return self._of(self._columns.start)

    @property
    def duration(self) -> Seconds:
        return self._of(self._columns.duration)

    @property
    def end(self) -> Seconds:
        return self.start + self.duration

    @property
    def thread(self) -> Integers:
        return self._integers(self._columns.thread)

    @property
    def process(self) -> Integers:
        found: Integers = self._tables.process[self._of(self._columns.thread)]
        return found

    @property
    def rank(self) -> Integers:
        found: Integers = self._tables.rank[self._of(self._columns.thread)]
        return found

    @property
    def depth(self) -> Integers:
        return self._integers(self._columns.depth)

    @property
    def operation(self) -> Integers:
        return self._integers(self._columns.operation)

    @property
    def file(self) -> Integers:
        return self._integers(self._columns.file)

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
    def error(self) -> Integers:
        return self._integers(self._columns.error)

    @property
    def extra(self) -> Integers:
        return self._integers(self._columns.extra)

    @property
    def name(self) -> Labels:
        return Labels(self._of(self._columns.operation), self._tables.names)

    @property
    def kind(self) -> Labels:
        return Labels(self._of(self._columns.operation), self._tables.kinds)

    @property
    def moved(self) -> Integers:
        """The number of bytes that each call moved; 0 if it failed or moves no data."""
        found: Integers = np.where((self.error == 0) & (self.result > 0) & self.kind.isin(_MOVING), self.result, 0)
        return found

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
        mine, theirs = self._all_places(), other._all_places()
        total = float(self.duration.sum())
        common = np.isin(mine, theirs, assume_unique=True) if len(mine) and len(theirs) else mine[:0] > 0
        return float(self.duration[common].sum()) / total if total > 0 and len(common) else 0.0

    def _all_places(self) -> npt.NDArray[np.uint32]:
        return np.arange(len(self._columns), dtype=np.uint32) if self._places is None else self._places

    def alone(self) -> Calls:
        """Returns the same calls with columns of their own, for those that are asked again and again."""
        return Calls(Columns(**self.columns()), self._tables)

    def replaced(self, **columns: npt.NDArray[Any]) -> Calls:
        """Returns the same calls with other values in these columns."""
        return Calls(Columns(**{**self.columns(), **columns}), self._tables)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Returns the columns of these calls by name."""
        return {name: self._of(values) for name, values in vars(self._columns).items()}
