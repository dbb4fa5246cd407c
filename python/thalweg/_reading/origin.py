"""Where a run is from, and how a pickle opens it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from thalweg._base.errors import DataError, UsageError


class Opened(Protocol):
    """What an origin needs of a run."""

    @property
    def path(self) -> str: ...
    @property
    def id(self) -> str: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True)
class Origin:
    """The place of a run. `open` hands itself down in it, so that what it has opened needs no module above."""

    path: str
    id: str
    """The id of the run; empty in files of other programs."""
    is_open: bool
    """The run was still being written when it was opened."""
    open: Callable[[str], Opened]
    is_far: bool = False
    """The file is read from elsewhere: by its URL, or by a file object."""

    def path_of_pickled(self) -> str:
        """Raises UsageError if no path leads to the file again."""
        if self.is_far and "://" not in self.path:
            raise UsageError(f"{self.path} cannot be pickled (a file object reads it): open it by its path or URL")
        return self.path

    def path_of_followed(self) -> str:
        """Raises UsageError if the file has no run that can be followed from this machine."""
        if self.is_far:
            raise UsageError(f"{self.path} cannot be followed (it is read from elsewhere): follow the run where it is")
        if not self.id:
            raise UsageError(
                f"{self.path} cannot be followed (it is not a run of Thalweg): read it again for newer rows"
            )
        return self.path

    def closed(self) -> UsageError:
        """Returns the error of what is asked for after `close`."""
        return UsageError(f"{self.path} was closed by close(); open it again")


def reopened_run(origin: Origin, rows: Mapping[str, int]) -> Opened:
    """Returns what a pickle of a run is: the file, opened again. Raises DataError if that is another run by now."""
    run = origin.open(origin.path)
    for table, count in rows.items():
        _check_same(run, origin, table, count)
    return run


def reopened_table(origin: Origin, table: str, rows: int) -> Any:
    """Returns what a pickle of a table is."""
    run = origin.open(origin.path)
    _check_same(run, origin, table, rows)
    return run[table]


def _check_same(run: Opened, origin: Origin, table: str, rows: int) -> None:
    where = f"{run.path} is not the file that was pickled"
    if run.id != origin.id:
        raise DataError(f"{where} (it was run {origin.id}, and is {run.id or 'a file of another program'} now)")
    if table not in list(run):
        raise DataError(f"{where} (it has no table '{table}' now)")
    count = len(run[table])
    if count < rows or (count > rows and not origin.is_open):
        raise DataError(f"{where} (its table '{table}' had {rows} rows, and has {count} now)")
