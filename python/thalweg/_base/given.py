"""Checks what callers give: a wrong value raises a UsageError with a sentence, and never an error of the core."""

from __future__ import annotations

import os
from typing import SupportsIndex

from thalweg._base.errors import UsageError

MOST = 2**63 - 1
MOST_THREADS = 4096


def path_of(given: object) -> str:
    """Returns a path as text. Raises UsageError if it is not a path, or not UTF-8 text without a NUL character."""
    try:
        path = os.fspath(given)  # type: ignore[call-overload]
    except TypeError:
        raise UsageError(f"{given!r} is not a path: give a string or a pathlib.Path") from None
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return text_of_user(path, "the path")


def text_of_user(given: object, what: str) -> str:
    """Returns a text. Raises UsageError if it is not a string, or not UTF-8 text without a NUL character."""
    if not isinstance(given, str):
        raise UsageError(f"{what} is {given!r}: give a string")
    if "\0" in given:
        raise UsageError(f"{what} cannot be {given!a} (it holds a NUL character): leave it out")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} cannot be {given!a} (it is not UTF-8 text): give another one") from None
    return given


def integer_of(given: object, what: str, least: int = 0, most: int = MOST) -> int:
    """Returns an integer. Raises UsageError if it is none, or not between `least` and `most`."""
    if isinstance(given, bool) or not isinstance(given, SupportsIndex):
        raise UsageError(f"{what} cannot be {given!r} (it is not an integer): give {_between(least, most)}")
    number = given.__index__()
    if not least <= number <= most:
        raise UsageError(f"{what} cannot be {number}: give {_between(least, most)}")
    return number


def seconds_of(given: object, what: str) -> float:
    """Returns a time in seconds, which may be infinite. Raises UsageError if it is not a number from 0 on."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not given >= 0:
        raise UsageError(f"{what} cannot be {given!r}: give a time in seconds, 0 or more")
    return float(given)


def nanoseconds_of(given: object, what: str) -> int:
    """Returns a time that is given in seconds. Raises UsageError if it is not a number from 0 on, or too large."""
    seconds = seconds_of(given, what)
    if seconds * 1e9 > MOST:
        raise UsageError(f"{what} cannot be {given!r}: give at most {MOST // 10**9} seconds")
    return int(seconds * 1e9)


def _between(least: int, most: int) -> str:
    return f"{least} or more" if most == MOST else f"{least} to {most}"
