"""What is written is what is read: every type, nested at random, cut into appends at random."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw

SCALARS = [tw.bool_, tw.int8, tw.int16, tw.int32, tw.int64, tw.uint8, tw.uint16, tw.uint32, tw.uint64]
SCALARS += [tw.float32, tw.float64, tw.complex64, tw.complex128]
TINY_PAGES = {"engine": "posix", "wide_page_bytes": 4096, "narrow_page_bytes": 64, "block_bytes": 4096}


def shaped(types: st.SearchStrategy[tw.Type]) -> st.SearchStrategy[tw.Type]:
    shapes = st.lists(st.integers(1, 3), min_size=1, max_size=2)
    return types | st.builds(lambda type_, shape: tw.array(type_, *shape), types, shapes)


def nested(types: st.SearchStrategy[tw.Type]) -> st.SearchStrategy[tw.Type]:
    members = st.dictionaries(st.sampled_from(["a", "b", "c d", "é"]), types, min_size=1, max_size=3)
    return shaped(st.builds(tw.list_, types) | st.builds(tw.struct, members))


TYPES = st.recursive(shaped(st.sampled_from([*SCALARS, tw.string])), nested, max_leaves=5)


def values_of(type_: tw.Type) -> st.SearchStrategy[Any]:
    """One value as Python has it: lists for arrays and lists, dictionaries for structs."""
    item: st.SearchStrategy[Any]
    if type_.name == "list":
        assert type_.element is not None
        item = st.lists(values_of(type_.element), max_size=4)
    elif type_.name == "struct":
        item = st.fixed_dictionaries({name: values_of(member) for name, member in type_.members})
    elif type_.name == "string":
        item = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    else:
        item = _numbers(type_.dtype)
    for size in reversed(type_.shape):
        item = st.lists(item, min_size=size, max_size=size)
    return item


def _numbers(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        return st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if dtype.kind == "f":
        return st.floats(width=dtype.itemsize * 8)  # type: ignore[arg-type]
    return st.complex_numbers(width=dtype.itemsize * 8)  # type: ignore[arg-type]


@st.composite
def runs(draw: st.DrawFn) -> tuple[dict[str, tw.Type], list[dict[str, Any]], list[int]]:
    fields = draw(st.dictionaries(st.sampled_from(["x", "y", "z"]), TYPES, min_size=1, max_size=3))
    fields["id"] = tw.uint32  # empty lists alone would leave open how many rows they are
    row = st.fixed_dictionaries({name: values_of(type_) for name, type_ in fields.items()})
    rows = draw(st.lists(row, max_size=12))
    return fields, rows, sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))


@settings(max_examples=60)
@given(run=runs(), codec=st.sampled_from(["bitshuffle+lz4", "none", "shuffle+deflate-1", "bitshuffle+zstd-3"]))
def test_any_schema_and_any_rows(tmp_path_factory, run, codec: str) -> None:
    fields, rows, cuts = run
    path = tmp_path_factory.mktemp("run") / "run.h5"
    with tw.create(path, tw.schema({"t": fields}), codec=codec, tuning=TINY_PAGES) as out:
        producer = out.producer("t")
        for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            append_rows(producer, fields, rows[start:stop])
    table = tw.open(path)["t"]
    assert len(table) == len(rows)
    assert repr(table.read().to_awkward().to_list()) == repr(as_read(fields, rows))
    assert tw.verify(path).is_sound
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        part = table.read(rows=slice(start, stop))
        assert repr(part.to_awkward().to_list()) == repr(as_read(fields, rows[start:stop]))
        assert part.to_arrow().num_rows == stop - start


def append_rows(producer: tw.Producer, fields: dict[str, tw.Type], rows: list[dict[str, Any]]) -> None:
    """Two rows and more at once; a single one as one row."""
    if len(rows) == 1:
        producer.append(rows[0])
    elif rows:
        producer.append({name: [row[name] for row in rows] for name in fields})


def as_read(fields: dict[str, tw.Type], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: _as_read(type_, row[name]) for name, type_ in fields.items()} for row in rows]


def _as_read(type_: tw.Type, value: Any) -> Any:
    """Complex numbers are never integers."""
    if type_.shape:
        item = tw.Type(type_.name, type_.shape[1:], element=type_.element, members=type_.members)
        return [_as_read(item, each) for each in value]
    if type_.name == "struct":
        return {name: _as_read(member, value[name]) for name, member in type_.members}
    if type_.element is not None:
        return [_as_read(type_.element, each) for each in value]
    return value if type_.name == "string" else type_.dtype.type(value).item()


@pytest.mark.parametrize("type_", SCALARS, ids=str)
def test_the_extremes_of_every_scalar(type_: tw.Type, tmp_path: Path) -> None:
    dtype = type_.dtype
    if dtype.kind in "iu":
        values = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0], dtype)
    elif dtype.kind == "b":
        values = np.array([True, False, True])
    else:
        values = np.array([np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
    with tw.create(tmp_path / "run.h5", tw.schema({"t": {"x": type_}})) as out:
        out.producer("t").append(x=values)
    read = tw.open(tmp_path / "run.h5")["t"].read()["x"]
    assert read.dtype == dtype
    assert read.tobytes() == values.tobytes()
