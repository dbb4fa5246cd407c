"""Reading: closed files, and runs that are still being written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakSet

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._reading.origin import closed_reader, opener, path_of_followed, path_of_pickled
from thalweg._reading.table import BATCH_BYTES, Table
from thalweg._schema.attributes import Attributes
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import Value, in_effect

if TYPE_CHECKING:
    from thalweg._schema.left_out import LeftOut
    from thalweg._values.row_groups import NewRows, Unit


class Run(Mapping[str, Table]):
    """A recorded run: a mapping from the names of its tables to `Table`. A snapshot, if it is still being written.

    `run["ch0/waveform/values"]` is a column, as h5py's paths lead to one. A pickle has the path of the file, which is
    opened again where it is loaded; of what a file object reads there is none.
    """

    _is_closed = False

    def __init__(self, core: _core.Reader) -> None:
        self._core = core
        self._tables: WeakSet[Table] = WeakSet()
        stored = core.schema
        self._schema = Schema.from_json(stored)
        self._columns = _core.flatten(stored)

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def id(self) -> str:
        """What no other run has. Empty in files of other programs."""
        return self._core.id

    @property
    def metadata(self) -> dict[str, str]:
        return self._core.metadata

    @cached_property
    def problems(self) -> tuple[LeftOut, ...]:
        """What the file has and the tables have not, and why: empty where all of it is read."""
        from thalweg._schema.left_out import problems_of

        return problems_of(self._core.left_out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is shown otherwise than it is stored, in files of other programs."""
        return tuple(self._core.notes)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the run; of an HDF5 file those of its root. What is noted while a run is recorded is
        `metadata`."""
        return self._schema.attrs

    @property
    def group_attrs(self) -> dict[str, Attributes]:
        """The attributes of groups that are no tables, by name."""
        return dict(self._schema.groups)

    @property
    def keys_per_group(self) -> int:
        """So many consecutive keys of its work units were committed together; 0: its rows are in no order of keys."""
        return self._core.keys_per_group

    @property
    def knobs(self) -> dict[str, Value]:
        """The knobs it is written with, by name: sizes in bytes, times in seconds. Of somebody else's file: none."""
        return in_effect(self._core.knobs)

    @property
    def path(self) -> str:
        return self._core.path

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The work units that were committed, in the order in which the run got to know of them. Of a run that is still
        open: those whose rows can be read.

        Raises DataError where the file's table of units is damaged; the rows can still be read.
        """
        from thalweg._values.row_groups import Unit, UnitRows

        names = list(self._schema)
        return tuple(
            Unit(
                unit.key,
                unit.summary,
                tuple(UnitRows(names[each.table], each.producer, each.first_row, each.rows) for each in unit.ranges),
            )
            for unit in self._core.units()
        )

    @property
    def is_open(self) -> bool:
        """The run is not closed: it is still being written, or waits for `recover`. Open it again for newer rows."""
        return self._core.is_open_run

    def __getitem__(self, name: str) -> Table:
        """A table, or a column of one: "ch0/waveform/values", which type checkers do not tell from a table.

        Raises UnknownNameError where there is none.
        """
        if self._is_closed:
            raise UsageError(f"{self.path} was closed by close(); open it again")
        table = name
        while table and table not in self._schema:
            table = table.rpartition("/")[0]
        if not table:
            self._schema.index(name)  # which raises
        found = self._table(table)
        self._tables.add(found)
        return found if table == name else cast(Table, found[name[len(table) + 1 :]])

    def _table(self, name: str) -> Table:
        return Table(self._core, self._schema, name, self._columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema)

    def __len__(self) -> int:
        return len(self._schema)

    def close(self) -> None:
        """From now on its tables cannot be read. Without it, the file is closed once nobody refers to the run."""
        self._core = closed_reader(self.path)
        self._is_closed = True
        for table in self._tables:
            table.close()

    def refresh(self) -> Self:
        """Shows newer rows, if the run is still being written. Tables that were taken before stay as they are, since
        the number of a row may change until a run is closed.

        Raises DataError where another run has taken its place, UsageError in files of other programs.
        """
        if not self.is_open:
            return self
        core = _core.Reader.open(self.path)
        if core.id != self.id:
            raise DataError(f"{self.path} is another run now (it was {self.id}, and is {core.id}); open it again")
        self._core = core
        self.__dict__.pop("problems", None)
        self.__dict__.pop("units", None)
        return self

    def follow(
        self,
        *,
        interval: float = 1.0,
        timeout: float | None = None,
        memory_bytes: int = BATCH_BYTES,
        next_files: bool = True,
    ) -> Iterator[NewRows]:
        """Every row of the run once, from those that are there on, as they come: until the run is closed.

        Rows of a producer come in its order (of work units, when they count), and between producers in none: their
        numbers in the table change until the run is closed, so `NewRows` says which producer has them, and how that
        counts. What is given out has been journaled: it outlives the death of all processes that write, and of a run
        that was killed the rest comes once it is recovered, or resumed. After a power cut, rows that were given out may
        be lost: at the end that is a DataError.

        interval: seconds between looks, or longer: looking takes a tenth of the time at most, and grows with the pages
        of the run.
        timeout: seconds without new rows, after which that is a SystemError (ETIMEDOUT). None: waits for ever, also
        where nobody writes any more.
        memory_bytes: what rows that are given out at once may take, about.
        next_files: a run that goes on in another file, as `record --max-file-size` makes them, is followed there once
        this one is closed; `NewRows.path` says which it is. False: to the end of this file.

        It takes no notice of `close` and `refresh`. Raises UsageError in files of other programs, or where the file is
        or the next one is gone, DataError where another run has taken its place.
        """
        follow: Callable[..., Iterator[NewRows]] = opener("followed")
        return follow(path_of_followed(self._core), self.id, None, None, interval, timeout, memory_bytes, next_files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        rows = {name: len(self[name]) for name in self}
        return opener("reopened_run"), (path_of_pickled(self._core), self.id, self.is_open, rows)

    def __repr__(self) -> str:
        if self._is_closed:
            return f"<Run {self.path}, closed by close()>"
        tables = ", ".join(f"'{name}': {len(table)} rows" for name, table in self.items())
        missing = f"; {len(self.problems)} left out, see problems" if self.problems else ""
        return f"<Run {self.path}{' (still open)' if self.is_open else ''}: {tables}{missing}>"


def read_memory(size: int | str | None = None) -> int:
    """What all that is read in this process may take for decoding at once, in bytes, beside what it returns.

    size: sets it: bytes, or a text as "64 MiB". Without it, and without the environment variable THALWEG_READ_MEMORY,
    that is 256 MiB. A page that takes more is decoded alone.

    Raises UsageError where it is no size, or 0.
    """
    if size is not None:
        bytes_ = _core.parse_size_bytes(size) if isinstance(size, str) else size
        if bytes_ < 1:
            raise UsageError(f"readers cannot do with {bytes_} bytes of memory: give them 1 at least")
        _core.set_read_memory_bytes(bytes_)
    return _core.read_memory_bytes()
