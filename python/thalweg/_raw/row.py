"""Reads the description of a row from what the user has given."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from thalweg import _core


@dataclass
class BitField:
    name: str
    first: int
    count: int
    unit: str = ""
    description: str = ""


@dataclass
class RowField:
    """The fields of thalweg/source/raw/row.h, where they are described."""

    name: str
    scalar: str
    role: str = "value"
    packed_bits: int = 0
    high_first: bool = False
    big_endian: bool = False
    shape: list[int] = field(default_factory=list)
    has_length: bool = False
    sync_value: int = 0
    scale: int = 1
    bits: list[BitField] = field(default_factory=list)
    unit: str = ""
    description: str = ""


@dataclass
class Row:
    fields: list[RowField]
    table: str = "events"
    description: str = ""
    length_of: str = "items"
    max_row_bytes: int = 16 << 20

    def to_json(self) -> dict[str, Any]:
        """Returns plain values, from which `core_row` makes the row again."""
        return asdict(self)


def core_row(values: dict[str, Any]) -> _core.Row:
    """Returns the row for the core."""
    row = _core.Row()
    row.table, row.description = values["table"], values["description"]
    row.length_of = _core.LengthOf[values["length_of"]]
    row.max_row_bytes = values["max_row_bytes"]
    row.fields = [_core_field(each) for each in values["fields"]]
    return row


def _core_field(values: dict[str, Any]) -> _core.RowField:
    made = _core.RowField()
    for name, value in values.items():
        if name == "role":
            made.role = _core.RowRole[value]
        elif name == "bits":
            made.bits = [_core_bits(each) for each in value]
        else:
            setattr(made, name, value)
    return made


def _core_bits(values: dict[str, Any]) -> _core.BitField:
    made = _core.BitField()
    for name, value in values.items():
        setattr(made, name, value)
    return made
