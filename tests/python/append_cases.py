"""Values of many libraries, types that are declared for them, and what must then be stored.

The right values are those that each library shows by itself (`to_pylist`, `tolist`), compared by Python's rules.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import thalweg as tw

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
SCALARS = [*INTEGERS, *FLOATS, "bool"]
TEXTS = ["", "a", "µ", "zwölf", "x" * 40, "1"]


class Hits(ak.Array):  # type: ignore[misc]
    """A behaviour, as those of vector and coffea are."""

    @property
    def pt(self) -> int:
        """Hides a field of the same name, which must not matter."""
        return 0


BEHAVIOR = {("*", "Hits"): Hits}


def any_type(rng: random.Random, depth: int = 2) -> tw.Type:
    """Returns a type of a column."""
    kind = rng.choice(
        ["scalar"] * 3 + ["string", "optional", "optional"] + ["array", "list", "list", "struct"] * (depth > 0)
    )
    if kind == "string":
        return tw.string
    if kind == "optional":
        return tw.optional(tw.string if rng.random() < 0.3 else _scalar(rng))
    if kind == "array":
        return tw.array(_scalar(rng), *rng.choice([(2,), (1,), (2, 3)]))
    if kind == "list":
        return tw.list_(any_type(rng, depth - 1))
    if kind == "struct":
        return tw.struct({name: any_type(rng, depth - 1) for name in ("pt", "b")})
    return _scalar(rng)


def _scalar(rng: random.Random) -> tw.Type:
    return tw.Type(rng.choice(SCALARS))


def any_value(rng: random.Random, type_: tw.Type, missing: float) -> Any:
    """Returns a value of a type; some are missing although the type has no place for that."""
    if type_.is_optional:
        assert type_.element is not None
        return None if rng.random() < 0.4 else any_value(rng, type_.element, 0)
    if rng.random() < missing:
        return None
    if type_.shape:
        inner = tw.Type(type_.name, type_.shape[1:])
        return [any_value(rng, inner, missing) for _ in range(type_.shape[0])]
    if type_.name == "string":
        return rng.choice(TEXTS)
    if type_.name == "list":
        assert type_.element is not None
        return [any_value(rng, type_.element, missing) for _ in range(rng.randrange(4))]
    if type_.name == "struct":
        return {name: any_value(rng, member, missing) for name, member in type_.members}
    if type_.name == "bool":
        return rng.random() < 0.5
    if type_.name in FLOATS:
        value = rng.choice([0.0, -0.0, 1.5, -2.25, math.inf, math.nan, 1e30, 0.1])
        return float(np.dtype(type_.name).type(value))
    limits = np.iinfo(type_.name)
    return rng.choice([0, 1, 5, 100, int(limits.min), int(limits.max)])


def arrow_type(rng: random.Random, type_: tw.Type) -> pa.DataType:
    """Returns a type of Arrow that holds the values of a type."""
    if type_.shape:
        return pa.list_(arrow_type(rng, tw.Type(type_.name, type_.shape[1:])), type_.shape[0])
    if type_.is_optional:
        assert type_.element is not None
        return arrow_type(rng, type_.element)
    if type_.name == "string":
        return rng.choice([pa.string(), pa.large_string(), pa.string_view()])
    if type_.name == "list":
        assert type_.element is not None
        return rng.choice([pa.list_, pa.large_list])(arrow_type(rng, type_.element))
    if type_.name == "struct":
        return pa.struct([(name, arrow_type(rng, member)) for name, member in type_.members])
    return pa.bool_() if type_.name == "bool" else pa.from_numpy_dtype(np.dtype(type_.name))


def sources(rng: random.Random, type_: tw.Type, rows: list[Any]) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yields names of libraries, the values in an array of each, and the list that the library shows for it."""
    yield "list", rows, rows
    around = [any_value(rng, type_, 0.5) for _ in range(2)]
    arrow = pa.array([*around, *rows, *around], arrow_type(rng, type_)).slice(2, len(rows))
    yield "arrow", arrow, arrow.to_pylist()
    cut = rng.randrange(len(rows) + 1)
    yield "chunked", pa.chunked_array([arrow[:cut], arrow[cut:]], arrow.type), arrow.to_pylist()
    frame = pd.Series(pd.arrays.ArrowExtensionArray(arrow))
    yield "pandas of Arrow", frame, arrow.to_pylist()
    yield "pandas of objects", pd.Series(rows, dtype=object), rows
    series = pl.from_arrow(pa.array(rows, arrow.type))
    yield "polars", series, series.to_list()
    if "view" not in str(arrow.type):  # Awkward has no views
        awkward = ak.from_arrow(arrow)
        yield "awkward of Arrow", awkward, awkward.to_list()
    if rows and not _holds(rows, lambda each: isinstance(each, int) and each >= 2**63):  # Awkward takes no such lists
        awkward = ak.Array(rows)
        yield "awkward", awkward, awkward.to_list()
        if type_.name in ("struct", "list"):
            behaved = ak.Array(ak.with_name(awkward, "Hits"), behavior=BEHAVIOR)
            yield "behaviour", behaved, awkward.to_list()
        yield "turned awkward", awkward[::-1], awkward.to_list()[::-1]
    element = type_.element if type_.is_optional else type_
    assert element is not None
    if element.name == "string" and element is not type_:
        text = pd.Series(rows, dtype="str")
        yield "pandas text", text, [None if pd.isna(each) else each for each in text.tolist()]
        yield "category", pd.Series(rows, dtype="category"), rows
        yield "polars category", pl.Series(rows, dtype=pl.Categorical), rows
    if element.name in SCALARS and not element.shape:
        yield from _flat_sources(element, rows)
    if type_.name in SCALARS and not _holds(rows, lambda each: each is None):
        array = np.array(rows, type_.name).reshape(len(rows), *type_.shape)
        yield "NumPy", array, array.tolist()
        yield "NumPy of another type", array.astype(np.float64), array.astype(np.float64).tolist()
        yield "strided", np.repeat(array, 2, axis=0)[::2], array.tolist()
        yield "swapped", array.astype(array.dtype.newbyteorder()), array.tolist()


