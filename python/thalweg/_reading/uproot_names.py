"""The names that users of uproot know: columns by patterns, and arrays of a library."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from thalweg._base.errors import UnknownNameError, UsageError
from thalweg._reading.protocol import ReadsRows
from thalweg._values.rows import Rows

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
    "ti": 1 << 40,
}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b\s*", re.IGNORECASE)


def matching(table: ReadsRows, patterns: str | Iterable[str] | None) -> list[str] | None:
    """Returns the names of the columns that match, in the order of the patterns; None for None.

    Raises UnknownNameError if a pattern matches no column."""
    if patterns is None:
        return None
    from fnmatch import fnmatchcase  # importing it takes time

    found: dict[str, None] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        if not isinstance(pattern, str):
            raise UsageError(f"{pattern!r} is not the name of a column of table '{table.name}'")
        if not any(each in pattern for each in "*?["):
            found[pattern] = None
            continue
        names = [name for name in table.schema if fnmatchcase(name, pattern)]
        names = names or [name for name in table.columns if fnmatchcase(name, pattern)]
        if not names:
            raise UnknownNameError(
                f"table '{table.name}' has no column that matches '{pattern}'; its fields are {', '.join(table.schema)}"
            )
        found.update(dict.fromkeys(names))
    return list(found)


def in_library(rows: Rows, library: str) -> Any:
    """Returns rows as arrays of a library. Raises UsageError if the library is not known."""
    if library == "ak":
        return rows.to_awkward()
    if library == "np":
        return dict(rows.items())
    if library == "pd":
        return rows.to_pandas()
    raise UsageError(f"library cannot be {library!r}: give 'ak' (Awkward), 'np' (NumPy) or 'pd' (pandas)")


def step_of(step_size: int | str) -> tuple[int | None, int | None]:
    """Returns the rows or the bytes of a step, such as 10_000 or "100 MB". Raises UsageError if it is neither."""
    if isinstance(step_size, int) and not isinstance(step_size, bool) and step_size > 0:
        return step_size, None
    found = _SIZE.fullmatch(step_size) if isinstance(step_size, str) else None
    size = int(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
    if size < 1:
        raise UsageError(f"step_size cannot be {step_size!r}: give rows, such as 10_000, or a size, such as '100 MB'")
    return None, size
