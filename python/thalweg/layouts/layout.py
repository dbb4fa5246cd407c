"""The choices of a layout, and the 20 that there are."""

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
    """What a row is, which fields share a table, and how lists of structs are stored."""

    granularity: Granularity
    """What one row holds: an event, a spill, an element of a product's outermost list, or of its innermost."""
    split: Split
    """One table for everything, for each data product, or for each group of the model."""
    arrangement: Arrangement = "aos"
    """Lists of structs (members share the lengths), or structs of lists (each member has its own)."""
    spill_events: int = 100
    """How many events of a batch make a spill."""

    def __post_init__(self) -> None:
        for value, choices in (
            (self.granularity, get_args(Granularity)),
            (self.split, get_args(Split)),
            (self.arrangement, get_args(Arrangement)),
        ):
            if value not in choices:
                raise UsageError(f"'{value}' is no choice of a layout: use one of {', '.join(choices)}")
        if self.split == "all" and self.granularity in ("top_object", "element"):
            raise UsageError(
                f"rows of one {self.granularity} of all products cannot share a table: use per_product or per_group"
            )
        if self.spill_events < 1:
            raise UsageError(f"a spill of {self.spill_events} events is not possible; give at least 1")

    @property
    def name(self) -> str:
        return f"{self.arrangement}_{self.granularity}_{self.split}"

    @staticmethod
    def parse(name: str, spill_events: int = 100) -> Layout:
        """Of "aos_event_all". Raises UsageError where there is no such layout."""
        for layout in ALL:
            if layout.name == name:
                return Layout(layout.granularity, layout.split, layout.arrangement, spill_events)
        raise UsageError(f"there is no layout '{name}'; there are {', '.join(layout.name for layout in ALL)}")


ALL: tuple[Layout, ...] = tuple(
    Layout(granularity, split, arrangement)
    for arrangement, granularity, split in product(get_args(Arrangement), get_args(Granularity), get_args(Split))
    if split != "all" or granularity in ("event", "spill")
)
"""The 20 layouts."""
