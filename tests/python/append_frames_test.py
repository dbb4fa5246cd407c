"""Frames and arrays of other libraries: what fits is appended, and the column and row of what does not are named."""

from datetime import datetime
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import vector

import thalweg as tw

FIELDS = {"x": tw.float64, "s": tw.string, "o": tw.optional(tw.int64)}


def frame(**changed: object) -> pd.DataFrame:
    return pd.DataFrame({"x": [1.0, np.nan, 3.0], "s": ["a", "", "c"], "o": pd.array([1, None, 3], "Int64")} | changed)


def test_frames_are_rows(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"t": FIELDS}) as out:
        producer = out.producer("t")
        producer.append(frame())
        producer.append(frame(s=pd.array(["d", "e", "f"], "string"), o=[None, None, None]))
        producer.append(frame(x=pd.array([7.0, 8.0, 9.0], "float64[pyarrow]")).iloc[1:])
    rows = tw.open(tmp_path / "run.h5")["t"].read()
    np.testing.assert_array_equal(rows["x"], [1, np.nan, 3, 1, np.nan, 3, 8, 9])
    assert rows["s"].tolist() == ["a", "", "c", "d", "e", "f", "", "c"]
    assert rows.to_arrow()["o"].to_pylist() == [1, None, 3, None, None, None, None, 3]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"x": [1.0, "two", 3.0]}, "column 'x', row 1 of this append: 'two' is not a number"),
        ({"x": [1.0, 2.0, object()]}, "column 'x', row 2 of this append: <object object at"),
        ({"x": [1.0, None, "three"]}, "column 'x', row 1 of this append: None is not a number"),
        ({"s": ["a", 5, "c"]}, "column 's', row 1 of this append: 5 is not a string"),
        ({"s": pd.array(["a", None, "c"], "string")}, "column 's', row 1 of this append: the value is missing"),
        ({"o": [1, "two", None]}, "column 'o"),
        ({"y": [1, 2, 3]}, "there is no field 'y'"),
    ],
    ids=range(7),
)
def test_what_does_not_fit_is_named(tmp_path: Path, changed: dict[str, object], said: str) -> None:
    with tw.create(tmp_path / "run.h5", {"t": FIELDS}) as out:
        producer = out.producer("t")
        with pytest.raises(tw.UsageError, match="table 't'") as error:
            producer.append(frame(**changed))
        assert said in str(error.value)
        producer.append(frame())
    assert len(tw.open(tmp_path / "run.h5")["t"]) == 3


X = {"x": tw.float64}
MASKED = np.ma.zeros(2, dtype=[("x", "f8")])
MASKED["x"] = np.ma.MaskedArray([1.0, 2.0], [False, True])
NULLS = [
    pd.array([1.0, None], "Float64"),
    pd.Series([1.0, None], dtype="double[pyarrow]"),
    pd.Series([1, None], dtype="Int64"),
    pl.Series([1.0, None]),
    pa.array([1.0, None]),
    pa.chunked_array([[1.0], [None]]),
    np.ma.MaskedArray([1.0, 2.0], [False, True]),
    [1.0, np.ma.masked],
    [1.0, pd.NA],
    [1.0, None],
]


@pytest.mark.parametrize("given", NULLS, ids=[f"{type(each).__name__} {at}" for at, each in enumerate(NULLS)])
def test_nulls_are_missing_or_refused(tmp_path: Path, given: Any) -> None:
    with tw.create(tmp_path / "run.h5", {"t": X, "o": {"x": tw.optional(tw.float64)}}) as out:
        with out.producer("t") as rows, pytest.raises(tw.UsageError, match="column 'x', row 1 of this append"):
            rows.append(x=given)
        with out.producer("o") as rows:
            rows.append(x=given)
    assert tw.open(tmp_path / "run.h5")["o"].read().to_arrow()["x"].to_pylist() == [1, None]


