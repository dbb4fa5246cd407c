"""What can be appended, and what is refused with table, column and row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

import thalweg as tw

SCHEMA = tw.schema(
    {
        "pulses": {
            "time": tw.uint64(unit="ns"),
            "energy": tw.float32,
            "trace": tw.array(tw.uint16, 4),
            "hits": tw.list_({"x": tw.float32, "labels": tw.list_(tw.string)}),
            "tag": tw.string,
        }
    }
)

Append = Callable[..., tw.Rows]


@pytest.fixture
def appended(tmp_path: Path) -> Append:
    """Appends to a table of these fields, and returns what is then read."""

    def run(fields: dict[str, tw.Type], *args: Any, **values: Any) -> tw.Rows:
        path = tmp_path / "run.h5"
        with tw.create(path, tw.schema({"t": fields}), force=True) as out:
            out.producer("t").append(*args, **values)
        return tw.open(path)["t"].read()

    return run


def two_rows() -> dict[str, Any]:
    return {
        "time": np.array([1, 2], np.uint64),
        "energy": np.array([0.5, np.nan], np.float32),
        "trace": np.arange(8, dtype=np.uint16).reshape(2, 4),
        "hits": [[{"x": 1.0, "labels": ["a", ""]}, {"x": 2.0, "labels": []}], []],
        "tag": ["first", "zwölf"],
    }


def as_lists(rows: tw.Rows) -> list[Any]:
    lists: list[Any] = rows.to_awkward().to_list()
    return lists


def test_rows_come_one_at_a_time_or_many_at_once(tmp_path: Path) -> None:
    many = two_rows()
    with tw.create(tmp_path / "run.h5", SCHEMA) as out, out.producer("pulses") as pulses:
        pulses.append(**many)
        for row in range(2):
            pulses.append({name: values[row] for name, values in many.items()})
        assert pulses.rows == 4
    rows = as_lists(tw.open(tmp_path / "run.h5")["pulses"].read())
    assert repr(rows[:2]) == repr(rows[2:])
    assert rows[0]["hits"] == many["hits"][0]
    assert rows[1]["tag"] == "zwölf"
    assert np.isnan(rows[1]["energy"])


def test_whole_rows_come_from_awkward_arrow_rows_and_mappings(tmp_path: Path) -> None:
    with tw.create(tmp_path / "a.h5", SCHEMA) as out:
        out.producer("pulses").append(two_rows())
    rows = tw.open(tmp_path / "a.h5")["pulses"].read()
    forms: list[Any] = [rows, rows.to_awkward(), rows.to_arrow(), rows.to_arrow().to_batches()[0]]
    forms += [rows.to_awkward()[::-1][::-1], rows.to_arrow().slice(0, 2), {name: rows[name] for name in rows}]
    with tw.create(tmp_path / "b.h5", SCHEMA) as out, out.producer("pulses") as pulses:
        for form in forms:
            pulses.append(form)
    copied = as_lists(tw.open(tmp_path / "b.h5")["pulses"].read())
    assert repr(copied) == repr(as_lists(rows) * len(forms))


def test_arrays_of_structs_are_that_in_awkward_and_arrow(tmp_path: Path) -> None:
    pair = tw.array(
        {"a": tw.array(tw.int8, 2), "text": tw.string, "list": tw.list_(tw.float32), "z": tw.complex64}, 2, 3
    )
    schema = tw.schema({"t": {"pairs": pair, "lists": tw.list_(pair)}})
    one: dict[str, Any] = {"a": [1, 2], "text": "x", "list": [1, 2], "z": 1j}
    pairs = [[one] * 3, [{**one, "text": str(i)} for i in range(3)]]
    with tw.create(tmp_path / "run.h5", schema) as out:
        out.producer("t").append(pairs=[pairs] * 4, lists=[[pairs] * i for i in range(4)])
    rows = tw.open(tmp_path / "run.h5")["t"].read()
    array = rows.to_awkward()
    item = "{a: 2 * int8, text: string, list: var * float32, z: complex64}"
    assert str(array.type) == f"4 * {{pairs: 2 * 3 * {item}, lists: var * 2 * 3 * {item}}}"
    assert array[1].to_list() == {"pairs": pairs, "lists": [pairs]}
    with tw.create(tmp_path / "again.h5", schema) as out:
        producer = out.producer("t")
        for each in (rows, array):
            producer.append(each)
    assert tw.open(tmp_path / "again.h5")["t"].read().to_awkward().to_list() == 2 * array.to_list()
    assert rows.to_arrow()["lists"][1].as_py()[0][1][2] == {**one, "text": "2", "z": [0.0, 1.0]}


def test_fields_come_from_awkward_and_arrow(appended: Append) -> None:
    fields = {"a": tw.list_(tw.list_(tw.int32)), "b": tw.string, "c": tw.array(tw.float64, 2), "d": tw.list_(tw.string)}
    lists = [[[1], []], [], [[2, 3]]]
    rows = appended(
        fields,
        a=ak.values_astype(ak.Array(lists), np.int32),
        b=pa.chunked_array([["x"], ["y", "z"]]),
        c=pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float64(), 2)),
        d=pa.array([["u"], [], ["v", "w"]])[0:],
    )
    expected = [list(row) for row in zip(lists, "xyz", [[1.0, 2.0]] * 3, [["u"], [], ["v", "w"]], strict=True)]
    assert [list(row.values()) for row in as_lists(rows)] == expected


def test_structs_come_nested_by_path_or_structured(tmp_path: Path) -> None:
    schema = tw.schema({"t": {"pulse": tw.waveform(tw.uint16, 3)}})
    values = np.arange(6, dtype=np.uint16).reshape(2, 3)
    structured = np.zeros(2, [("t0", "f8"), ("dt", "f8"), ("values", "u2", (3,))])
    structured["values"] = values
    structured["dt"] = 0.5
    with tw.create(tmp_path / "run.h5", schema) as out, out.producer("t") as table:
        table.append(pulse={"t0": [0, 0], "dt": [0.5, 0.5], "values": values})
        table.append({"pulse/t0": [0, 0], "pulse/dt": [0.5, 0.5], "pulse/values": values})
        table.append(pulse=structured)
        table.append(pulse=structured[0])
        table.append(pulse=[{"t0": 0, "dt": 0.5, "values": values[1]}])
    rows = tw.open(tmp_path / "run.h5")["t"].read()
    np.testing.assert_array_equal(rows["pulse/values"], np.concatenate([values] * 4))
    assert rows["pulse"]["dt"].tolist() == [0.5] * 8


def test_arrays_of_any_memory_layout_work(appended: Append) -> None:
    block = np.arange(48, dtype=np.int32).reshape(4, 12)
    readonly = block[:, ::3].copy()
    readonly.flags.writeable = False
    fields = dict.fromkeys(("strided", "fortran", "readonly", "swapped", "narrower"), tw.array(tw.int32, 4))
    rows = appended(
        fields,
        strided=block[:, ::3],
        fortran=np.asfortranarray(block[:, ::3]),
        readonly=readonly,
        swapped=readonly.astype(">i4"),
        narrower=readonly.astype(np.int16),
    )
    for name in fields:
        np.testing.assert_array_equal(rows[name], readonly, err_msg=name)


def test_lists_of_structs_come_as_ragged_or_as_lists_of_each_member(tmp_path: Path) -> None:
    schema = tw.schema({"t": {"hits": tw.list_({"x": tw.float64, "n": tw.int16})}})
    with tw.create(tmp_path / "run.h5", schema) as out, out.producer("t") as table:
        table.append(hits=tw.Ragged([0, 2, 2], {"x": np.array([1.0, 2.0]), "n": np.array([1, 2], np.int16)}))
        table.append(hits={"x": [[1.0, 2.0], []], "n": [[1, 2], []]})
        table.append(hits={"x": [1.0, 2.0], "n": [1, 2]})
        with pytest.raises(tw.UsageError, match=r"column 'hits/n', row 1 .*another length than that of 'x'"):
            table.append(hits={"x": [[1.0, 2.0], []], "n": [[1, 2], [3]]})
    hits = [{"x": 1.0, "n": 1}, {"x": 2.0, "n": 2}]
    assert [row["hits"] for row in as_lists(tw.open(tmp_path / "run.h5")["t"].read())] == [hits, [], hits, [], hits]


def test_zero_rows_are_rows(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out, out.producer("pulses") as pulses:
        pulses.append({name: values[:0] for name, values in two_rows().items()})
        pulses.append(time=[], energy=[], trace=np.empty((0, 4), np.uint16), hits=[], tag=[])
    run = tw.open(tmp_path / "run.h5")
    assert len(run["pulses"]) == 0
    assert as_lists(run["pulses"].read()) == []


def test_empty_lists_are_one_row_where_the_other_fields_say_so(appended: Append) -> None:
    rows = appended({"x": tw.list_(tw.list_(tw.float64)), "n": tw.int8}, x=[], n=3)
    assert as_lists(rows) == [{"x": [], "n": 3}]


def test_python_numbers_that_fit_are_taken(appended: Append) -> None:
    fields = {"a": tw.uint64, "b": tw.int8, "c": tw.float32, "d": tw.complex64, "e": tw.uint8}
    rows = appended(fields, a=[2**64 - 1, 0], b=[-128, 127], c=[1, np.inf], d=[1, 2j], e=[True, 255])
    assert rows["a"].tolist() == [2**64 - 1, 0]
    assert rows["d"].tolist() == [1, 2j]
    assert rows["e"].tolist() == [1, 255]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": np.array([1, -2])}, "column 'time', row 1 .*: -2 does not fit .uint64 is declared"),
        ({"time": np.array([1.0, 2.0])}, "column 'time': values of type float64"),
        ({"time": [1.5, 2]}, "column 'time': values such as"),
        ({"time": [1, -1]}, "column 'time', row 1 .*: -1 does not fit"),
        ({"time": [1, 2**64]}, "column 'time', row 1 .*: 18446744073709551616"),
        ({"time": [1, None]}, "column 'time', row 1 .*: None is not a number"),
        ({"time": ["1", "2"]}, "column 'time'"),
        ({"time": [1, 2, 3]}, "2 rows were given.*'time' has 3"),
        ({"time": 1}, "many rows were given, but one row of 'time'"),
        ({"time": np.ma.array([1, 2], np.uint64, mask=[0, 1])}, "column 'time'.*masked"),
        ({"energy": [1.0, 1e300]}, "column 'energy', row 1 .*: 1e.300 does not fit"),
        ({"energy": np.array([1.0, 2.0])}, "column 'energy': values of type float64"),
        ({"trace": np.zeros((2, 5), np.uint16)}, r"column 'trace': rows of shape \(5,\).*\(4,\) is declared"),
        ({"trace": np.zeros((2, 4, 1), np.uint16)}, "column 'trace': a value of 3 dimensions"),
        ({"trace": [[1, 2, 3, 4], [1, 2]]}, r"column 'trace', row 1 .*: shape \(2,\).*\(4,\) is declared"),
        ({"trace": [np.zeros(4, "u2"), np.zeros(3, "u2")]}, "column 'trace', row 1"),
        ({"trace": [np.zeros(4, "i4"), np.full(4, 65536, "i4")]}, "column 'trace', row 1 .*: 65536 does not fit"),
        ({"energy": np.array([1, 2**24 + 1])}, "column 'energy', row 1 .*: 16777217 does not fit .float32 is declared"),
        ({"trace": ak.Array([[1, 2, 3, 4], [1]])}, "column 'trace'"),
        (
            {"hits": [[{"x": 1.0}], []]},
            "column 'hits/*', element 0 of this append|column 'hits/.*no value for 'labels'",
        ),
        ({"hits": [[], None]}, "column 'hits', row 1 .*: None is not a list"),
        ({"hits": [[{"x": 1.0, "labels": []}], "abc"]}, "column 'hits'.*'abc' is not a list"),
        ({"tag": ["a", 3]}, "column 'tag', row 1 .*: 3 is not a string"),
        ({"tag": ["a", "\ud800"]}, "column 'tag', row 1 .*not valid text"),
        ({"tag": pa.array(["a", None])}, "column 'tag', row 1 .*: the value is missing .*null"),
        ({"energy": ak.Array([1.0, None])}, "column 'energy', row 1 .*: the value is missing"),
        ({"other": [1, 2]}, "there is no field 'other'"),
    ],
)
def test_wrong_values_are_refused_and_leave_nothing_behind(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out, out.producer("pulses") as pulses:
        with pytest.raises(tw.UsageError, match="(?s)" + message) as caught:
            pulses.append(two_rows() | change)
        assert "table 'pulses'" in str(caught.value)
        assert pulses.rows == 0
        pulses.append(two_rows())
    assert len(tw.open(tmp_path / "run.h5")["pulses"]) == 2


@pytest.mark.parametrize("rows", [3, "abc", [1, 2], np.zeros(3)])
def test_what_is_not_rows_is_refused(rows: object, tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out, pytest.raises(tw.UsageError, match="table 'pulses'"):
        out.producer("pulses").append(rows)


def test_missing_fields_are_named(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out, pytest.raises(tw.UsageError, match="no value for 'energy'"):
        out.producer("pulses").append(time=1)


def test_more_than_four_gigabytes_in_one_append(tmp_path: Path, long_mode: bool) -> None:
    if not long_mode:
        pytest.skip("takes 5 GiB of memory; --long")
    rows, samples = 5 * 1024, 1 << 20
    block = np.broadcast_to(np.arange(samples, dtype=np.uint32).astype(np.uint8), (rows, samples)).copy()
    block[:, 0] = np.arange(rows) % 251
    with tw.create(tmp_path / "run.h5", tw.schema({"t": {"x": tw.array(tw.uint8, samples)}})) as out:
        out.producer("t").append(x=block)
    table = tw.open(tmp_path / "run.h5")["t"]
    assert len(table) == rows
    np.testing.assert_array_equal(table.read(rows=slice(rows - 3, rows))["x"], block[-3:])


@pytest.mark.parametrize("given", [np.int64, np.uint64, np.int8, np.uint8, np.int32], ids=str)
@pytest.mark.parametrize("declared", ["int8", "uint8", "int16", "uint32", "int64", "uint64", "float32", "float64"])
def test_integers_are_taken_where_no_value_changes(given: type, declared: str, tmp_path: Path) -> None:
    low, high = np.iinfo(given).min, np.iinfo(given).max
    numbers = sorted({0, 1, 3, 127, 128, 255, 2**24 + 1, 2**53 + 1, 2**63, low, high, -1, -128, -129})
    with tw.create(tmp_path / "run.h5", {"t": {"x": getattr(tw, declared)}}) as out:
        producer = out.producer("t")
        taken = []
        for number in (each for each in numbers if low <= each <= high):
            holds = int(np.dtype(declared).type(number)) == number if declared.startswith("f") else None
            if holds is None:
                holds = np.iinfo(declared).min <= number <= np.iinfo(declared).max
            array = np.array([number], given)
            if holds or np.can_cast(given, declared):
                producer.append(x=array)
                taken.append(number)
            else:
                with pytest.raises(tw.UsageError, match=f"row 0 of this append: {number} does not fit"):
                    producer.append(x=array)
    assert tw.open(tmp_path / "run.h5")["t"]["x"][:].tolist() == np.array(taken, declared).tolist()


def test_structured_arrays_are_schemas_and_rows(tmp_path: Path) -> None:
    dtype = np.dtype([("x", "<i4"), ("pulse", [("t0", "<f8"), ("samples", "<u2", (4,))])])
    rows = np.zeros(10, dtype)
    rows["x"], rows["pulse"]["samples"] = np.arange(10), np.arange(40).reshape(10, 4)
    with tw.create(tmp_path / "run.root", {"t": dtype}) as out:
        out.producer("t").append(rows)
    table = tw.open(tmp_path / "run.root")["t"]
    assert str(table.schema["pulse"]) == "{t0: float64, samples: uint16[4]}"
    np.testing.assert_array_equal(table.to_numpy(), rows)
    for wrong in (np.int32, np.dtype("3i4"), np.dtype((dtype, (2,)))):
        with pytest.raises(tw.UsageError, match=r"table 't' is .* has no fields"):
            tw.schema({"t": wrong})


def test_values_of_other_libraries_are_converted_once(appended: Append) -> None:
    class Numbers:
        """An array of another library, which counts how often it is asked for its content."""

        def __init__(self, *values: float) -> None:
            self.values, self.asked = values, 0

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            self.asked += 1
            return np.array(self.values, np.float32)

    lists = [Numbers(1, 2), Numbers(), Numbers(3)]
    inner = [Numbers(4), Numbers(5, 6), Numbers()]
    fields = {"plain": tw.list_(tw.float32), "inner": {"x": tw.list_(tw.float32)}}
    rows = appended(fields, plain=lists, inner={"x": inner})
    assert rows["plain"].content.tolist() == [1, 2, 3]
    assert rows["inner"]["x"].content.tolist() == [4, 5, 6]
    assert [each.asked for each in (*lists, *inner)] == [1] * 6
