"""What one output of a job is made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from thalweg._errors import UsageError
from thalweg._tuning import Value
from thalweg._types import TypeLike
from thalweg._write import Path

Function: TypeAlias = "Callable[[Any], Mapping[str, Any]]"
Cut: TypeAlias = "Callable[[Any], Any]"


@dataclass(frozen=True)
class Derivation:
    """One output file: which events it has, which of their columns are kept, and what is computed from them.

    All functions are given an Awkward array of events, a range of the input at a time, under the input's own names;
    columns are read when they are first touched. They have to be deterministic: a range may be done again.
    """

    path: Path
    """A new file: .root, .h5, .hdf5 or .lh5."""
    function: Function | None = None
    """From the selected events to the columns of the output, by name: as long as there are events, but for
    `one_row_an_event=False`."""
    select: Cut | Mapping[str, Cut] | None = None
    """From events to one bool for each; several by name are applied one after the other. The cut flow counts them."""
    keep: Sequence[str] | str = ()
    """Columns of the input that are kept as they are, as names or patterns: "MET_*"."""
    summary: Callable[[Any], Mapping[str, Any]] | None = None
    """From all events, selected or not, to what is summed up over the input, by name: numbers, NumPy arrays, or objects
    that have `merge(other)` and can be pickled."""
    table: str | None = None
    """The name of the output's table; None: that of the input's."""
    schema: Mapping[str, TypeLike] | None = None
    """Types of computed columns, where units and descriptions are wanted, or the first events do not tell them. Without
    `function` and `keep`: all columns, of rows that the loop of the job appends."""
    one_row_an_event: bool = True
    """False: the function may return any number of rows, as one for each muon."""
    codec: str | None = None
    """None: where pages may be copied, and no events are dropped, that of the input; else the container's own."""
    copy_pages: bool | None = None
    """Whether pages of clusters all of whose events are kept are copied without being decoded, in .root files, where
    the columns are encoded alike. None: but for clusters that are too small; True: all; False: none."""
    tuning: Mapping[str, Value] | None = None

    def __post_init__(self) -> None:
        name = f"the derivation of {os.fspath(self.path)}"
        if self.function is None and not self.patterns and not self.schema:
            raise UsageError(f"{name} has no columns: give it a function, columns to keep, or a schema for a loop")
        if self.is_for_loop and (self.cuts or self.summary):
            raise UsageError(
                f"{name} has a schema alone, for a loop, which selects and sums up itself: leave out select"
            )
        if self.patterns and not self.one_row_an_event:
            raise UsageError(f"{name} keeps columns, which have one row an event: leave out keep, or one_row_an_event")
        given = {"function": self.function, "summary": self.summary, **dict(self.cuts)}
        for what, each in given.items():
            if each is not None and not callable(each):
                raise UsageError(f"{name}: {what} is {each!r}, which is no function")

    @property
    def is_for_loop(self) -> bool:
        """Its rows come from the loop of the job."""
        return self.function is None and not self.patterns

    @property
    def only_keeps(self) -> bool:
        """Columns, of all events: nothing is looked at."""
        return bool(self.patterns) and not (self.function or self.cuts or self.summary)

    @property
    def copies(self) -> bool:
        """Pages of whole clusters are likely to be copied: in .root files, where no event is dropped."""
        is_ntuple = os.fspath(self.path).endswith(".root")
        wanted = self.copy_pages or (self.copy_pages is None and not self.cuts)
        return bool(self.patterns) and wanted and is_ntuple

    @property
    def patterns(self) -> tuple[str, ...]:
        return (self.keep,) if isinstance(self.keep, str) else tuple(self.keep)

    @property
    def cuts(self) -> tuple[tuple[str, Cut], ...]:
        """The selections, by name, in their order."""
        if self.select is None:
            return ()
        return tuple(self.select.items()) if isinstance(self.select, Mapping) else (("selected", self.select),)
