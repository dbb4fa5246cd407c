"""Runs that are read, from closed files or while they are written, with any library."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, cast
from weakref import WeakSet

from thalweg._base.errors import Error, UsageError
from thalweg._reading.asked import BATCH_BYTES, listed, tables_with
from thalweg._reading.column import Column
from thalweg._reading.follow import Following, Tables, followed
from thalweg._reading.origin import Origin, reopened_run
from thalweg._reading.run_file import RunFile
from thalweg._reading.status import RunStatus
from thalweg._reading.table import Table
from thalweg._schema.attributes import Attributes
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema
from thalweg._schema.tuning import Value
from thalweg._values.row_groups import NewRows, Unit


class Run(Mapping[str, Table]):
    """A recorded run: a mapping from the names of its tables to `Table`. It is a snapshot if the run is still written.

    `run["ch0/waveform/values"]` is a column, like a path of h5py; `column` returns the same, and type checkers know it.
    A pickle holds the path of the file, and loading it opens the file again; a run that is read through a file object
    cannot be pickled.
    """

    def __init__(self, origin: Origin, schema: Schema) -> None:
        self.origin = origin
        """The file of the run, and the function that opens it again."""
        self._schema = schema
        self._is_closed = False
        self._tables: WeakSet[Table] = WeakSet()

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def id(self) -> str:
        """The identifier of the run, which no other run has. It is empty for a file of another program."""
        return self.origin.id

    @property
    def path(self) -> str:
        return self.origin.path

    @property
    def parts(self) -> tuple[Run, ...]:
        """The runs of its files, in their order: if it has one file, this run alone."""
        return (self,)

    @property
    @abstractmethod
    def metadata(self) -> dict[str, str]: ...

    @property
    @abstractmethod
    def problems(self) -> tuple[LeftOut, ...]:
        """The parts of the file that cannot be read, each with the reason. Empty if all of the file is read."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """The differences between stored and shown names and values, for a file of another program."""

    @property
    def attrs(self) -> Attributes:
        """The attributes of the run: in an HDF5 file, those of its root group. Texts that are noted while a run is
        recorded are in `metadata`."""
        return self._schema.attrs

    @property
    def group_attrs(self) -> dict[str, Attributes]:
        """The attributes of groups that are no tables, by name."""
        return dict(self._schema.groups)

    @property
    def keys_per_group(self) -> int:
        """The number of consecutive keys of a group of work units, or 0 if rows are not ordered by key."""
        return 0

    @property
    def knobs(self) -> dict[str, Value]:
        """The knobs that the run is written with, by name: sizes in bytes, times in seconds. Empty for other files."""
        return {}

    @property
    def units(self) -> tuple[Unit, ...]:
        """The committed work units, in the order in which the run has recorded them. An open run has only those with
        readable rows.

        Raises DataError if the table of units in the file is damaged; the rows can still be read.
        """
        return ()

    @property
    def is_open(self) -> bool:
        """Whether the run is open: it is still written, or `recover` must complete it. `refresh` shows newer rows."""
        return False

    def __getitem__(self, name: str) -> Table:
        """Returns a table by its name, or a column by its path ("ch0/waveform/values"; type checkers see a table: see
        `column`).

        Raises UnknownNameError if there is neither, UsageError if the run is closed.
        """
        self._check_is_open()
        table = name if type(name) is str else ""
        while table and table not in self._schema:
            table = table.rpartition("/")[0]
        if not table:
            self._schema.index(name)  # this raises the error
        found = self._table(table)
        self._tables.add(found)
        return found if table == name else cast(Table, found[name[len(table) + 1 :]])

    def column(self, path: str) -> Column:
        """Returns a column by the name of its table and its path there: "ch0/waveform/values".

        Raises UnknownNameError if there is none, UsageError if the path names a table, or if the run is closed.
        """
        found: object = self[path]
        if not isinstance(found, Column):
            raise UsageError(f"{self.path}: '{path}' is a table (it has {', '.join(self[path])}): name one of these")
        return found

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
        """Closes the file: its tables can no longer be read. Without this call, the file is closed with the last
        reference to the run."""
        self._is_closed = True
        for table in self._tables:
            table.close()

    def as_file(self) -> RunFile:
        """Returns the file of the run as it is now, for programs that read HDF5 or ROOT files: an open run is a
        complete file, too.

        Raises UsageError if the run is read by a URL or through a file object, or is closed by `close`; DataError if
        the path now leads to another run or file.
        """
        self._check_is_open()
        return RunFile.of(self.origin)

    def refresh(self) -> Self:
        """Shows newer rows if the run is still written, and returns the run. Tables taken from it before do not change,
        since the number of a row may change until a run is closed.

        Raises DataError if the path now leads to another run, UsageError if another program still writes the file.
        """
        return self

    def status(self) -> RunStatus:
        """Returns who writes the run at present, and how it is: producers, counters, dead time, durable lag.

        An open run is asked for in its memory on this machine, which its processes share: they are not disturbed, and
        this call does not read the file, whatever its size. A run that was complete when it was opened is closed.

        Raises UsageError if another program has written the file, if the run is read by a URL or through a file
        object, if another version of Thalweg writes it, or if it is closed by `close` of this object; DataError if the
        path now leads to another run; SystemError if the machine does not say whether processes live.
        """
        self._check_is_open()
        raise UsageError(f"{self.path} has no status (Thalweg has not written it): ask the program that writes it")

    def follow(
        self,
        columns: str | Iterable[str] | None = None,
        *,
        interval: float = 1.0,
        timeout: float | None = None,
        memory_bytes: int = BATCH_BYTES,
        next_files: bool = True,
    ) -> Iterator[NewRows]:
        """Yields each row of the run once, first the rows that are there and then new ones, until the run is closed.

        The rows of one producer come in its order; rows of work units come once the unit counts. There is no order
        between producers: the numbers of rows in the table may change until the run is closed, so `NewRows` names the
        producer and counts its rows. Rows are yielded once they are journaled, so they survive the death of all writing
        processes. If the run was killed, its other rows come once it is recovered or resumed. A power cut may lose rows
        that were yielded; this raises a DataError at the end.

        columns: as in `Table.read`: only these are read. Tables that lack one of them are not followed.
        interval: the time in seconds between two looks at the run. It is longer if a look takes more than a tenth of
            it, since the time of a look grows with the pages of the run.
        timeout: the time in seconds without new rows after which a SystemError (ETIMEDOUT) is raised. None means no
            limit, even if no process writes any more.
        memory_bytes: the approximate memory of the rows that are yielded at once.
        next_files: whether a run that goes on in another file (see `record --max-file-size`) is followed there once
            this file is closed. `NewRows.path` is the file of the rows.

        `close` and `refresh` have no effect on it. Raises UsageError if another program has written the file, or if
        this file or the next one no longer exists; UnknownNameError if no table has all of `columns`; DataError if the
        path now leads to another run.
        """
        self._check_is_open()
        names = listed(columns)
        chosen = None if names is None else tables_with(self._schema, names)
        path, id_ = self.origin.path_of_followed(), self.id
        return followed(self._when_followed(), path, id_, chosen, names, interval, timeout, memory_bytes, next_files)

    def _when_followed(self) -> Tables:
        """Returns the function that makes the tables of a followed run. Raises UsageError if it cannot be followed."""
        raise UsageError(f"{self.path} cannot be followed (Thalweg has not written it): open it again")

    # The comparison of a mapping would compare its tables, which are new objects at each access.
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
        tables = ", ".join(f"'{name}': {len(table):,} rows" for name, table in self.items())
        missing = f"; {len(self.problems)} left out, see problems" if self.problems else ""
        return f"<Run {self.path}{self._openness() if self.is_open else ''}: {tables}{missing}>"

    def _openness(self) -> str:
        try:
            is_left = bool(self.id) and self.status().state == "left"
        except Error:  # what could not be asked is no answer
            return " (not complete)"
        return " (not complete, and not written any more: recover completes it)" if is_left else " (still open)"


def pieces_of(run: Run) -> Following:
    """Returns what `Run.follow` is made of, for what reads other columns of some new rows than of others.

    Raises UsageError if the run cannot be followed.
    """
    tables = run._when_followed()  # noqa: SLF001 (a method of this module)
    return Following(tables, run.origin.path_of_followed(), run.id, None)
