"""The file that a run is read from, and how a pickle opens it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from thalweg._base.errors import DataError, UsageError


class Opened(Protocol):
    """The part of a run that an origin needs."""

    @property
    def path(self) -> str: ...
    @property
    def id(self) -> str: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True)
class Origin:
    """The file of a run, and the function that opens it again: so a run needs no module above its own."""

    path: str
    id: str
    """The id of the run; empty for a file of another program."""
    is_open: bool
    """The run was still being written when it was opened."""
    open: Callable[[str], Opened]
    is_far: bool = False
    """The file is read by its URL or through a file object."""

    def path_of_pickled(self) -> str:
        """Returns the path for a pickle. Raises UsageError if the file has no path that opens it again."""
        if self.is_far and "://" not in self.path:
            raise UsageError(f"{self.path} cannot be pickled (a file object reads it): open it by its path or URL")
        return self.path

    def path_of_followed(self) -> str:
        """Returns the path of a run that is followed. Raises UsageError if it cannot be followed on this machine."""
        if self.is_far:
            raise UsageError(
                f"{self.path} cannot be followed (it is not read by a path): follow the run on the machine that has it"
            )
        if not self.id:
            raise UsageError(
                f"{self.path} cannot be followed (Thalweg has not written it): open it again to read newer rows"
            )
        return self.path

    def closed(self) -> UsageError:
        """Returns the error of a read after `close`."""
        return UsageError(f"{self.path} cannot be read (it was closed by close()): open it again")


def reopened_run(origin: Origin, rows: Mapping[str, int]) -> Opened:
    """Opens the run of a pickle. Raises DataError if its path now leads to another run."""
    run = origin.open(origin.path)
    for table, count in rows.items():
        _check_same(run, origin, table, count)
    return run


def reopened_table(origin: Origin, table: str, rows: int) -> Any:
    """Opens the table of a pickle. Raises DataError if its path now leads to another run."""
    run = origin.open(origin.path)
    _check_same(run, origin, table, rows)
    return run[table]


def _check_same(run: Opened, origin: Origin, table: str, rows: int) -> None:
    problem = f"{run.path} is not the file that was pickled"
    if run.id != origin.id:
        raise DataError(f"{problem} (it was run {origin.id}, and is now {run.id or 'a file of another program'})")
    if table not in list(run):
        raise DataError(f"{problem} (it now has no table '{table}')")
    count = len(run[table])
    if count < rows or (count > rows and not origin.is_open):
        raise DataError(f"{problem} (its table '{table}' had {rows} rows, and now has {count})")
