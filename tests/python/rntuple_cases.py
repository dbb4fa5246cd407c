"""Every type that a table can have, with values; and which of them the folders of root-project/rntuple-validation test
(those left out hold what we only read)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import thalweg as tw


class Case(NamedTuple):
    type: tw.Type
    value: Callable[[int], Any]  # of a row, as Python has it


def _cycle(*values: Any) -> Callable[[int], Any]:
    return lambda row: values[row % len(values)]


def _integers(type_: tw.Type) -> Case:
    """Ascending, one in each byte, and the extremes."""
    info = np.iinfo(type_.dtype)
    bytes_ = [byte + 1 << 8 * byte for byte in range(type_.dtype.itemsize)]
    signed = [-1, -2, *(-value for value in bytes_)] if info.min < 0 else []
    return Case(type_, _cycle(0, 1, 2, *bytes_, *signed, int(info.min), int(info.max)))


def _floats(type_: tw.Type) -> Case:
    info = np.finfo(type_.dtype)
    extremes = [float(value) for value in (info.max, info.min, info.tiny, info.eps)]
    return Case(type_, _cycle(0.0, 1.5, -2.25, *extremes, float("nan"), float("inf"), float("-inf")))


def _texts(row: int) -> str:
    return ("", "a", "µ é", "日本語", "x" * 300)[row % 5]


INTEGERS = [tw.int8, tw.int16, tw.int32, tw.int64, tw.uint8, tw.uint16, tw.uint32, tw.uint64]
PAIR = tw.struct({"_0": tw.int32, "_1": tw.string}, type_name="std::pair<std::int32_t,std::string>")
TUPLE = tw.struct({"_0": tw.int32, "_1": tw.string}, type_name="std::tuple<std::int32_t,std::string>")
HIT = tw.struct({"energy": tw.float32(unit="keV"), "label": tw.string})

CASES: dict[str, Case] = {
    **{str(type_): _integers(type_) for type_ in INTEGERS},
    **{str(type_): _floats(type_) for type_ in (tw.float32, tw.float64)},
    "bool": Case(tw.bool_, lambda i: i % 3 == 0),
    "complex64": Case(tw.complex64, lambda i: i / 2 - i * 1j),
    "complex128": Case(tw.complex128, lambda i: -i + i / 3 * 1j),
    "string": Case(tw.string, _texts),
    "array of 1 rank": Case(tw.array(tw.uint16, 5), lambda i: [i, 2, 3, i + 1, 5]),
    "array of 2 ranks": Case(tw.array(tw.float32, 2, 3), lambda i: [[i, 1.5, 2], [3, 4, -i]]),
    "array of 3 ranks": Case(tw.array(tw.int64, 2, 1, 2), lambda i: [[[i, -i]], [[1, 2]]]),
    "array of bools": Case(tw.array(tw.bool_, 3), lambda i: [i % 2 == 0, True, i % 5 == 0]),
    "array of strings": Case(tw.array(tw.string, 2), lambda i: [_texts(i), str(i)]),
    "array of lists": Case(tw.array(tw.list_(tw.int32), 2), lambda i: [[i] * (i % 3), list(range(i % 4))]),
    "array of structs": Case(tw.array(HIT, 2), lambda i: [{"energy": i, "label": "x"}, {"energy": 0.5, "label": ""}]),
    "array of complex": Case(tw.array(tw.complex64, 2), lambda i: [i * 1j, 1 + 0j]),
    "list": Case(tw.list_(tw.float32), lambda i: [j / 2 for j in range(i % 7)]),
    "list of bools": Case(tw.list_(tw.bool_), lambda i: [j % 3 == 0 for j in range(i % 11)]),
    "list of strings": Case(tw.list_(tw.string), lambda i: [_texts(j) for j in range(i % 5)]),
    "list of arrays": Case(tw.list_(tw.array(tw.int16, 2)), lambda i: [[j, -i] for j in range(i % 4)]),
    "list of lists": Case(tw.list_(tw.list_(tw.int32)), lambda i: [[i] * j for j in range(i % 5)]),
    "list of complex": Case(tw.list_(tw.complex128), lambda i: [j - 2j for j in range(i % 3)]),
    "struct": Case(tw.struct({"a": tw.int8, "b": {"c": tw.float64, "d": tw.list_(tw.uint8)}}), lambda i: _nested(i)),
    "list of structs": Case(tw.list_(HIT), lambda i: [{"energy": j, "label": "h" * j} for j in range(i % 4)]),
    "list of structs of lists": Case(
        tw.list_({"xs": tw.list_(tw.float32), "n": tw.int32}),
        lambda i: [{"xs": [0.5] * j, "n": i} for j in range(i % 4)],
    ),
    "empty lists throughout": Case(tw.list_({"x": tw.float32, "text": tw.string}), lambda _: []),
    "constant": Case(tw.int64, lambda _: 7),
    "zero": Case(tw.float64, lambda _: 0.0),
    # Fields to which the name of a C++ type was given.
    "std::vector<std::int32_t>": Case(
        tw.list_(tw.int32, type_name="std::vector<std::int32_t>"), lambda i: [i] * (i % 3)
    ),
    "std::vector<Hit>": Case(
        tw.list_(HIT(type_name="Hit"), type_name="std::vector<Hit>"), lambda i: [{"energy": i, "label": "x"}] * (i % 3)
    ),
    "ROOT::VecOps::RVec<float>": Case(
        tw.list_(tw.float32, type_name="ROOT::VecOps::RVec<float>"), lambda i: [i / 2] * (i % 3)
    ),
    "std::set<std::int64_t>": Case(
        tw.list_(tw.int64, type_name="std::set<std::int64_t>"), lambda i: list(range(-i, -i + i % 3))
    ),
    "std::pair": Case(PAIR, lambda i: {"_0": i, "_1": str(i)}),
    "std::tuple": Case(TUPLE, lambda i: {"_0": i, "_1": str(i)}),
    "std::map": Case(
        tw.list_(PAIR, type_name="std::map<std::int32_t,std::string>"),
        lambda i: [{"_0": j, "_1": ""} for j in range(i % 3)],
    ),
}

# The folders of types in root-project/rntuple-validation, and our cases that hold what they test. Unordered and multi-
# sets and maps have the columns of std::set and std::map.
VALIDATION: dict[str, list[str]] = {
    "RVec": ["ROOT::VecOps::RVec<float>"],
    "array": ["array of 1 rank", "array of 2 ranks", "array of strings", "array of lists"],
    "fundamental/integer": [str(type_) for type_ in INTEGERS],
    "fundamental/misc": ["bool", "int8", "uint8"],
    "fundamental/real": ["float32", "float64"],
    "map": ["std::map"],
    "pair": ["std::pair"],
    "set": ["std::set<std::int64_t>"],
    "string": ["string"],
    "tuple": ["std::tuple"],
    "user/class": ["struct", "std::vector<Hit>"],
    "vector/fundamental": ["std::vector<std::int32_t>", "list"],
    "vector/nested": ["list of lists"],
}


def _nested(row: int) -> dict[str, Any]:
    return {"a": row % 100, "b": {"c": row / 7, "d": list(range(row % 3))}}
