"""The file that a run is read from, and how a pickle opens it again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from thalweg._base.errors import DataError, SystemError, UsageError  # noqa: A004
from thalweg._base.file_state import FileState, boot_id


class Opened(Protocol):
    """The part of a run that an origin needs."""

    @property
    def path(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def origin(self) -> Origin: ...
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
    state: FileState | None = None
    """The state of the file when it was opened; None if it has a journal, or is read from elsewhere."""
    place: str = ""
    """The absolute path, which leads to the file from any working directory; the URL of a far file."""
    boot_id: str = field(default_factory=lambda: _boot_id_if_known())
    """The machine on which `state` was asked for; empty if that is not known: then only contents are compared."""

    def __post_init__(self) -> None:
        if not self.place:
            object.__setattr__(self, "place", self.path if self.is_far else os.path.abspath(self.path))

    def reopened(self) -> Opened:
        """Returns the run, opened again. Raises DataError if another file has its name now, or if it has changed."""
        run = self.open(self.place)
        where = f"{self.path} is not the file that was opened"
        now = run.origin
        if now.id != self.id:
            raise DataError(f"{where} (it was run {self.id}, and is {now.id or 'a file of another program'} now)")
        if self.id or self.is_open or self.state is None or now.state is None:
            return run
        if self.boot_id and self.boot_id == now.boot_id:
            self.state.check(now.state, self.path)
        elif not self.state.has_same_content(now.state):
            raise DataError(f"{where} (its size or its time of modification differs)")
        return run

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


def _boot_id_if_known() -> str:
    try:
        return boot_id()
    except SystemError:
        return ""


def reopened_run(origin: Origin, rows: Mapping[str, int]) -> Opened:
    """Opens the run of a pickle. Raises DataError if its path now leads to another run."""
    run = origin.reopened()
    for table, count in rows.items():
        _check_same(run, origin, table, count)
    return run


def reopened_table(origin: Origin, table: str, rows: int) -> Any:
    """Opens the table of a pickle. Raises DataError if its path now leads to another run."""
    run = origin.reopened()
    _check_same(run, origin, table, rows)
    return run[table]


def _check_same(run: Opened, origin: Origin, table: str, rows: int) -> None:
    problem = f"{run.path} is not the file that was pickled"
    if table not in list(run):
        raise DataError(f"{problem} (it now has no table '{table}')")
    count = len(run[table])
    if count < rows or (count > rows and not origin.is_open):
        raise DataError(f"{problem} (its table '{table}' had {rows} rows, and now has {count})")
