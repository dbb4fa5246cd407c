"""Defines `tw.Derivation`: the description of one output of a job."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from thalweg._base.errors import UsageError
from thalweg._base.paths import Path
from thalweg._schema.tuning import Value
from thalweg._schema.types import TypeLike

Function: TypeAlias = "Callable[[Any], Mapping[str, Any]]"
Cut: TypeAlias = "Callable[[Any], Any]"


@dataclass(frozen=True)
class Derivation:
    """One output file of a job: which events it has, which columns are kept, and which ones are computed.

    Each function gets an Awkward array with one range of the events of the input, whose fields have the names of the
    input. A column is read when a function first uses it. Fields that a function sets are seen by no other function.
    Values are read-only: copy them before you change them in place. Functions must be deterministic, since a range may
    be done again.

    Raises UsageError if the derivation has no columns, or if its members contradict each other.
    """

    path: Path
    """The new file: .root, .h5, .hdf5 or .lh5."""
    function: Function | None = None
    """Computes columns: takes the selected events and returns the columns of the output by name, with one row for each
    event (any number of rows with `one_row_an_event=False`)."""
    select: Cut | Mapping[str, Cut] | None = None
    """Selects events: takes events and returns one bool for each. A dictionary of selections is applied in its order,
    and the cut flow counts the events that remain after each of them."""
    keep: Sequence[str] | str = ()
    """Columns of the input to keep unchanged, as names or patterns such as "MET_*"."""
    summary: Callable[[Any], Mapping[str, Any]] | None = None
    """Computes sums over the input: takes all events, selected or not, and returns values by name, which are added up
    over all ranges. A value is a number, a NumPy array, a histogram of hist, or an object that has `merge(other)`
    and can be pickled."""
    table: str | None = None
    """The name of the table in the output. The default is its name in the input."""
    schema: Mapping[str, TypeLike] | None = None
    """The types of computed columns, if they need units or descriptions, or if the first events do not show the types.
    Without `function` and `keep`, the schema has all columns, and the loop of the job appends the rows."""
    one_row_an_event: bool = True
    """If False, the function may return any number of rows, for example one for each muon."""
    codec: str | None = None
    """The compression of the output. The default is that of the input if pages can be copied and no events are
    dropped, otherwise that of the container."""
    copy_pages: bool | None = None
    """Whether pages are copied without decoding them. This is possible in .root files, for clusters all of whose
    events are kept, if the columns have the same encoding in both files. None: copy them except in very small clusters;
    True: copy all; False: copy none."""
    tuning: Mapping[str, Value] | None = None
    """Knobs of the writing, as in `tw.create`."""

    def __post_init__(self) -> None:
        name = f"the derivation of {os.fspath(self.path)}"
        if self.function is None and not self.patterns and not self.schema:
            raise UsageError(f"{name} has no columns: give a function, columns to keep, or a schema for a loop")
        if self.is_for_loop and (self.cuts or self.summary):
            raise UsageError(
                f"{name} has only a schema and cannot select or sum up (its loop does that): leave out select and "
                "summary"
            )
        if self.patterns and not self.one_row_an_event:
            raise UsageError(
                f"{name} has keep= and one_row_an_event=False (kept columns have one row for each event): leave one out"
            )
        given = {"function": self.function, "summary": self.summary, **dict(self.cuts)}
        for what, each in given.items():
            if each is not None and not callable(each):
                raise UsageError(f"{name}: {what} is {each!r}, which is not a function")

    def functions(self, loop: Any) -> tuple[Any, ...]:
        """Returns all functions that make the output: those of the derivation, or the loop of the job."""
        return (loop,) if loop is not None else (self.function, self.summary, *(cut for _, cut in self.cuts))

    @property
    def is_for_loop(self) -> bool:
        """Whether its rows come from the loop of the job."""
        return self.function is None and not self.patterns

    @property
    def only_keeps(self) -> bool:
        """Whether it keeps columns of all events and needs no values of them."""
        return bool(self.patterns) and not (self.function or self.cuts or self.summary)

    @property
    def copies(self) -> bool:
        """Whether pages of whole clusters are likely to be copied."""
        is_ntuple = os.fspath(self.path).endswith(".root")
        wanted = self.copy_pages or (self.copy_pages is None and not self.cuts)
        return bool(self.patterns) and wanted and is_ntuple

    @property
    def patterns(self) -> tuple[str, ...]:
        return (self.keep,) if isinstance(self.keep, str) else tuple(self.keep)

    @property
    def cuts(self) -> tuple[tuple[str, Cut], ...]:
        """The selections with their names, in their order."""
        if self.select is None:
            return ()
        return tuple(self.select.items()) if isinstance(self.select, Mapping) else (("selected", self.select),)
