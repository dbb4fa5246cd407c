"""Files that continue each other, as one run: their rows follow each other in the order of the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._reading.asked import BATCH_BYTES, listed
from thalweg._reading.follow import Tables
from thalweg._reading.gather import read_chosen
from thalweg._reading.run import Run
from thalweg._reading.run_file import RunFile
from thalweg._reading.status import RunStatus
from thalweg._reading.table import Table
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import TableSchema
from thalweg._schema.tuning import Value
from thalweg._values.row_groups import Unit, UnitRows
from thalweg._values.rows import Rows
from thalweg._values.select import Chosen
from thalweg._values.take import joined

_OF_LINKS = ("next_file", "next_file_id", "previous_file", "previous_file_id")


class JoinedRun(Run):
    """Several files as one run."""

    def __init__(self, parts: Sequence[Run]) -> None:
        """Raises UsageError if the tables of a part differ from those of the first."""
        super().__init__(parts[0].origin, parts[0].schema)
        self._parts = tuple(parts)
        for part in parts[1:]:
            _check_alike(parts[0], part)

    @property
    def parts(self) -> tuple[Run, ...]:
        return self._parts

    @property
    def metadata(self) -> dict[str, str]:
        """The entries that all files have with the same value, the beginning of the first file and the end of the
        last one. `parts` have the others."""
        each = [part.metadata for part in self._parts]
        shared = {key: value for key, value in each[0].items() if all(other.get(key) == value for other in each[1:])}
        times = {key: of[key] for key, of in (("start_utc", each[0]), ("stop_utc", each[-1])) if key in of}
        return {key: value for key, value in (shared | times).items() if key not in _OF_LINKS}

    @property
    def problems(self) -> tuple[LeftOut, ...]:
        return tuple(problem for part in self._parts for problem in part.problems)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for part in self._parts for note in part.notes))

    @property
    def keys_per_group(self) -> int:
        return self._parts[0].keys_per_group

    @property
    def knobs(self) -> dict[str, Value]:
        return self._parts[0].knobs

    @property
    def units(self) -> tuple[Unit, ...]:
        found: list[Unit] = []
        before = dict.fromkeys(self, 0)
        for part in self._parts:
            for unit in part.units:
                rows = (UnitRows(r.table, r.producer, before[r.table] + r.first, r.rows) for r in unit.rows)
                found.append(Unit(unit.key, unit.summary, tuple(rows)))
            before = {name: count + len(part[name]) for name, count in before.items()}
        return tuple(found)

    @property
    def is_open(self) -> bool:
        return any(part.is_open for part in self._parts)

    def _table(self, name: str) -> Table:
        return JoinedTable([part[name] for part in self._parts])

    def close(self) -> None:
        super().close()
        for part in self._parts:
            part.close()

    def as_file(self) -> RunFile:
        self._check_is_open()
        raise UsageError(f"{self.path} and its next files cannot be shown as one file: take `as_file` of its `parts`")

    def refresh(self) -> Self:
        """Shows newer rows of these files. A file that the run has begun since then is seen by opening it again."""
        for part in self._parts:
            part.refresh()
        return self

    def status(self) -> RunStatus:
        """Returns the status of the last file, the one that may be open."""
        self._check_is_open()
        return self._parts[-1].status()

    def _when_followed(self) -> Tables:
        return self._parts[0]._when_followed()  # noqa: SLF001 (a run, as this one)

    def __reduce__(self) -> tuple[Any, ...]:
        self._check_is_open()
        return JoinedRun, (self._parts,)

    def __repr__(self) -> str:
        more = f" and {len(self._parts) - 1} more file{'s'[: len(self._parts) != 2]}"
        return super().__repr__().replace(self.path, self.path + more, 1)


def _check_alike(first: Run, other: Run) -> None:
    for name in dict.fromkeys((*first, *other)):
        if name not in first or name not in other:
            lacking = other if name in first else first
            raise UsageError(f"{other.path} has other tables than {first.path} ({lacking.path} has no table '{name}')")
        if difference := _difference(first.schema[name], other.schema[name]):
            raise UsageError(
                f"{other.path}: table '{name}' has other columns than in {first.path} ({difference}): give files "
                "with the same columns"
            )


def _difference(here: TableSchema, there: TableSchema) -> str:
    """Returns in which column the second of two tables differs from the first, or an empty text."""
    for column in here:
        if column not in there:
            return f"it has no '{column}'"
        if here[column].bare() != there[column].bare():
            return f"'{column}' is {there[column].bare()} in this file, and {here[column].bare()} in the first one"
    if more := [column for column in there if column not in here]:
        return f"it has '{more[0]}', too"
    return "they come in another order" if list(here) != list(there) else ""


class JoinedTable(Table):
    """The tables of one name of several files, as one table."""

    def __init__(self, parts: Sequence[Table]) -> None:
        super().__init__(parts[0].schema, parts[0].origin)
        self._parts = tuple(parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @property
    def by_h5py(self) -> Mapping[str, Any]:
        return self._parts[0].by_h5py

    @property
    def by_uproot(self) -> Mapping[str, Any]:
        return self._parts[0].by_uproot

    def storage(self) -> list[tuple[int, int]]:
        columns = zip(*(part.storage() for part in self._parts), strict=True)
        return [
            (sum(size for size, _ in column), column[0][1] if len({items for _, items in column}) == 1 else 0)
            for column in columns
        ]

    @property
    def survives_fork(self) -> bool:
        return all(part.survives_fork for part in self._parts)

    def page_ends(self, most: int) -> Iterator[list[int]]:
        for columns in zip(*(part.page_ends(most) for part in self._parts), strict=False):
            yield [first + end for (first, _), ends in zip(self._with_first(), columns, strict=True) for end in ends]

    def _with_first(self) -> list[tuple[int, Table]]:
        """Returns the tables, each with the number of its first row."""
        found, first = [], 0
        for part in self._parts:
            found.append((first, part))
            first += len(part)
        return found

    def _read(
        self,
        columns: str | list[str] | None,
        chosen: Chosen,
        threads: int,
        out: Mapping[str, npt.NDArray[Any]] | None,
    ) -> Rows:
        self._check_is_open()

        def stretch(start: int, stop: int, into: Mapping[str, npt.NDArray[Any]]) -> Rows:
            places = self._places(start, stop)
            if len(places) > 1 and into:
                raise UsageError(f"rows of several files cannot be read into `out` (table '{self.name}'): leave it out")
            found: Rows = joined(
                [part.read(columns, rows=slice(*rows), threads=threads, out=into or None) for part, rows in places]
            )
            return found

        return read_chosen(self, stretch, chosen, out or {})

    def _places(self, start: int, stop: int) -> list[tuple[Table, tuple[int, int]]]:
        """Returns the tables that have rows [start, stop), each with its own rows; at least one."""
        found = [
            (part, (max(start - first, 0), min(stop - first, len(part))))
            for first, part in self._with_first()
            if first < stop and start < first + len(part)
        ]
        return found or [(self._parts[0], (0, 0))]

    def batches(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        rows: int = 10_000,
        memory_bytes: int | None = BATCH_BYTES,
        threads: int = 0,
    ) -> Iterator[Rows]:
        """Yields the rows of one file after the other: the last batch of each file may have fewer rows."""
        names = listed(columns)
        for part in self._parts:
            yield from part.batches(names, rows=rows, memory_bytes=memory_bytes, threads=threads)

    def _when_followed(self) -> Tables:
        return self._parts[0]._when_followed()  # noqa: SLF001 (a table, as this one)

    def close(self) -> None:
        for part in self._parts:
            part.close()

    def _check_is_open(self) -> None:
        for part in self._parts:
            part._check_is_open()  # noqa: SLF001 (a table, as this one)

    def __reduce__(self) -> tuple[Any, ...]:
        return JoinedTable, (self._parts,)
