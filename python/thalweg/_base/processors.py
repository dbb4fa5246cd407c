"""Writes and reads lists of processors such as 0-3,8, as the kernel and taskset write them."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg import _core
from thalweg._base.errors import DataError


def processors_text(processors: Iterable[int]) -> str:
    """Returns processors as text, in ascending order; empty if there are none."""
    return _core.processors_text(list(processors))


def processors_of(text: str) -> list[int]:
    """Returns the processors of such a text, in its order. Raises DataError if it is none."""
    found: list[int] = []
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise DataError(f"'{text}' is not a list of processors")
        found += range(int(first), int(last or first) + 1)
    return found
