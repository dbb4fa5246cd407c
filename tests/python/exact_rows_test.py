"""Rows that need no conversion are read by the core; what it takes, and what is refused, are the same without it."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from thalweg._writing.producer import Producer
from thalweg._writing.work_unit import UnitTable

INTEGERS = [0, -1, 127, 128, 255, 256, -128, -129, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63)]
REALS = [0.5, -0.0, float("nan"), float("inf"), 3e38, 1e39, 1e-50]
NUMPYS = [
    np.float64(0.5),
    np.float32(0.5),
    np.int64(3),
    np.uint8(3),
    np.bool_(True),
    np.str_("a"),
    np.datetime64(1, "s"),
]
ARRAYS = [
    np.arange(3, dtype=np.int32),
    np.arange(3.0),
    np.arange(3, dtype=">i4"),
    np.arange(6, dtype=np.int32)[::2],
    np.arange(6, dtype=np.int32).reshape(2, 3),
    np.zeros((0, 3), np.int32),
    np.zeros(0, np.int32),
    np.array(5, np.int32),
    np.array([5], np.int32),
    np.ma.MaskedArray(np.arange(3, dtype=np.int32), [0, 1, 0]),
    np.array([True, False, True]),
    np.array([1, 2, 3], "M8[s]"),
]
OTHERS = [True, None, "zwölf", "", "\ud800", "a\0b", b"abc", [1, 2, 3], [], {"y": 1}, {"y": None}, {}, 1j]
LISTS = [
    [1.5, 2],
    [True],
    [None],
    [2**40, 1],
    [2**53 + 1],
    [1e39],
    [1, None],
    ["a", "µ", ""],
    ["a", None],
    ["\ud800"],
    [[1], [2, 3]],
    [[], [1]],
    [[]],
    [["a"], ["b", "c"]],
    [{"y": 1}, {"y": 2}],
    [{"y": 1}, {"y": None}],
    [{"y": "text"}],
    [{"y": 1, "z": 2}],
    [{}],
    [[{"y": 1}]],
    [np.float64(1), 2.0],
    [np.arange(3, dtype=np.int32)],
    (1, 2),
]
TYPES = [tw.Type(name) for name in ("bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64")]
TYPES += [tw.string, tw.array(tw.int32, 3), tw.list_(tw.int32), tw.struct({"y": tw.int64}), tw.optional(tw.int32)]
TYPES += [tw.optional(tw.string), tw.optional(tw.float64), tw.struct({"y": tw.optional(tw.int64)})]
TYPES += [tw.list_(type_) for type_ in (tw.float32, tw.bool_, tw.string, tw.list_(tw.int32), tw.list_(tw.string))]
TYPES += [tw.list_(type_) for type_ in ({"y": tw.int64}, tw.optional(tw.int64), {"y": tw.optional(tw.string)})]
TYPES += [tw.complex64, tw.datetime64("s"), tw.list_(tw.array(tw.int32, 3))]


def outcomes(path: Path, type_: tw.Type, with_text: bool, in_units: bool = False) -> list[Any]:
    """Returns the error of each value, or the number of rows behind it, and then what the file has."""
    found: list[Any] = []
    fields = {"x": type_, "s": tw.string} if with_text else {"x": type_}
    more = {"s": "text"} if with_text else {}
    with tw.create(path, {"t": fields}, force=True) as out, ExitStack() as stack:
        table: Any = stack.enter_context(out.work_unit(1))["t"] if in_units else out.producer("t")
        for value in [*INTEGERS, *REALS, *NUMPYS, *ARRAYS, *OTHERS, *LISTS]:
            for arguments in ((None, {"x": value, **more}), ({"x": value, **more}, {})):
                try:
                    table.append(arguments[0], **arguments[1])
                    found.append(None if in_units else table.rows)
                except tw.UsageError as error:
                    found.append(str(error))
    return [*found, repr(tw.open(path)["t"].read().to_awkward().to_list())]


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("name", ["run.h5", "run.root"])
@pytest.mark.parametrize("with_text", [False, True])
def test_values_are_the_same_with_and_without_the_core(
    tmp_path: Path, name: str, type_: tw.Type, with_text: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_core = outcomes(tmp_path / name, type_, with_text)
    monkeypatch.setattr(Producer, "_took_exact", lambda *_: False)
    assert with_core == outcomes(tmp_path / name, type_, with_text)


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_work_units_take_the_same_values(tmp_path: Path, type_: tw.Type, monkeypatch: pytest.MonkeyPatch) -> None:
    with_core = outcomes(tmp_path / "run.root", type_, True, in_units=True)
    monkeypatch.setattr(UnitTable, "_took_exact", lambda *_: False)
    assert with_core == outcomes(tmp_path / "run.root", type_, True, in_units=True)


NESTED = {
    "a": tw.list_(tw.float32),
    "b": tw.list_(tw.string),
    "c": tw.list_({"x": tw.int8, "y": tw.list_({"z": tw.string, "w": tw.optional(tw.float64)})}),
    "d": tw.list_(tw.list_(tw.uint64)),
}
ROWS_OF_LISTS: list[dict[str, Any]] = [
    {
        "a": [1.5, 2.0],
        "b": ["µ", ""],
        "c": [{"x": 1, "y": [{"z": "a", "w": None}, {"z": "b", "w": 0.5}]}, {"x": 2, "y": []}],
        "d": [[1, 2**64 - 1], []],
    },
    {"a": [], "b": [], "c": [], "d": []},
    {"a": [3.0], "b": ["c" * 300], "c": [{"x": -1, "y": [{"z": "", "w": 2.0}]}], "d": [[], [5]]},
]


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_the_core_takes_lists_of_python(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("producer", "work_unit"):
        monkeypatch.setattr(f"thalweg._writing.{module}.columns_of", None)
    with tw.create(tmp_path / name, {"t": NESTED, "u": NESTED}) as out:
        with out.producer("t") as producer:
            for row in ROWS_OF_LISTS:
                producer.append(row)
        with out.work_unit(1) as unit:
            for row in ROWS_OF_LISTS:
                unit["u"].append(**row)
    run = tw.open(tmp_path / name)
    assert run["t"].read().to_awkward().to_list() == ROWS_OF_LISTS
    assert run["u"].read().to_awkward().to_list() == ROWS_OF_LISTS


def test_the_core_takes_rows_of_the_declared_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {
        "a": tw.uint8,
        "b": tw.float32,
        "c": tw.string,
        "d": tw.array(tw.int16, 2),
        "e": {"f": tw.list_(tw.int64)},
    }
    fields |= {"g": tw.optional(tw.string), "h": tw.optional(tw.float64), "i": tw.optional(tw.string)}
    row = {"a": 255, "b": 1, "c": "µ", "d": np.array([1, 2], np.int16), "e": {"f": np.array([3])}}
    row |= {"g": None, "h": 1.5, "i": "text"}
    monkeypatch.setattr("thalweg._writing.producer.columns_of", None)  # the way of all other values
    with tw.create(tmp_path / "run.h5", {"t": fields, "n": {"x": tw.int64}}) as out:
        out.producer("t").append(**row)
        out.producer("t").append(row)
        out.producer("n").append(x=np.arange(1000))
    run = tw.open(tmp_path / "run.h5")
    wanted = {"a": 255, "b": 1.0, "c": "µ", "d": [1, 2], "e": {"f": [3]}, "g": None, "h": 1.5, "i": "text"}
    assert run["t"].read().to_awkward().to_list() == [wanted, wanted]
    assert run["n"]["x"][:].tolist() == list(range(1000))


REPLACED = """
import sys, threading, time
import thalweg as tw

size = 200 << 20
with tw.create(sys.argv[1], {"t": {"s": tw.string}}, tuning={"narrow_codec": "none"}) as out:
    with out.producer("t") as producer:
        row = {}
        begun = threading.Event()

        def replace():
            begun.wait()
            time.sleep(float(sys.argv[2]))  # the main thread has no GIL while it copies
            row["s"] = ""

        thread = threading.Thread(target=replace)
        thread.start()
        row["s"] = "x" * size
        begun.set()
        producer.append(row)
        thread.join()
with tw.open(sys.argv[1]) as run:
    assert str(run["t"]["s"][0]) in ("x" * size, "")
"""


@pytest.mark.parametrize("wait_s", [0.001, 0.01, 0.05])
def test_a_string_that_another_thread_replaces_is_whole(tmp_path: Path, wait_s: float) -> None:
    command = [sys.executable, "-c", REPLACED, str(tmp_path / "run.h5"), str(wait_s)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-1000:])
