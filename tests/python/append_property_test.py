"""Whatever is given arrives as it is, or is refused with a sentence that names the column."""

import random
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from append_cases import agree, any_type, any_value, sources, stored
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from thalweg._append.columns import columns_of

# These say by themselves what they hold, so values that fit the declared type are taken.
TAKEN = {"list", "arrow", "chunked", "pandas of Arrow", "polars", "awkward of Arrow", "NumPy", "masked", "strided"}
TAKEN |= {"swapped", "pandas of objects", "list with masked", "list with NA", "pandas nullable", "NumPy's scalars"}
TAKEN |= {"polars category"}


def wrapped(rng: random.Random, source: str, value: Any, count: int) -> tuple[Any, dict[str, Any]]:
    """Returns values as the arguments of `append`: by name, in a dictionary, or in a table of their library."""
    number = np.arange(count)
    ways: list[tuple[Any, dict[str, Any]]] = [(None, {"x": value, "n": number}), ({"x": value, "n": number}, {})]
    if source in ("arrow", "chunked"):
        ways.append((pa.table({"x": value, "n": number}), {}))
    if source.startswith("pandas"):
        ways.append((pd.DataFrame({"x": value, "n": number}), {}))
    if source == "polars":
        ways.append((value.to_frame("x").with_columns(n=number), {}))
    if source in ("awkward", "behaviour"):
        ways.append((ak.zip({"x": value, "n": number}, depth_limit=1), {}))
    return rng.choice(ways)


def try_case(rng: random.Random) -> tuple[int, int]:
    """Returns how many appends were tried, and how many were taken."""
    type_ = any_type(rng)
    missing = rng.choice([0, 0, 0.15])
    rows = [any_value(rng, type_, missing) for _ in range(rng.randrange(5))]
    declared = type_ if rng.random() < 0.7 else any_type(rng)
    table = tw.schema({"t": {"x": declared, "n": tw.int64}})["t"]
    tried = taken = 0
    for source, value, shown in sources(rng, type_, rows):
        tried += 1
        arguments = wrapped(rng, source, value, len(rows))
        case = f"{source} of {rows!r} as {declared}"
        try:
            count, columns = columns_of(table, *arguments)
        except tw.UsageError as error:
            said = str(error)
        except Exception as error:
            raise AssertionError(f"{case}: {type(error).__name__}: {error}") from error
        else:
            said = ""
        if said:
            assert "column 'x" in said or "column 'n': many rows" in said, f"{case}: {said}"
            fits = rows and declared is type_ and missing == 0 and source in TAKEN and repr(shown) == repr(rows)
            assert not fits, f"{case}: {said}"
            continue
        assert count == len(rows), case
        flat = iter(columns)
        held = stored(declared, flat, count)
        assert next(flat).tolist() == list(range(count)), case
        assert all(agree(declared, *each) for each in zip(shown, held, strict=True)), f"{case}: {held}"
        taken += 1
    return tried, taken


@given(st.integers(0, 2**63))
def test_values_arrive_or_are_refused_by_name(seed: int) -> None:
    try_case(random.Random(seed))


def test_many_values_arrive_or_are_refused_by_name(long_mode: bool) -> None:
    tried = taken = 0
    seed = 0
    while tried < (100_000 if long_mode else 2_000):
        more = try_case(random.Random(seed))
        tried, taken, seed = tried + more[0], taken + more[1], seed + 1
    print(f"{tried} appends of the seeds 0 to {seed - 1}, {taken} were taken")
    assert taken > tried / 3


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_files_have_the_same_values(tmp_path: Path, name: str, long_mode: bool) -> None:
    for seed in range(200 if long_mode else 10):
        rng = random.Random(seed)
        type_ = any_type(rng)
        rows = [any_value(rng, type_, 0) for _ in range(4)]
        wanted: list[Any] = []
        with tw.create(tmp_path / name, {"t": {"x": type_, "n": tw.int64}}, force=True) as out:
            producer = out.producer("t")
            for source, value, shown in sources(rng, type_, rows):
                if source in TAKEN and repr(shown) == repr(rows):  # pandas may take NaN for missing
                    producer.append(x=value, n=np.arange(4))
                    wanted += shown
            for number, row in enumerate(rows):
                producer.append(x=row, n=number)
                wanted.append(row)
        held = tw.open(tmp_path / name)["t"].read().to_awkward()["x"].to_list()
        assert all(agree(type_, *each) for each in zip(wanted, held, strict=True)), (seed, wanted, held)
