"""Rows as Awkward arrays, in the same memory."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np

from thalweg._ragged import Ragged, Text
from thalweg._rows import Rows


def awkward_of(rows: Rows) -> ak.Array:
    return ak.Array(_record(rows))


def _record(rows: Rows) -> Any:
    contents = [_content(member) for member in rows.members.values()]
    return ak.contents.RecordArray(contents, list(rows), length=rows.row_count)


def _content(value: Any) -> Any:
    if isinstance(value, Rows):
        return _record(value)
    if not isinstance(value, Ragged):
        return ak.from_numpy(value, regulararray=True, highlevel=False)
    offsets = ak.index.Index64(value.offsets)
    if isinstance(value, Text):
        characters = ak.contents.NumpyArray(np.ascontiguousarray(value.content), parameters={"__array__": "char"})
        content = ak.contents.ListOffsetArray(offsets, characters, parameters={"__array__": "string"})
    else:
        content = ak.contents.ListOffsetArray(offsets, _content(value.content))
    for size in reversed(value.shape[1:]):
        content = ak.contents.RegularArray(content, size)
    return content
