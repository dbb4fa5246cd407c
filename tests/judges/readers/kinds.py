"""Writes one file of each kind that Thalweg makes, for readers that are not ours."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import thalweg as tw
from thalweg.checkpoint import Block, save

ROWS = 3000
MANY_COLUMNS = 60
PULSES = {"t": tw.uint64(unit="ns"), "e": tw.float32, "k": tw.int16, "w": tw.array(tw.uint16, 40)}
EVENTS = {
    "i": tw.int32,
    "l": tw.list_(tw.float32),
    "s": tw.string,
    "hits": tw.list_({"a": tw.int16, "x": tw.float64}),
}
SMALL_PAGES = {"narrow_page_bytes": 2048}  # so that each producer fills some, and lists are virtual datasets
Rows = Callable[[int, int], Mapping[str, Any]]  # how many, and which part


def pulses(count: int, part: int) -> dict[str, Any]:
    any_ = np.random.default_rng(part)
    return {
        "t": np.cumsum(any_.integers(1, 100, count)).astype(np.uint64),
        "e": any_.normal(500, 20, count).astype(np.float32),
        "k": any_.integers(-5, 5, count).astype(np.int16),
        "w": any_.integers(100, 140, (count, 40)).astype(np.uint16),
    }


def noise(count: int, part: int) -> dict[str, Any]:
    """Returns values that no codec makes smaller, enough for several chunks."""
    any_ = np.random.default_rng(part)
    return {"n": any_.integers(0, 2**64, count * 6, np.uint64, endpoint=False)}


def events(count: int, part: int) -> dict[str, Any]:
    any_ = np.random.default_rng(part)
    lengths = any_.integers(0, 5, count)
    total = int(lengths.sum())
    hits = {"a": np.arange(total, dtype=np.int16), "x": np.arange(total, dtype=np.float64)}
    return {
        "i": np.arange(count, dtype=np.int32),
        "l": ak.unflatten(any_.normal(size=total).astype(np.float32), lengths),
        "s": ak.Array([f"é{j}" * (j % 4) for j in range(count)]),
        "hits": ak.zip({name: ak.unflatten(values, lengths) for name, values in hits.items()}),
    }


def record(path: Path, row: Any, rows: Rows, producers: int = 1, **options: Any) -> None:
    with tw.create(path, tw.schema({"ev": row}), **options) as out:
        all_ = [out.producer("ev") for _ in range(producers)]
        for part in range(4):
            for number, producer in enumerate(all_):
                producer.append(**rows(ROWS // producers // 4 + number, part * 10 + number))


def with_codec(codec: str) -> Callable[[Path], None]:
    return lambda path: record(path, PULSES, pulses, 2, codec=codec)


def with_numbers(path: Path) -> None:
    names = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"]
    row = {name: getattr(tw, name) for name in names}
    record(path, row, lambda n, _: {name: np.arange(n).astype(name) for name in names}, codec="none")


def with_times(path: Path) -> None:
    row = {"when": tw.datetime64("ns"), "long": tw.timedelta64("us")}
    start = np.datetime64("2026-01-01", "ns")
    record(path, row, lambda n, _: {
        "when": start + np.arange(n), "long": np.arange(n).astype("timedelta64[us]")
    }, codec="none")  # fmt: skip


def with_waveforms(path: Path) -> None:
    row = {"waveform": tw.waveform(tw.uint16, 30)}
    record(path, row, lambda n, part: {"waveform": {
        "t0": np.arange(n) / 2, "dt": np.full(n, 0.1), "values": pulses(n, part)["w"][:, :30]
    }}, codec="shuffle+deflate-1")  # fmt: skip


def with_missing(path: Path) -> None:
    row = {"q": tw.optional(tw.float32)}
    record(path, row, lambda n, _: {"q": [None if i % 3 else float(i) for i in range(n)]}, codec="none")


def with_many_tables(path: Path) -> None:
    tables = {f"g{i // 4}/t{i}": {"a": tw.int32, "b": tw.float64} for i in range(12)}
    attributes = {"run": 17, "note": "é", "array": [1.0, 2.0]}
    with tw.create(path, tw.schema(tables), codec="none", attrs=attributes) as out:
        for i, name in enumerate(tables):
            out.producer(name).append(a=np.arange(i + 1, dtype=np.int32), b=np.arange(i + 1) * 0.5)


def with_many_columns(path: Path) -> None:
    row = {f"c{i:04d}": tw.float32 for i in range(MANY_COLUMNS)}
    record(path, row, lambda n, _: {name: np.arange(n, dtype=np.float32) for name in row}, codec="shuffle+deflate-1")


def with_units(path: Path) -> None:
    with tw.create(path, tw.schema({"ev": {"a": tw.int32}}), codec="none") as out:
        for key in range(50):
            with out.work_unit(key, summary=f"unit {key}") as unit:
                unit["ev"].append(a=np.arange(100, dtype=np.int32) + key)


def with_nothing(path: Path) -> None:
    tw.create(path, tw.schema({"ev": EVENTS}), codec="none").close()


FIELD = np.arange(200 * 150, dtype=np.float64).reshape(200, 150)


def checkpoint(codec: str) -> Callable[[Path], None]:
    waves = FIELD[:60, :40] + 1j
    blocks = {"psi": Block(FIELD, FIELD.shape, (0, 0)), "phi": Block(np.ascontiguousarray(waves), (60, 40), (0, 0))}
    return lambda path: save(path, blocks, attributes={"step": 3}, codec=codec) and None


def checkpoint_of_blocks(path: Path) -> None:
    blocks = [
        Block(np.ascontiguousarray(FIELD[i : i + 100, j : j + 75]), FIELD.shape, (i, j))
        for i in (0, 100)
        for j in (0, 75)
    ]
    save(path, {"psi": blocks}, attributes={"step": 3})


KINDS: dict[str, Callable[[Path], None]] = {
    "codec none": with_codec("none"),
    "shuffle+deflate": with_codec("shuffle+deflate-1"),
    "lz4": with_codec("lz4"),
    "zstd": with_codec("zstd-3"),
    "bitshuffle+lz4": with_codec("bitshuffle+lz4"),
    "bitshuffle+zstd": with_codec("bitshuffle+zstd-3"),
    "deflate that does not shrink": lambda path: record(path, {"n": tw.uint64}, noise, codec="shuffle+deflate-1"),
    "numbers of all types": with_numbers,
    "booleans": lambda path: record(path, {"b": tw.bool_}, lambda n, _: {"b": np.arange(n) % 3 == 0}, codec="none"),
    "complex numbers": lambda path: record(
        path, {"z": tw.complex128}, lambda n, _: {"z": np.arange(n) * 1j}, codec="none"
    ),
    "times": with_times,
    "waveforms": with_waveforms,
    "lists of one producer": lambda path: record(path, EVENTS, events, codec="none"),
    "lists of three producers": lambda path: record(path, EVENTS, events, 3, codec="none", tuning=SMALL_PAGES),
    "lists, deflated": lambda path: record(path, EVENTS, events, 3, codec="shuffle+deflate-1", tuning=SMALL_PAGES),
    "missing values": with_missing,
    "many tables": with_many_tables,
    "many columns": with_many_columns,
    "work units": with_units,
    "no rows": with_nothing,
    "checkpoint": checkpoint("none"),
    "checkpoint, deflated": checkpoint("shuffle+deflate"),
    "checkpoint of four blocks": checkpoint_of_blocks,
}
