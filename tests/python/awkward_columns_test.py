"""Awkward arrays become columns by a short way where they are exactly what is declared, and by the long one else."""

from typing import Any

import awkward as ak
import numpy as np
import pytest

import thalweg as tw
from thalweg._append import columns as appending
from thalweg._append.awkward_columns import flat_columns

ROW = {
    "x": tw.float64,
    "b": tw.bool_,
    "fixed": tw.array(tw.int16, 2, 3),
    "v": tw.list_(tw.float32),
    "vv": tw.list_(tw.list_(tw.int32)),
    "s": tw.string,
    "names": tw.list_(tw.string),
    "hits": tw.list_({"pt": tw.float32, "cells": tw.list_(tw.uint8)}),
    "p": tw.struct({"a": tw.int8, "l": tw.list_(tw.int64)}),
}
TABLE = tw.schema({"t": ROW})["t"]
COUNT = 50


def lists(content: Any, seed: int) -> ak.Array:
    """Returns lists of 0 to 3 items; `content` makes the items."""
    lengths = np.random.default_rng(seed).integers(0, 4, COUNT)
    return ak.unflatten(content(int(lengths.sum())), lengths)


def inner(count: int, dtype: Any) -> ak.Array:
    lengths = np.arange(count) % 3
    return ak.unflatten(np.arange(lengths.sum()).astype(dtype), lengths)


def array() -> ak.Array:
    hits = lists(
        lambda n: ak.zip({"pt": np.arange(n, dtype=np.float32), "cells": inner(n, np.uint8)}, depth_limit=1), 3
    )
    p = ak.zip({"a": np.arange(COUNT, dtype=np.int8), "l": inner(COUNT, np.int64)}, depth_limit=1)
    return ak.zip(
        {
            "x": np.arange(COUNT) / 3,
            "b": np.arange(COUNT) % 3 == 0,
            "fixed": ak.Array(ak.contents.NumpyArray(np.arange(COUNT * 6, dtype=np.int16).reshape(COUNT, 2, 3))),
            "v": lists(lambda n: np.arange(n, dtype=np.float32), 1),
            "vv": lists(lambda n: inner(n, np.int32), 2),
            "s": ak.Array(["µ" * (i % 4) for i in range(COUNT)]),
            "names": lists(lambda n: ak.Array([f"n{i}" for i in range(n)]), 4),
            "hits": hits,
            "p": p,
        },
        depth_limit=1,
    )


def virtual(of: ak.Array) -> ak.Array:
    form, length, buffers = ak.to_buffers(ak.to_packed(of))
    return ak.from_buffers(form, length, {key: (lambda data=data: data) for key, data in buffers.items()})


WAYS = {
    "as it is": lambda of: of,
    "no rows": lambda of: of[:0],
    "a slice": lambda of: of[7:31],
    "one row": lambda of: of[7:8],
    "masked": lambda of: of[of.x > 5],
    "turned around": lambda of: of[::-1],
    "masked twice": lambda of: of[of.x > 3][np.arange(40) % 2 == 0],
    "rows twice": lambda of: of[[3, 3, 49, 0]],
    "packed": ak.to_packed,
    "virtual": virtual,
    "virtual and masked": lambda of: virtual(of)[of.b],
    "inner elements masked": lambda of: ak.with_field(of, of.v[of.v % 2 == 0], "v"),
    "as fields": lambda of: {name: of[name] for name in of.fields},
    "masked fields": lambda of: {name: of[of.b][name] for name in of.fields},
    "with NumPy": lambda of: {name: of[name] for name in of.fields} | {"x": np.arange(COUNT) / 3},
}


@pytest.mark.parametrize("way", WAYS)
def test_both_ways_give_the_same(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = WAYS[way](array())
    row = tw.Type("struct", members=TABLE.fields)
    short = flat_columns(row, given)
    assert short is not None
    monkeypatch.setattr(appending, "flat_columns", lambda *_: None)
    count, columns = appending.columns_of(TABLE, given, {})
    assert short[0] == count
    assert len(short[1]) == len(columns)
    for mine, other in zip(short[1], columns, strict=True):
        assert mine.dtype == other.dtype
        assert mine.flags.c_contiguous
        np.testing.assert_array_equal(mine.reshape(-1), other.reshape(-1))


OTHERS: dict[str, Any] = {
    "another type": lambda of: ak.with_field(of, ak.values_astype(of.x, np.float32), "x"),
    "a missing value": lambda of: ak.with_field(of, ak.mask(of.x, of.b), "x"),
    "a field too many": lambda of: ak.with_field(of, of.x, "y"),
    "a field too few": lambda of: of[["x", "b"]],
    "fields that differ in length": lambda of: {name: of[name] for name in of.fields} | {"x": np.zeros(3)},
    "no Awkward array": lambda of: {name: ak.to_list(of[name]) for name in of.fields},
    "a number": lambda of: {name: of[name] for name in of.fields} | {"x": 5.0},
}


@pytest.mark.parametrize("what", OTHERS)
def test_everything_else_goes_the_long_way(what: str) -> None:
    assert flat_columns(tw.Type("struct", members=TABLE.fields), OTHERS[what](array())) is None


def test_one_row_of_lists_is_not_taken_for_many() -> None:
    table = tw.schema({"t": {"v": tw.list_(tw.int64)}})["t"]
    count, columns = appending.columns_of(table, {"v": ak.Array([1, 2, 3])}, {})
    assert (count, [column.tolist() for column in columns]) == (1, [[3], [1, 2, 3]])
