"""What the files of an input hold besides its events: tables that are carried along, and what is left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from thalweg._base.errors import UsageError
from thalweg._reading.origin import Origin
from thalweg._reading.run import Run
from thalweg._reading.table import Table
from thalweg._schema.attributes import common_attributes
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema, TableSchema
from thalweg._values.rows import Rows

_BATCH_BYTES = 16 << 20
_MOST_KEPT_BYTES = 64 << 20  # of rows that are read while their file is open, since to open it again may take long
_MOST_NAMED = 8


@dataclass(frozen=True)
class _Part:
    """The carried tables of one file."""

    origin: Origin
    rows: Mapping[str, Sequence[Rows]] | None
    """Their rows, or None if they are read from the file when they are needed."""


class Beside:
    """Looks through the files of an input, one after the other."""

    def __init__(self, carry: str | Iterable[str] = ()) -> None:
        """carry: the names of tables to carry along, or patterns of names. Raises UsageError if they are no texts."""
        self._patterns = (carry,) if isinstance(carry, str) else tuple(carry)
        for each in self._patterns:
            if not isinstance(each, str):
                raise UsageError(f"carry: {each!r} is no name of a table: give names or patterns")
        self._parts: list[_Part] = []
        self._kept_bytes = 0
        self._schemas: dict[str, dict[str, TableSchema]] = {}  # by table and path
        self._others: dict[str, str] = {}
        self.left_out: dict[str, LeftOut] = {}
        """The parts of carried tables that cannot be read or stored, by path."""

    def look(self, run: Run, done: Collection[str]) -> None:
        """Notes what a file holds besides the tables `done`."""
        tables = [name for name in run if name not in done]
        carried = [name for name in tables if any(fnmatchcase(name, each) for each in self._patterns)]
        for name in carried:
            whole = Schema((run.schema[name],))
            for storable in whole.without_zero_width().tables:
                self._schemas.setdefault(name, {})[run.path] = storable
            for _, path in whole.zero_width():
                why = "its rows have no values, which no container can store"
                self._leave_out(LeftOut(f"{name}/{path}", why))
        for each in run.problems:
            owner = each.path.rpartition(" of ")[2].removeprefix("/")  # so is an attribute named, or a table's end
            if any(owner == name or owner.startswith(f"{name}/") for name in carried):
                self._leave_out(each)
            elif not any(each.path.removeprefix("/").startswith(f"{name}/") for name in done):
                self._others.setdefault(each.path, each.why)
        self._others.update({name: "" for name in tables if name not in carried})
        tables_here = [run[name] for name in carried if run.path in self._schemas.get(name, ())]
        self._parts.append(_Part(run.origin, self._rows_if_few(tables_here)))

    def _leave_out(self, each: LeftOut) -> None:
        self.left_out.setdefault(each.path, each)

    def _rows_if_few(self, tables: Sequence[Table]) -> dict[str, list[Rows]] | None:
        size = sum(size for table in tables for size, _ in table.storage())
        if self._kept_bytes + size > _MOST_KEPT_BYTES:
            return None
        self._kept_bytes += size
        return {table.name: list(_batches(table)) for table in tables}

    @property
    def asks(self) -> bool:
        """Whether tables are to be carried along."""
        return bool(self._patterns)

    def tables(self, there: Collection[str] = ()) -> tuple[TableSchema, ...]:
        """Returns the carried tables, with the attributes that are the same in all files. Tables that are `there`
        anyway may be asked for, too.

        Raises UsageError if a file lacks one of them, or has it with other columns."""
        for pattern in self._patterns:
            if not any(fnmatchcase(name, pattern) for name in (*self._schemas, *there)):
                named = ", ".join(name for name, why in self._others.items() if not why) or "no others"
                raise UsageError(
                    f"carry: '{pattern}' is no table of {self._parts[0].origin.path}; besides the events it has {named}"
                )
        return tuple(self._common(name, by_path) for name, by_path in self._schemas.items())

    def _common(self, name: str, by_path: Mapping[str, TableSchema]) -> TableSchema:
        (path, first), *_ = by_path.items()
        for part in self._parts:
            if part.origin.path not in by_path:
                raise UsageError(
                    f"{part.origin.path} has no table '{name}' to carry along, and {path} has it: leave the table or "
                    "the file out"
                )
        for other, schema in by_path.items():
            if why := _difference(first, schema):
                raise UsageError(
                    f"table '{name}' cannot be carried along ({other}: {why} in {path}): leave the table or the file "
                    "out"
                )
        attrs, _ = common_attributes([each.attrs for each in by_path.values()])
        about = first.description if len({each.description for each in by_path.values()}) == 1 else ""
        return replace(first, attrs=attrs, description=about)

    def batches(self, tables: Iterable[TableSchema]) -> Iterator[tuple[str, Rows]]:
        """Yields the rows of these tables in the order of the files. Raises DataError if a file has changed."""
        for part in self._parts:
            if part.rows is not None:
                yield from ((name, rows) for name, batches in part.rows.items() for rows in batches)
                continue
            run = part.origin.reopened()
            assert isinstance(run, Run)
            with run:
                yield from ((each.name, rows) for each in tables for rows in _batches(run[each.name]))

    def notes(self, events: str) -> list[str]:
        """Returns one sentence about all that is left out."""
        if not self._others:
            return []
        tables = [f"table '{name}'" for name, why in self._others.items() if not why]
        named = tables + [f"{name} ({why})" for name, why in self._others.items() if why]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        how = "; carry= takes tables along" if tables else ""
        listed = ", ".join(named[:_MOST_NAMED])
        return [f"the outputs have nothing of what the input holds besides '{events}': {listed}{more}{how}"]


def _batches(table: Table) -> Iterator[Rows]:
    (storable,) = Schema((table.schema,)).without_zero_width().tables
    return table.batches(list(storable.row.leaves()), memory_bytes=_BATCH_BYTES)


def _difference(first: TableSchema, other: TableSchema) -> str:
    """Returns the first difference of the columns of two tables; their order does not matter."""
    there, here = dict(first.fields), dict(other.fields)
    for name in there.keys() | here.keys():
        if name not in here:
            return f"it lacks column '{name}', which is"
        if name not in there:
            return f"it has column '{name}', which is not"
        if here[name].bare() != there[name].bare():
            return f"column '{name}' is {here[name]}, but {there[name]}"
    return ""