def _flat_sources(element: tw.Type, rows: list[Any]) -> Iterator[tuple[str, Any, list[Any]]]:
    mask = [row is None for row in rows]
    filled = np.array([0 if row is None else row for row in rows], element.name)
    masked = np.ma.MaskedArray(filled, mask)
    yield "masked", masked, masked.tolist()
    name = {"bool": "boolean"}.get(element.name, element.name.capitalize().replace("Uint", "UInt"))
    nullable = pd.Series(pd.array(rows, name))
    yield "pandas nullable", nullable, [None if each is pd.NA else each for each in nullable.tolist()]
    yield "list with masked", [np.ma.masked if row is None else row for row in rows], rows
    yield "list with NA", [pd.NA if row is None else row for row in rows], rows
    yield "NumPy's scalars", [None if row is None else np.dtype(element.name).type(row) for row in rows], rows


def _holds(value: Any, test: Callable[[Any], bool]) -> bool:
    if isinstance(value, dict):
        return _holds(list(value.values()), test)
    return any(_holds(each, test) for each in value) if isinstance(value, list) else test(value)


def stored(type_: tw.Type, columns: Iterator[Any], count: int) -> list[Any]:
    """Returns the values of flat columns as Python's own."""
    if type_.name == "struct":
        members = {name: stored(member, columns, count) for name, member in type_.members}
        return [{name: member[row] for name, member in members.items()} for row in range(count)]
    if type_.name in ("list", "string"):
        lengths = next(columns).tolist()
        inner = next(columns).tobytes() if type_.element is None else stored(type_.element, columns, sum(lengths))
        ends = np.cumsum([0, *lengths]).tolist()
        parts = [inner[begin:end] for begin, end in itertools.pairwise(ends)]
        if type_.is_optional:
            return [part[0] if part else None for part in parts]
        return [part.decode() if isinstance(part, bytes) else part for part in parts]
    column = next(columns)
    assert column.dtype == type_.dtype
    items: list[Any] = column.reshape(count, *type_.shape).tolist()
    return items


def agree(type_: tw.Type, given: Any, held: Any) -> bool:
    """Returns whether a stored value is the given one, by Python's rules."""
    if type_.is_optional:
        assert type_.element is not None
        if isinstance(given, list):  # of one value or none
            given = given[0] if given else None
        return (given is None) == (held is None) and (held is None or agree(type_.element, given, held))
    if given is None:
        return False
    if type_.shape:
        inner = tw.Type(type_.name, type_.shape[1:])
        return len(given) == len(held) and all(agree(inner, *each) for each in zip(given, held, strict=True))
    if type_.name == "list":
        assert type_.element is not None
        return len(given) == len(held) and all(agree(type_.element, *each) for each in zip(given, held, strict=True))
    if type_.name == "struct":
        return all(agree(member, given[name], held[name]) for name, member in type_.members)
    if type_.name in FLOATS:
        wanted = float(np.dtype(type_.name).type(given))
        return not isinstance(given, str) and (wanted == held or (wanted != wanted and held != held))
    if type_.name in SCALARS:
        return not isinstance(given, str) and bool(given == held)
    return type(given) is str and bool(given == held)
