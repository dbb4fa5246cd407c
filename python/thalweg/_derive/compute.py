"""Computes the columns of an output from a range of the input: selections, functions and kept columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._derive.derivation import Derivation
from thalweg._derive.lazy import LazyForm, LazyRows, shallow
from thalweg._derive.summaries import Summary, checked_values
from thalweg._derive.types import columns_in
from thalweg._values.take import taken_of

Array = npt.NDArray[Any]


class RowSource:
    """A range of the input. All outputs share it, so that each column is read once."""

    def __init__(self, form: Callable[[], LazyForm], lazy: LazyRows, attrs: Mapping[str, Any]) -> None:
        self.lazy = lazy
        self._form = form
        self._attrs = attrs

    def events(self) -> Any:
        """Returns the events as an Awkward array. Each call returns a record of its own over the same columns."""
        return shallow(self._events)

    @cached_property
    def _events(self) -> Any:
        return self._form().events(self.lazy, self._attrs)

    def __len__(self) -> int:
        return len(self.lazy)


@dataclass(frozen=True)
class Derived:
    source: RowSource
    chosen: Array | None
    """The positions of the selected events in the range, or None if all events are selected."""
    computed: dict[str, Any]
    """The computed columns by name."""
    rows: int
    summary: Summary

    @property
    def mask(self) -> Array | None:
        """One byte for each event, 1 if it is selected; None if all events are selected."""
        if self.chosen is None:
            return None
        mask = np.zeros(len(self.source), np.uint8)
        mask[self.chosen] = 1
        return mask

    def kept(self, names: Sequence[str]) -> dict[str, Any]:
        """Returns the values of whole fields of the input for the selected events."""
        columns = self.source.lazy.columns(names)
        if self.chosen is None:
            return columns
        return {name: taken_of(value, self.chosen) for name, value in columns.items()}


def derived(derivation: Derivation, kept: Sequence[str], source: RowSource) -> Derived:
    """Computes one output from a range.

    Raises UsageError if a function returns a value that does not fit. What a function raises is passed on.
    """
    name = f"the derivation of {derivation.path}"
    count = len(source)
    summary = Summary(events=count)
    if derivation.only_keeps:
        summary.rows = count
        return Derived(source, None, {}, count, summary)
    events, chosen = source.events(), np.arange(count)
    for cut, select in derivation.cuts:
        what = f"{name}: the selection '{cut}'"
        mask = _mask(_called(select, events, what), len(events), what)
        if not mask.all():
            events, chosen = events[mask], chosen[mask]
        summary.cuts[cut] = len(chosen)
    rows = len(chosen)
    computed = {}
    if derivation.function is not None:
        computed = columns_in(_called(derivation.function, events, f"{name}: the function"), f"{name}: the function")
        rows = _checked_rows(computed, rows if derivation.one_row_an_event else None, name)
        if both := set(kept) & computed.keys():
            raise UsageError(
                f"{name}: column '{min(both)}' is there twice (it is kept, and the function returns it): leave one out"
            )
    if derivation.summary is not None:
        summary.values = checked_values(_called(derivation.summary, source.events(), f"{name}: the summary"), name)
    summary.rows = rows
    return Derived(source, chosen if len(chosen) < count else None, computed, rows, summary)


def _called(function: Callable[[Any], Any], events: Any, what: str) -> Any:
    """Calls a function with a record of its own, so that no other function sees the fields that it sets."""
    try:
        return function(shallow(events))
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise UsageError(
            f"{what} changes events in place ({error}; the other functions have the same values): copy them first, "
            "for example with np.array(events.x)"
        ) from error


def _mask(value: Any, count: int, what: str) -> Any:
    try:
        mask = np.asarray(value)
    except Exception as error:
        why = str(error).partition("\n")[0]
        raise UsageError(
            f"{what} does not return one bool for each event ({why}): replace missing values with ak.fill_none"
        ) from error
    if np.ma.is_masked(value):
        raise UsageError(f"{what} returns missing values: replace them with ak.fill_none")
    if mask.dtype != np.bool_ or mask.shape != (count,):
        raise UsageError(f"{what} returns {mask.dtype} of shape {mask.shape}: return {count} bools, one for each event")
    return mask


def _checked_rows(columns: dict[str, Any], wanted: int | None, name: str) -> int:
    import awkward as ak

    for column, value in columns.items():
        if isinstance(value, list | tuple):
            columns[column] = ak.Array(value)
        if not hasattr(columns[column], "__len__"):
            raise UsageError(f"{name}: column '{column}' is {value!r}: return one row for each event")
        if wanted is None:
            wanted = len(columns[column])
        if len(columns[column]) != wanted:
            raise UsageError(
                f"{name}: column '{column}' has {len(columns[column])} rows instead of {wanted}: return one row for "
                "each selected event or, with one_row_an_event=False, the same number of rows in all columns"
            )
    assert wanted is not None
    return wanted
