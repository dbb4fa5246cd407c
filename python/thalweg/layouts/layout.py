"""The choices of a layout, and the 20 possible layouts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

from thalweg._base.errors import UsageError

Granularity = Literal["event", "spill", "top_object", "element"]


Split = Literal["all", "per_product", "per_group"]


Arrangement = Literal["aos", "soa"]


@dataclass(frozen=True)
class Layout:
    """A layout: what a row is, which fields share a table, and how lists of structs are stored.

    Raises UsageError if a choice is wrong, or if choices cannot be combined.
    """

    granularity: Granularity
    """The content of a row: an event, a spill, or an element of the outermost or of the innermost list of a product."""
    split: Split
    """How fields are divided into tables: one table for all, one for each product, or one for each group of the
    model."""
    arrangement: Arrangement = "aos"
    """"aos": lists of structs, whose members share the lengths. "soa": structs of lists, each with its own lengths."""
    spill_events: int = 100
    """The number of events of a batch that form a spill."""

    def __post_init__(self) -> None:
        for value, choices in (
            (self.granularity, get_args(Granularity)),
            (self.split, get_args(Split)),
            (self.arrangement, get_args(Arrangement)),
        ):
            if value not in choices:
                raise UsageError(f"'{value}' is not a choice of a layout: use one of {', '.join(choices)}")
        if self.split == "all" and self.granularity in ("top_object", "element"):
            raise UsageError(
                f"granularity '{self.granularity}' cannot have one table for all products: use per_product or per_group"
            )
        if self.spill_events < 1:
            raise UsageError(f"spill_events cannot be {self.spill_events}: give at least 1")

    @property
    def name(self) -> str:
        """The name, such as "aos_event_all"."""
        return f"{self.arrangement}_{self.granularity}_{self.split}"

    @staticmethod
    def parse(name: str, spill_events: int = 100) -> Layout:
        """Returns the layout of a name such as "aos_event_all". Raises UsageError if there is no such layout."""
        for layout in ALL:
            if layout.name == name:
                return Layout(layout.granularity, layout.split, layout.arrangement, spill_events)
        raise UsageError(f"there is no layout '{name}': use one of {', '.join(layout.name for layout in ALL)}")


ALL: tuple[Layout, ...] = tuple(
    Layout(granularity, split, arrangement)
    for arrangement, granularity, split in product(get_args(Arrangement), get_args(Granularity), get_args(Split))
    if split != "all" or granularity in ("event", "spill")
)
"""The 20 layouts."""
