"""Rows that are described as a dtype of NumPy: [('timestamp', '<u8'), ('samples', '<u2', (64,))]."""

from __future__ import annotations

import ast

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._raw.row import Row, RowField
from thalweg._raw.types import of_dtype


def row_of_dtype(text: str) -> Row:
    """Returns the row. Raises UsageError if the text is no dtype with fields, or one that a table cannot hold."""
    try:
        dtype = np.dtype(ast.literal_eval(text))
    except (SyntaxError, TypeError, ValueError) as error:
        why = "is a comma missing?" if "malformed node" in str(error) else str(error)
        raise UsageError(
            f"--row {text} is no dtype of NumPy ({why}): give for example [('timestamp', '<u8'), ('energy', '<u2')]"
        ) from None
    if dtype.fields is None or dtype.names is None:
        raise UsageError(f"--row {text} has no fields: give a list of names and types")
    fields: list[RowField] = []
    end = 0
    for name in sorted(dtype.names, key=lambda each: dtype.fields[each][1]):
        of_field, offset = dtype.fields[name][:2]
        if offset < end:
            raise UsageError(
                f"--row: field '{name}' lies over the field before it: give rows whose fields do not overlap"
            )
        fields += _gap(offset - end)
        fields.append(_field(name, of_field))
        end = offset + of_field.itemsize
    return Row(fields + _gap(dtype.itemsize - end))


def _gap(size: int) -> list[RowField]:
    return [RowField("", "uint8", role="skip", shape=[size])] if size else []


def _field(name: str, dtype: np.dtype) -> RowField:
    shape = list(dtype.shape)
    base = dtype.base
    if base.kind == "V" and base.fields is None:  # bytes without a meaning
        return RowField(name, "uint8", role="skip", shape=[*shape, base.itemsize])
    found = of_dtype(base)
    if found is None:
        instead = f"write its bytes, ('{name}', 'u1', ({base.itemsize},))" if base.kind in "SU" else "use another type"
        raise UsageError(f"--row: field '{name}' has the type {base} (a table cannot hold it): {instead}")
    return RowField(name, found.scalar, big_endian=bool(found.big_endian), shape=shape)
