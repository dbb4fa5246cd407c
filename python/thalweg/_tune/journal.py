"""What a trial has done so far, kept in its folder. A trial that was killed is begun again with the same request, and
what it had measured is taken from here instead of being run again."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any, Self

from thalweg._base.errors import DataError, UsageError

_NAME = "journal"
_LAYOUT = 1


class Journal:
    """A file with a JSON object in each line; the first one is the request. One process at a time has it."""

    def __init__(self, folder: Path, file: int, request: dict[str, Any], facts: list[dict[str, Any]]) -> None:
        self.folder, self.request = folder, request
        self._file, self._known, self._next = file, facts, 0

    @classmethod
    def begin(cls, folder: Path, request: dict[str, Any]) -> Self:
        file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        _append(file, {"layout": _LAYOUT, "request": request})
        return cls(folder, file, request, [])

    @classmethod
    def take_over(cls, folder: Path) -> Self | None:
        """Goes on with the journal of a trial that was killed. Returns None if it was killed before it began.

        Raises UsageError if the trial runs now, and DataError if the journal is damaged.
        """
        try:
            file = os.open(folder / _NAME, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            return None
        if not _lock(file):
            os.close(file)
            raise UsageError(f"{folder} belongs to a trial that runs now: wait until it ends")
        lines = (folder / _NAME).read_bytes().split(b"\n")
        # The last line was not written whole if the trial was killed meanwhile.
        os.truncate(file, sum(len(line) + 1 for line in lines[:-1]))
        try:
            facts = [json.loads(line) for line in lines[:-1]]
        except ValueError as error:
            raise DataError(f"{folder / _NAME} is damaged ({error}): take what you need from that folder") from None
        if not facts:
            os.close(file)
            return None
        first, *others = facts
        if first.get("layout") != _LAYOUT:
            raise UsageError(f"{folder / _NAME} is of another version of Thalweg: go on with that one")
        return cls(folder, file, first["request"], others)

    @property
    def is_behind(self) -> bool:
        """Whether something is known that has not been asked for again."""
        return self._next < len(self._known)

    def known(self, what: str, **of: object) -> dict[str, Any] | None:
        """Returns the next fact that is known, or None if nothing more is. Raises UsageError if it is another one."""
        if not self.is_behind:
            return None
        fact = self._known[self._next]
        self._next += 1
        asked = json.loads(json.dumps({"what": what, **of}))
        if any(fact.get(name) != value for name, value in asked.items()):
            raise UsageError(
                f"the trial cannot go on (its journal has {fact.get('what')} where {what} comes now: Thalweg, or a "
                "file that it reads, has changed): begin it again"
            )
        return fact

    def add(self, what: str, **fact: object) -> None:
        assert not self.is_behind, "a fact is learnt once"
        _append(self._file, {"what": what, **fact})

    def close(self) -> None:
        os.close(self._file)


def is_running(folder: Path) -> bool:
    """Returns whether a process has the journal of this folder."""
    try:
        file = os.open(folder / _NAME, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _lock(file)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _append(file: int, fact: dict[str, Any]) -> None:
    line = json.dumps(fact).encode() + b"\n"
    while line:
        line = line[os.write(file, line) :]
