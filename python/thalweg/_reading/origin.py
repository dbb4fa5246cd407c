"""What stands in the place of a file that was closed, and how pickles open one again."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn, cast

from thalweg import _core
from thalweg._base.errors import UsageError


class ClosedReader:
    """In the place of a reader that was closed: whatever is asked for is an error."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse()

    def refuse(self) -> NoReturn:
        raise UsageError(f"{self.path} was closed by close(); open it again")


def closed_reader(path: str) -> _core.Reader:
    return cast("_core.Reader", ClosedReader(path))


def opener(function: str) -> Any:
    """A function of the module that opens files, by name: it stands above all that is opened, and pickles need it."""
    return getattr(import_module("thalweg._files.open"), function)


def path_of_pickled(core: _core.Reader) -> str:
    """Raises UsageError where no path leads to the file again."""
    if core.is_far and "://" not in core.path:
        raise UsageError(f"{core.path} cannot be pickled (a file object reads it); open it by its path or URL")
    return core.path


def path_of_followed(core: _core.Reader) -> str:
    """Raises UsageError where the file is not on this machine: only closed ones are read from elsewhere."""
    if core.is_far:
        raise UsageError(f"{core.path} cannot be followed (it is read from elsewhere); follow the run where it is")
    return core.path