@pytest.mark.parametrize(
    ("fields", "rows", "said"),
    [
        (X, pd.DataFrame([[1.0, 2.0]], columns=["x", "x"]), "two columns are named 'x'"),
        (X, pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"]), "two columns are named 'x'"),
        (X, pd.DataFrame([[1.0]]), "the name of a column is 0, not a string"),
        (X, {0: [1.0]}, "the name of a column is 0"),
        (X, MASKED, "column 'x', row 1 of this append: the value is missing"),
        (X, {"x": pa.array([1, 2], pa.time64("ns"))}, "column 'x': Arrow values of type time64"),
        ({"x": {"y": tw.int8}}, {"x/y": [1], "x": {"y": [2]}}, "two values were given for 'x'"),
        ({"x": tw.list_({"y": tw.int8, "z": tw.int8})}, {"x": [{"y": [1], "z": []}]}, "column 'x/"),
        ({"x": tw.string}, {"x": tw.Ragged([0, 1], np.array([65.5]))}, "column 'x'"),
        ({"x": tw.list_(tw.uint8)}, {"x": pa.array(["a"])}, "column 'x"),
        ({"x": tw.datetime64("s")}, {"x": [datetime(2026, 1, 1, microsecond=5)]}, "column 'x', row 0 .* does not fit"),
        ({"x": tw.datetime64("us")}, {"x": [pd.Timestamp(1, unit="ns")]}, "column 'x', row 0 .* does not fit"),
    ],
    ids=range(12),
)
def test_what_would_be_stored_wrongly_is_refused(tmp_path: Path, fields: Any, rows: Any, said: str) -> None:
    with tw.create(tmp_path / "run.h5", {"t": fields}) as out, out.producer("t") as producer:
        with pytest.raises(tw.UsageError, match=f"table 't'.*{said}"):
            producer.append(rows)
        assert producer.rows == 0


def test_rows_and_names_do_not_give_the_same_value_twice(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"t": X}) as out, pytest.raises(tw.UsageError, match=r"two values .* for 'x'"):
        out.producer("t").append({"x": [1.0]}, x=[2.0])


@pytest.mark.parametrize(
    ("type_", "given", "wanted"),
    [
        (tw.list_(tw.int64), ak.Array([[], []]), [[], []]),
        (tw.list_(tw.int64), pa.array([[1, 2], [], [None], [4]])[:2], [[1, 2], []]),
        (tw.list_(tw.optional(tw.int64)), [[1, None], [None]], [[1, None], [None]]),
        (tw.float64, pd.arrays.SparseArray([0.0, 1.5]), [0.0, 1.5]),
        (tw.string, pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
        (tw.string, pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (tw.string, np.array(["a", "b"]), ["a", "b"]),
        (tw.float32, np.array([0.5, 65504], np.float16), [0.5, 65504]),
        (tw.array(tw.int32, (1, 2)), [[[1, 2]], [[3, 4]]], [[[1, 2]], [[3, 4]]]),
        (tw.struct({"y": tw.optional(tw.int8)}), {"y": [None, 3]}, [{"y": None}, {"y": 3}]),
    ],
    ids=range(10),
)
def test_values_of_many_libraries_arrive(tmp_path: Path, type_: tw.Type, given: Any, wanted: list[Any]) -> None:
    with tw.create(tmp_path / "run.root", {"t": {"x": type_}}) as out:
        out.producer("t").append(x=given)
    assert tw.open(tmp_path / "run.root")["t"].read().to_awkward()["x"].to_list() == wanted


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_vectors_are_stored(tmp_path: Path, name: str) -> None:
    vector.register_awkward()
    components = {name: ak.Array([[1.0, 2.0], [], [3.0]]) for name in ("pt", "eta", "phi", "mass")}
    muons = ak.zip(components, with_name="Momentum4D")
    assert isinstance(muons, vector.backends.awkward.MomentumArray4D)
    with tw.create(tmp_path / name, {"t": {"muons": tw.list_(dict.fromkeys(components, tw.float64))}}) as out:
        producer = out.producer("t")
        producer.append(muons=muons)
        producer.append(ak.zip({"muons": muons}, depth_limit=1))
        producer.append(muons=muons[2])
    held = tw.open(tmp_path / name)["t"].read().to_awkward()["muons"].to_list()
    assert held == muons.to_list() * 2 + muons.to_list()[2:]
