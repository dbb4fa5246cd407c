"""Converts rows to flat columns, and flat columns to rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg import _core
from thalweg._schema.types import Type, uint8
from thalweg._values.ragged import Ragged, Text
from thalweg._values.rows import Rows

Array = npt.NDArray[Any]


def path_name_of(column: _core.Column) -> str:
    """Returns the name of a column for `Table.read`."""
    return column.path.replace("/*", "")


def selected(columns: Sequence[_core.Column], paths: Collection[str]) -> list[int]:
    """Returns the numbers of the columns of these fields and of the lengths of the lists around them."""
    found = set()
    for index, column in enumerate(columns):
        if any(f"{path_name_of(column)}/".startswith(f"{path}/") for path in paths):
            at: int | None = index
            while at is not None:
                found.add(at)
                at = columns[at].parent
    return sorted(found)


def flat_arrays(content: Any) -> Iterator[Array]:
    """Yields the flat columns of values that were read, in their order."""
    if isinstance(content, Rows):
        content = content.members
    if isinstance(content, Mapping):
        for member in content.values():
            yield from flat_arrays(member)
    elif isinstance(content, Ragged):
        yield content.lengths
        yield from flat_arrays(content.content)
    else:
        yield content


def rows_of(row: Type, count: int, columns: Iterator[Array]) -> Rows:
    """Returns rows of the struct `row` from its flat columns."""
    return Rows(row, {name: _content(member, columns, count) for name, member in row.members}, count)


def _content(type_: Type, columns: Iterator[Array], count: int) -> Any:
    if type_.name == "struct":
        return rows_of(type_, count, columns)
    if type_.is_scalar:
        return next(columns)
    lengths = next(columns)
    content = _content(type_.element or uint8, columns, int(np.sum(lengths)))
    return (Ragged if type_.element else Text).from_lengths(lengths, content)
