"""Keeps columns of an input unchanged in an output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from thalweg import _core
from thalweg._reading.table import Table
from thalweg._writing.attached import Attached

Kept: TypeAlias = "_core.KeptColumns"


def kept_columns(
    out: Attached,
    of: Table,
    stored: _core.StoredClusters | None,
    table: str,
    names: Sequence[str],
    copy_pages: bool | None,
) -> Kept | None:
    """Returns columns of an input table that a table of `out` can keep, or None if they must go through Python.

    stored: the places of the pages of the input table; None if no pages can be copied.
    copy_pages: whether whole pages are copied; None: if it pays.
    """
    if (reader_and_index := of.stored_in()) is None:
        return None
    copy = {True: _core.CopyPages.always, False: _core.CopyPages.never, None: _core.CopyPages.where_worth}
    return _core.kept_columns(*reader_and_index, stored, out.open_run, table, names, copy[copy_pages])
