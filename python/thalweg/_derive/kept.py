"""Columns of an input that an output keeps as they are."""

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
    """Columns of another file's table that are columns of a table of `out`. None: they go through Python.

    stored: where pages of that table lie; None: none are copied.
    copy_pages: whether whole pages are copied; None: where that is worth it.
    """
    if (who := of.stored_in()) is None:
        return None
    copy = {True: _core.CopyPages.always, False: _core.CopyPages.never, None: _core.CopyPages.where_worth}
    return _core.kept_columns(*who, stored, out.open_run, table, names, copy[copy_pages])
