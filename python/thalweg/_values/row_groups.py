"""Rows that belong together: those of a work unit, or new rows of a run that is followed."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg._values.rows import Rows


@dataclass(frozen=True)
class UnitRows:
    """The rows [first, first + rows) of a table that belong to one work unit."""

    table: str
    producer: int
    first: int
    rows: int


@dataclass(frozen=True)
class Unit:
    """A committed work unit and the places of its rows. A table may have several pieces if the container moved them."""

    key: int | bytes
    summary: bytes
    rows: tuple[UnitRows, ...]


@dataclass(frozen=True)
class NewRows:
    """New consecutive rows of one producer. Each row is delivered once."""

    table: str
    rows: Rows
    node: int | None
    """The number of the node of the producer, from 1. It is None if the run is closed, as are the next two members."""
    producer: int | None
    """The number of the producer on its node. No other producer of this file has the same number."""
    first_row: int | None
    """The number of the first of these rows among all rows of the producer, from 0."""
    path: str
    """The file that has the rows: a run may continue in another file."""
