"""Fits texts into a picture: names lose what all of them share, and what is too long is folded or shortened."""

import textwrap
from collections.abc import Callable
from typing import Any

from matplotlib.text import Text

_LEAST = 6  # characters that are always left
_ELLIPSIS = "…"


def short_names(names: list[str]) -> tuple[dict[str, str], str]:
    """Returns a short form of each name, and a sentence about what they have lost, or an empty one.

    The folders that all names share, at the beginning and at the end, are left out."""
    parts = [name.split("/") for name in names]
    most = min(map(len, parts)) - 1
    if len(names) < 2 or most < 1:
        return dict(zip(names, names, strict=True)), ""
    first = _shared(parts, most, lambda part, at: part[at])
    last = _shared(parts, most - first, lambda part, at: part[-1 - at])
    if not first + last:
        return dict(zip(names, names, strict=True)), ""
    short = ["/".join(part[first : len(part) - last]) for part in parts]
    pattern = "/".join([*parts[0][:first], _ELLIPSIS, *parts[0][len(parts[0]) - last :]])
    return dict(zip(names, short, strict=True)), f"The tables are {pattern}."


def shorten(text: str, most: int) -> str:
    """Returns the text with at most so many characters. Its middle is left out, since names differ at both ends."""
    if len(text) <= most:
        return text
    kept = max(most, _LEAST) - 1
    return text[: kept - kept // 2] + _ELLIPSIS + text[len(text) - kept // 2 :]


def shorten_to(text: Text, most_px: float) -> None:
    """Shortens a text that is wider in the picture."""
    _try_until(text, most_px, lambda whole, most: shorten(whole, most), "width")


def fold_to(text: Text, most_px: float, direction: str = "width") -> None:
    """Folds a text at spaces if it is wider (or higher, if it is rotated) in the picture."""
    _try_until(text, most_px, lambda whole, most: textwrap.fill(whole, most), direction)


def _try_until(text: Text, most_px: float, change: Callable[[str, int], str], direction: str) -> None:
    whole = text.get_text()
    most = len(whole)
    while whole and _extent(text, direction) > most_px and most > _LEAST:
        most = max(_LEAST, min(most - 1, int(most * most_px / _extent(text, direction))))
        text.set_text(change(whole, most))


def _extent(text: Text, direction: str) -> float:
    extent: Any = text.get_window_extent()
    return float(getattr(extent, direction))


def _shared(parts: list[list[str]], most: int, at: Callable[[list[str], int], str]) -> int:
    """Returns the number of parts that are equal in all names."""
    count = 0
    while count < most and len({at(part, count) for part in parts}) == 1:
        count += 1
    return count
