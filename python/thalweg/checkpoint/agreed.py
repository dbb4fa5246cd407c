"""What a rank gives to `save` and `restore`, converted so that the other ranks learn of an error and do not wait."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any, TypeVar

from thalweg._base.errors import Error, UsageError, text_of
from thalweg._base.ranks import Ranks

Given = TypeVar("Given")
Refuse = Callable[[Ranks, str, Exception], None]


def agreed(ranks: Ranks, path: Any, refuse: Refuse, convert: Callable[[], Given]) -> Given:
    """Returns what `convert` returns. If it raises, all ranks raise: this one takes part in their first agreement."""
    try:
        return convert()
    except Exception as error:
        refuse(ranks, _readable(path), _told(error))
        raise AssertionError("all ranks have raised") from error


def path_text(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """Returns a path as the text that the core takes. Raises UsageError if it is none."""
    text = os.fspath(path)
    try:
        whole = text.encode().decode() if isinstance(text, str) else text.decode()
    except UnicodeError:
        raise UsageError(f"the path {text!r} is no text in UTF-8: take another name") from None
    if not whole or "\0" in whole:
        raise UsageError(f"the path {whole!r} names no file: give a name")
    return whole


def number(name: str, given: Any, least: int, most: int) -> int:
    """Returns an argument as an integer. Raises UsageError if it is none, or not in the range."""
    try:
        whole = operator.index(given)
    except TypeError:
        whole = least - 1
    if not least <= whole <= most:
        raise UsageError(f"{name}={given!r} is not possible: give an integer from {least} to {most}")
    return whole


def _told(error: Exception) -> Exception:
    """Returns the error as one of the request, unless the machine has failed, or the bytes of a file are wrong."""
    if isinstance(error, (Error, OSError, MemoryError)):
        return error
    return UsageError(text_of(error))


def _readable(path: Any) -> str:
    return str(path).encode("utf-8", "backslashreplace").decode()
