"""Runs that are read: closed files, and runs that are still being written, whichever library reads them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Self, cast
from weakref import WeakSet

from thalweg._base.errors import UsageError
from thalweg._reading.asked import BATCH_BYTES
from thalweg._reading.follow import Tables, followed
from thalweg._reading.origin import Origin, reopened_run
from thalweg._reading.table import Table
from thalweg._schema.attributes import Attributes
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import Value
from thalweg._values.row_groups import NewRows, Unit


class Run(Mapping[str, Table]):
    """A recorded run: a mapping from the names of its tables to `Table`. A snapshot, if it is still being written.

    `run["ch0/waveform/values"]` is a column, as h5py's paths lead to one. A pickle has the path of the file, which is
    opened again where it is loaded; of what a file object reads there is none.
    """

    def __init__(self, origin: Origin, schema: Schema) -> None:
        self.origin = origin
        """Its file, and how that is opened again."""
        self._schema = schema
        self._is_closed = False
        self._tables: WeakSet[Table] = WeakSet()

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def id(self) -> str:
        """What no other run has. Empty in files of other programs."""
        return self.origin.id

    @property
    def path(self) -> str:
        return self.origin.path

    @property
    @abstractmethod
    def metadata(self) -> dict[str, str]: ...

    @property
    @abstractmethod
    def problems(self) -> tuple[LeftOut, ...]:
        """What the file has and the tables have not, and why: empty where all of it is read."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What is shown otherwise than it is stored, in files of other programs."""

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
        return 0

    @property
    def knobs(self) -> dict[str, Value]:
        """The knobs it is written with, by name: sizes in bytes, times in seconds. Of somebody else's file: none."""
        return {}

    @property
    def units(self) -> tuple[Unit, ...]:
        """The work units that were committed, in the order in which the run got to know of them. Of a run that is still
        open: those whose rows can be read.

        Raises DataError where the file's table of units is damaged; the rows can still be read.
        """
        return ()

    @property
    def is_open(self) -> bool:
        """The run is not closed: it is still being written, or waits for `recover`. Open it again for newer rows."""
        return False

    def __getitem__(self, name: str) -> Table:
        """A table, or a column of one: "ch0/waveform/values", which type checkers do not tell from a table.

        Raises UnknownNameError where there is none.
        """
        self._check_is_open()
        table = name
        while table and table not in self._schema:
            table = table.rpartition("/")[0]
        if not table:
            self._schema.index(name)  # which raises
        found = self._table(table)
        self._tables.add(found)
        return found if table == name else cast(Table, found[name[len(table) + 1 :]])

    @abstractmethod
    def _table(self, name: str) -> Table: ...

    def _check_is_open(self) -> None:
        """Raises UsageError after `close`."""
        if self._is_closed:
            raise self.origin.closed()

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema)

    def __len__(self) -> int:
        return len(self._schema)

    def close(self) -> None:
        """From now on its tables cannot be read. Without it, the file is closed once nobody refers to the run."""
        self._is_closed = True
        for table in self._tables:
            table.close()

    def refresh(self) -> Self:
        """Shows newer rows, if the run is still being written. Tables that were taken before stay as they are, since
        the number of a row may change until a run is closed.

        Raises DataError where another run has taken its place, UsageError in files of other programs.
        """
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
        self._check_is_open()
        path, id_ = self.origin.path_of_followed(), self.id
        return followed(self._when_followed(), path, id_, None, None, interval, timeout, memory_bytes, next_files)

    def _when_followed(self) -> Tables:
        """Returns what makes tables of a run that is followed. Raises UsageError if the run cannot be followed."""
        raise UsageError(f"{self.path} cannot be followed (it is no run of Thalweg's)")

    # Of a mapping the values would be compared, and its tables are made anew each time.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        self._check_is_open()
        self.origin.path_of_pickled()
        return reopened_run, (self.origin, {name: len(self[name]) for name in self})

    def __repr__(self) -> str:
        if self._is_closed:
            return f"<Run {self.path}, closed by close()>"
        tables = ", ".join(f"'{name}': {len(table)} rows" for name, table in self.items())
        missing = f"; {len(self.problems)} left out, see problems" if self.problems else ""
        return f"<Run {self.path}{' (still open)' if self.is_open else ''}: {tables}{missing}>"
