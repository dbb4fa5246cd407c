"""The ways in which files with every type are written, and how what others read of them is compared."""

import multiprocessing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jsroot import is_same
from rntuple_cases import CASES

import thalweg as tw

ROWS = 203
NAMES = {case: f"case{index}" for index, case in enumerate(CASES)}
SCHEMA = tw.schema({"t": {"id": tw.uint32, **{NAMES[case]: CASES[case].type for case in CASES}}})
SMALL = {"narrow_page_bytes": 64, "wide_page_bytes": 4096, "block_bytes": 4096, "cluster_bytes": 16 << 10}


class Way(NamedTuple):
    """How a file is written."""

    codec: str | None = None
    processes: int = 1
    options: dict[str, Any] = {}  # noqa: RUF012


WAYS = {
    "default": Way(),
    "default-4": Way(processes=4),
    "none": Way("none"),
    "none-4": Way("none", 4),
    "lz4": Way("lz4"),
    "deflate": Way("deflate-6"),
    "plain": Way("plain+zstd-3"),
    "small-pages": Way(options=SMALL),
    "small-pages-4": Way("zstd-5", 4, SMALL),
}


def value(case: str, row: int) -> Any:
    return CASES[case].value(row)


def append(out: tw.Writer | tw.Attached, rows: range) -> None:
    with out.producer("t") as producer:
        for part in (rows[: len(rows) // 3], rows[len(rows) // 3 :]):
            fields = {NAMES[case]: [value(case, row) for row in part] for case in CASES}
            producer.append({"id": np.array(part, np.uint32), **fields})


def append_in_process(handle: str, rows: range) -> None:
    with tw.attach(handle) as out:
        append(out, rows)


def write(path: Path, way: Way) -> None:
    with tw.create(path, SCHEMA, codec=way.codec, tuning=way.options) as out:
        if way.processes == 1:
            append(out, range(ROWS))
        else:
            append_in_processes(out, way.processes)


def append_in_processes(out: tw.Writer, count: int) -> None:
    parts = [range(ROWS * i // count, ROWS * (i + 1) // count) for i in range(count)]
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=append_in_process, args=(out.handle, part)) for part in parts]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * count


def in_parts(given: Any) -> Any:
    """As other readers have it: complex numbers in two parts."""
    if isinstance(given, complex):
        return {"real": given.real, "imag": given.imag}
    if isinstance(given, list):
        return [in_parts(each) for each in given]
    return {name: in_parts(each) for name, each in given.items()} if isinstance(given, dict) else given


def wrong_cases(ids: list[int], found: dict[str, list[Any]], *, are_in_parts: bool = True) -> dict[str, Any]:
    """By case, the first value that is wrong and what it should be."""
    assert sorted(ids) == list(range(ROWS))
    wrong = {}
    for case, name in NAMES.items():
        for row, each in zip(ids, found[name], strict=True):
            expected = in_parts(value(case, row)) if are_in_parts else value(case, row)
            if not is_same(each, _at_precision(case, expected)):
                wrong[case] = (row, each, expected)
                break
    return wrong


def _at_precision(case: str, expected: Any) -> Any:
    if case == "complex64" and isinstance(expected, complex):
        return complex(np.complex64(expected))
    return expected


def without_names_of_tuples(given: Any) -> Any:
    """Awkward gives tuples for what has members _0, _1; JSROOT calls those of pairs first and second."""
    if isinstance(given, tuple):
        return {f"_{index}": without_names_of_tuples(each) for index, each in enumerate(given)}
    if isinstance(given, list):
        return [without_names_of_tuples(each) for each in given]
    if isinstance(given, dict):
        names = {"first": "_0", "second": "_1"}
        return {names.get(name, name): without_names_of_tuples(each) for name, each in given.items()}
    return given
