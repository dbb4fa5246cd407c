"""From a range of the input to the columns of an output: selections, functions, kept columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._derive.derivation import Derivation
from thalweg._derive.lazy import LazyForm, LazyRows
from thalweg._derive.summaries import Summary, checked_values
from thalweg._derive.types import columns_in
from thalweg._errors import UsageError
from thalweg._table import Table
from thalweg._take import taken_of


class Source:
    """Rows of the input, for all outputs: what one has read is there for the others."""

    def __init__(self, form: LazyForm, table: Table, start: int, stop: int, used: set[str]) -> None:
        self.lazy = LazyRows(table, start, stop, used)
        self.events = form.events(self.lazy)

    def __len__(self) -> int:
        return len(self.lazy)


@dataclass(frozen=True)
class Derived:
    columns: dict[str, Any]
    rows: int
    summary: Summary


def derived(derivation: Derivation, kept: Sequence[str], source: Source) -> Derived:
    """Raises UsageError where a function returns what does not fit; what a function raises passes."""
    name = f"the derivation of {derivation.path}"
    events, chosen = source.events, np.arange(len(source))
    summary = Summary(events=len(source))
    for cut, select in derivation.cuts:
        mask = _mask(select(events), len(events), f"{name}: the selection '{cut}'")
        if not mask.all():
            events, chosen = events[mask], chosen[mask]
        summary.cuts[cut] = len(chosen)
    columns = source.lazy.columns(kept)
    if len(chosen) < len(source):
        columns = {column: taken_of(value, chosen) for column, value in columns.items()}
    rows = len(chosen)
    if derivation.function is not None:
        computed = columns_in(derivation.function(events), f"{name}: the function")
        rows = _checked_rows(computed, rows if derivation.one_row_an_event else None, name)
        if both := columns.keys() & computed.keys():
            raise UsageError(f"{name}: column '{min(both)}' is kept, and the function returns it, too: leave one out")
        columns |= computed
    if derivation.summary is not None:
        summary.values = checked_values(derivation.summary(source.events), name)
    summary.rows = rows
    return Derived(columns, rows, summary)


def _mask(value: Any, count: int, what: str) -> Any:
    try:
        mask = np.asarray(value)
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise UsageError(
            f"{what} has not one bool for each event ({why}): what missing values mean says ak.fill_none"
        ) from error
    if np.ma.is_masked(value):
        raise UsageError(f"{what} has missing values: fill them")
    if mask.dtype != np.bool_ or mask.shape != (count,):
        raise UsageError(f"{what} has {mask.dtype} of shape {mask.shape}: {count} bools are needed, one for each event")
    return mask


def _checked_rows(columns: dict[str, Any], wanted: int | None, name: str) -> int:
    import awkward as ak

    for column, value in columns.items():
        if isinstance(value, list | tuple):
            columns[column] = ak.Array(value)
        if not hasattr(columns[column], "__len__"):
            raise UsageError(f"{name}: column '{column}' is {value!r}: return a row for each event")
        if wanted is None:
            wanted = len(columns[column])
        if len(columns[column]) != wanted:
            raise UsageError(
                f"{name}: column '{column}' has {len(columns[column])} rows, and {wanted} are needed: one for each "
                "selected event, or with one_row_an_event=False as many as the other columns have"
            )
    assert wanted is not None
    return wanted
