"""RNTuples that others wrote, ROOT and uproot: the values are those that uproot gives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import thalweg as tw

# What the folder of real files has; others are skipped.
FILES = [
    "events/nano_dy_rntuple.root",
    "rntuple/ntpl001_staff_rntuple_v1-0-0-0.root",
    "rntuple/ntpl001_staff_rntuple_v1-0-1-0.root",
    "rntuple/rntviewer-testfile-multiple-rntuples-v1-0-0-0.root",
    "rntuple/test_1jag_int_float_rntuple_v1-0-0-0.root",
    "rntuple/test_bit_rntuple_v1-0-0-0.root",
    "rntuple/test_index_multicluster_rntuple_v1-0-0-0.root",
    "rntuple/test_int_5e4_rntuple_v1-0-0-0.root",
    "rntuple/test_multiple_cluster_groups_rntuple_v1-0-0-0.root",
    "rntuple/test_nested_structs_rntuple_v1-0-0-0.root",
    "rntuple/test_split_3e4_rntuple_v1-0-0-0.root",
    "rntuple/test_splitint_rntuple_v1-0-1-0.root",
    "rntuple/test_stl_containers_rntuple_v1-0-0-0.root",
    "rntuple/uproot-physlite-rntuple_v1-0-0-0.root",
]
ROWS = 200


@pytest.fixture(scope="module", params=FILES, ids=lambda name: Path(name).name)
def real_file(request: pytest.FixtureRequest, real_data: Path) -> Path:
    path = real_data / request.param
    return path if path.exists() else pytest.skip(f"there is no {path}")


def assert_same(mine: tw.Table, theirs: Any) -> None:
    """Every field that has values, and of those without any (classes with no members) none."""
    expected, found = theirs.arrays(), mine.read().to_awkward()
    assert len(found) == len(mine) == len(expected)
    without_values = [name for name in expected.fields if name not in found.fields]
    assert all(str(expected[name].type).endswith("* ()") for name in without_values)
    assert [name for name in expected.fields if name not in without_values] == found.fields
    for name in found.fields:
        # A cardinality is unsigned in the file; uproot makes an int64 of it.
        is_size = mine.schema[name].type_name.startswith("ROOT::RNTupleCardinality")
        assert ak.array_equal(found[name], expected[name], equal_nan=True, dtype_exact=not is_size), name


def test_a_real_file_has_the_values_that_uproot_gives(real_file: Path) -> None:
    with uproot.open(real_file) as file:
        names = [name for name, kind in file.classnames(cycle=False).items() if kind == "ROOT::RNTuple"]
        run = tw.open(real_file)
        trees = [name for name, kind in file.classnames(cycle=False).items() if kind == "TTree"]
        assert set(names) <= set(run) <= {*names, *trees}
        for name in names:
            assert_same(run[name], file[name])
    assert tw.verify(real_file).is_sound


def test_any_range_of_rows_and_any_column_of_a_real_file(real_file: Path) -> None:
    for table in tw.open(real_file).values():
        whole = table.read().to_awkward()
        for start, stop in [(0, 1), (len(table) // 3, len(table) // 2 + 1), (len(table) - 1, len(table))]:
            part = table.read(rows=slice(start, stop)).to_awkward()
            assert ak.array_equal(part, whole[start:stop], equal_nan=True)
        name = list(table.schema)[-1]
        assert ak.array_equal(table.read(name).to_awkward()[name], whole[name], equal_nan=True)


def test_a_real_file_goes_into_hdf5_and_back(real_file: Path, tmp_path: Path) -> None:
    run = tw.open(real_file)
    tw.convert(real_file, tmp_path / "run.h5")
    tw.convert(tmp_path / "run.h5", tmp_path / "run.root")
    again = tw.open(tmp_path / "run.root")
    for name, table in run.items():
        assert again[name].schema == table.schema
        assert ak.array_equal(again[name].read().to_awkward(), table.read().to_awkward(), equal_nan=True)


def test_a_file_of_root_without_a_table_is_refused(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "text.root") as file:
        file["text"] = "no table"
    with pytest.raises(tw.DataError, match=r"text\.root holds no table .*text is left out .*TObjString"):
        tw.open(tmp_path / "text.root")


def by_row(value: Callable[[int], Any]) -> ak.Array:
    return ak.Array([value(row) for row in range(ROWS)])


# All that uproot's writer can write.
WRITTEN: dict[str, ak.Array] = {
    name: ak.Array((np.arange(ROWS) * 37 % 251).astype(name))
    for name in ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64"]
}
WRITTEN |= {
    "string": by_row(lambda i: "é" * (i % 4)),
    "list": by_row(lambda i: [float(i)] * (i % 5)),
    "list of lists": by_row(lambda i: [[i + k for k in range(j)] for j in range(i % 4)]),
    "list of strings": by_row(lambda i: [f"{i}" * j for j in range(i % 3)]),
    "list of bools": by_row(lambda i: [j % 3 == 0 for j in range(i % 11)]),
    "array": ak.to_regular(ak.Array(np.arange(ROWS * 6.0).reshape(ROWS, 2, 3)), axis=None),
    "array of lists": ak.to_regular(by_row(lambda i: [[i] * (i % 3), [2] * (i % 2)]), axis=1),
    "array of structs": ak.to_regular(by_row(lambda i: [{"a": i, "b": [1.5] * (i % 2)}] * 3), axis=1),
    "struct": by_row(lambda i: {"a": i, "b": {"c": i / 2, "d": "x" * (i % 3)}}),
    "list of structs": by_row(lambda i: [{"a": i, "b": [1.5] * j} for j in range(i % 3)]),
    "tuple": by_row(lambda i: (i, i / 2)),
    "optional": by_row(lambda i: None if i % 3 == 0 else i),
    "list of optionals": by_row(lambda i: [None if j % 2 else j for j in range(i % 4)]),
    "optional list": by_row(lambda i: None if i % 3 == 0 else [i] * (i % 4)),
    "variant": by_row(lambda i: i if i % 3 == 0 else str(i)),
    "variant with lists": by_row(lambda i: i / 4 if i % 3 == 0 else [1.5] * (i % 4)),
    "struct with variant": by_row(lambda i: {"v": i if i % 2 else "odd", "n": i}),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_uproot_writes(name: str, tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "run.root") as file:
        ntuple = file.mkrntuple("t", {"x": WRITTEN[name]})
        ntuple.extend({"x": WRITTEN[name][: ROWS // 3]})  # a cluster and a cluster group of its own
    table = tw.open(tmp_path / "run.root")["t"]
    assert len(table) == ROWS + ROWS // 3
    with uproot.open(tmp_path / "run.root") as file:
        assert_same(table, file["t"])
    across = table.read(rows=slice(ROWS - 3, ROWS + 3)).to_awkward()
    assert ak.array_equal(across, table.read().to_awkward()[ROWS - 3 : ROWS + 3])


@pytest.mark.parametrize(
    "compression",
    [None, uproot.ZSTD(5), uproot.LZ4(1), uproot.ZLIB(1), uproot.LZMA(1)],
    ids=lambda it: type(it).__name__,
)
def test_every_compression_of_uproot(compression: Any, tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "run.root", compression=compression) as file:
        file.mkrntuple("t", {"x": WRITTEN["list of structs"]})
        file.mkrntuple("u", {"x": np.arange(100_000)})
    run = tw.open(tmp_path / "run.root")
    assert sorted(run) == ["t", "u"]
    with uproot.open(tmp_path / "run.root") as file:
        for name in run:
            expected = file[name].arrays()
            assert ak.array_equal(run[name].read().to_awkward(), expected)


def test_members_of_base_classes_that_have_one_name(tmp_path: Path) -> None:
    """None is dropped: the first has the name, and others that of their class in front."""
    top = tw.struct({"top": tw.int32}, type_name="Top")
    left = tw.struct({":_0": top, "id": tw.int32}, type_name="Left")
    right = tw.struct({":_0": top, "id": tw.int64}, type_name="Right")
    bottom = tw.struct({":_0": left, ":_1": right, "id": tw.uint8}, type_name="Bottom")
    row = {":_0": {":_0": {"top": 1}, "id": 2}, ":_1": {":_0": {"top": 3}, "id": 4}, "id": 5}
    with tw.create(tmp_path / "run.root", {"t": {"x": bottom}}) as out:
        out.producer("t").append(x=[row])
    array = tw.open(tmp_path / "run.root")["t"].read().to_awkward()
    assert array["x"].to_list() == [{"id": 5, "Right::id": 4, "top": 3, "Left::id": 2, "Left::top": 1}]


def test_a_unique_ptr_is_there_or_not(tmp_path: Path) -> None:
    pointer = tw.list_(tw.int32, type_name="std::unique_ptr<std::int32_t>")
    with tw.create(tmp_path / "run.root", {"t": {"x": pointer, "xs": tw.list_(pointer)}}) as out:
        out.producer("t").append(x=[[], [4]], xs=[[[1], []], []])
    array = tw.open(tmp_path / "run.root")["t"].read().to_awkward()
    assert array.to_list() == [{"x": None, "xs": [1, None]}, {"x": 4, "xs": []}]
