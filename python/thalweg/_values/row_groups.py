"""Rows that belong together: of a work unit, or new in a run that is followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg._values.rows import Rows


@dataclass(frozen=True)
class UnitRows:
    """Rows of a table that one work unit has: [first, first + rows)."""

    table: str
    producer: int
    first: int
    rows: int


@dataclass(frozen=True)
class Unit:
    """A work unit that counts, and where its rows are: in several pieces of a table where the container moved them."""

    key: int | bytes
    summary: bytes
    rows: tuple[UnitRows, ...]


@dataclass(frozen=True)
class NewRows:
    """Rows of one producer that follow each other, and that were given out never before."""

    table: str
    rows: Rows
    node: int | None
    """The machine that the producer is on, from 1. None, like all that follows: the run was closed before."""
    producer: int | None
    """Among those of its node, in the order in which they came. No other one of this file has this number."""
    first_row: int | None
    """Of these, as the producer counts, from 0."""
    path: str
    """The file that has them: a run may go on in another one."""
