"""Where pages of a table end: what is read together costs least."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._table import Table

_MOST_COLUMNS = 64  # that are asked for where their pages end


def page_ends(table: Table) -> list[int]:
    """In rows, ascending; the last one is the number of rows. Any will do for who reads; these spare decoding twice."""
    rows = len(table)
    if rows == 0:
        return []
    return _common(table.page_ends(_MOST_COLUMNS), rows) or [rows]


def _common(columns: Iterable[list[int]], rows: int) -> list[int]:
    """Ends that all columns have; where these are few, those of the column with the largest pages that has several."""
    several = sorted((ends for ends in columns if len(ends) > 1), key=len)
    if not several:
        return [rows]
    common = sorted(set(several[0]).intersection(*several[1:]))
    return common if len(common) > 1 else several[0]
