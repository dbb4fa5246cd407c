"""RNTuples that we write, in other people's hands: uproot and JSROOT have the values that we gave."""

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from jsroot import is_same, tables_of
from rntuple_cases import CASES, VALIDATION
from rntuple_ways import NAMES, ROWS, SCHEMA, WAYS, without_names_of_tuples, write, wrong_cases

import thalweg as tw


@pytest.fixture(scope="module", params=WAYS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(request.param) / "run.root"
    write(path, WAYS[request.param])
    return path


def test_uproot_reads_it(written: Path) -> None:
    with uproot.open(written) as file:
        array = file["t"].arrays()
    found = {name: without_names_of_tuples(array[name].to_list()) for name in NAMES.values()}
    assert wrong_cases(array["id"].to_list(), found) == {}
    for case in ("int8", "uint64", "float32", "bool", "array of 3 ranks", "list"):
        ours = tw.open(written)["t"].read(NAMES[case]).to_awkward()[NAMES[case]]
        assert str(array[NAMES[case]].type) == str(ours.type)


def test_jsroot_reads_it(written: Path) -> None:
    table = tables_of(written)["t"]
    assert "error" not in table, table["error"]
    assert table["rows"] == ROWS
    fields = {name: without_names_of_tuples(values) for name, values in table["fields"].items()}
    assert wrong_cases(fields["id"], fields) == {}


def test_we_read_it(written: Path) -> None:
    table = tw.open(written)["t"]
    array = table.read().to_awkward()
    found = {name: without_names_of_tuples(array[name].to_list()) for name in NAMES.values()}
    assert wrong_cases(array["id"].to_list(), found, are_in_parts=False) == {}
    assert table.schema == SCHEMA["t"]
    part = table.read(rows=slice(100, 150)).to_awkward()
    assert ak.array_equal(part, array[100:150], equal_nan=True)
    assert tw.verify(written).is_sound


@pytest.mark.parametrize("folder", VALIDATION)
def test_the_types_of_the_validation_suite_are_among_the_cases(folder: str) -> None:
    assert set(VALIDATION[folder]) <= set(CASES)


def assert_all_agree(path: Path, expected: dict[str, dict[str, list[Any]]]) -> None:
    """uproot, JSROOT and we have these tables, with these values by field."""
    run, by_jsroot = tw.open(path), tables_of(path)
    assert set(run) == set(expected) == set(by_jsroot)
    with uproot.open(path) as file:
        for name, fields in expected.items():
            rows = len(next(iter(fields.values())))
            assert by_jsroot[name]["rows"] == len(run[name]) == file[name].num_entries == rows
            array = file[name].arrays()
            for field, values in fields.items():
                assert is_same(array[field].to_list(), values), f"uproot: {name}/{field}"
                assert is_same(by_jsroot[name]["fields"][field], values), f"JSROOT: {name}/{field}"
                assert is_same(run[name].read(field).to_awkward()[field].to_list(), values), f"{name}/{field}"


def test_no_rows(tmp_path: Path) -> None:
    tw.create(tmp_path / "run.root", SCHEMA).close()
    assert_all_agree(tmp_path / "run.root", {"t": {name: [] for name in ("id", *NAMES.values())}})


def test_several_tables(tmp_path: Path) -> None:
    fields = {"x": tw.float64, "xs": tw.list_(tw.int32)}
    counts = {"a": 10, "empty": 0, "b": 7}
    with tw.create(tmp_path / "run.root", dict.fromkeys(counts, fields)) as out:
        for name, count in counts.items():
            if count:
                out.producer(name).append(x=np.arange(count) / 2, xs=[[j] * j for j in range(count)])
    expected = {
        name: {"x": [j / 2 for j in range(count)], "xs": [[j] * j for j in range(count)]}
        for name, count in counts.items()
    }
    assert_all_agree(tmp_path / "run.root", expected)


def test_short_and_long_names(tmp_path: Path) -> None:
    names = ["x", "y" * 254, "z" * 255, "w" * 256, "é" * 200]
    schema = {name: dict.fromkeys(names, tw.int32) for name in ("t", "u" * 255, "v" * 300)}
    with tw.create(tmp_path / "run.root", schema) as out:
        for table in schema:
            out.producer(table).append({name: np.arange(5, dtype=np.int32) for name in names})
    run = tw.open(tmp_path / "run.root")
    assert list(run) == list(schema)
    with uproot.open(tmp_path / "run.root") as file:
        for table in schema:
            assert file[table].arrays().fields == list(run[table].schema) == names
            assert file[table].arrays()[names[-1]].to_list() == list(range(5))
    by_jsroot = tables_of(tmp_path / "run.root")
    assert set(by_jsroot) == set(schema)
    assert all(table["fields"]["w" * 256] == list(range(5)) for table in by_jsroot.values())


def test_a_thousand_columns(tmp_path: Path) -> None:
    names = [f"column{index}" for index in range(1000)]
    with tw.create(tmp_path / "run.root", {"t": dict.fromkeys(names, tw.float32)}) as out:
        producer = out.producer("t")
        for first in range(0, 50, 10):
            producer.append({name: np.arange(first, first + 10, dtype=np.float32) + i for i, name in enumerate(names)})
    assert_all_agree(tmp_path / "run.root", {"t": {name: [j + i for j in range(50)] for i, name in enumerate(names)}})


def test_slashes_in_the_names_of_tables(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", {"ch0/raw": {"x": tw.int32}, "ch0/pulses": {"x": tw.int32}}) as out:
        for index, name in enumerate(out.schema):
            out.producer(name).append(x=np.arange(10 + index, dtype=np.int32))
    run = tw.open(tmp_path / "run.root")
    assert {name: len(run[name]) for name in run} == {"ch0/raw": 10, "ch0/pulses": 11}
    with uproot.open(tmp_path / "run.root") as file:
        names = [name for name, kind in file.classnames(cycle=False).items() if kind == "ROOT::RNTuple"]
        assert sorted(file[name].num_entries for name in names) == [10, 11]
    assert sorted(table["rows"] for table in tables_of(tmp_path / "run.root").values()) == [10, 11]


def test_pages_of_several_compression_blocks(tmp_path: Path) -> None:
    """A block of ROOT holds less than 16 MiB."""
    random = np.random.default_rng(1)
    values = random.integers(0, 1000, 5 << 20).astype(np.int32).reshape(1, -1)
    with tw.create(tmp_path / "run.root", {"t": {"x": tw.array(tw.int32, values.size)}}) as out:
        out.producer("t").append(x=values)
    np.testing.assert_array_equal(tw.open(tmp_path / "run.root")["t"].read()["x"], values)
    with uproot.open(tmp_path / "run.root") as file:
        np.testing.assert_array_equal(file["t"]["x"].array().to_numpy(), values)
    (row,) = tables_of(tmp_path / "run.root")["t"]["fields"]["x"]
    np.testing.assert_array_equal(row, values[0])


@pytest.mark.parametrize("codec", ["zstd-1", "zstd-5"])
def test_pages_compressed_plane_by_plane(tmp_path: Path, codec: str) -> None:
    """Full pages whose byte planes are noise, constant, skewed or repeating: each is stored in another way."""
    rows = 60_000
    random = np.random.default_rng(8)
    columns = {
        "gauss": random.normal(50, 3, rows).astype(np.float32),
        "noise": random.integers(0, 2**64, rows, np.uint64, endpoint=False),
        "count": np.arange(rows, dtype=np.int64) - 7,
        "constant": np.full(rows, 4711, np.int32),
        "adc": random.poisson(500, rows).astype(np.uint16),
    }
    types = {name: getattr(tw, str(values.dtype)) for name, values in columns.items()}
    lengths = random.poisson(3, rows)
    path = tmp_path / "planes.root"
    with tw.create(path, tw.schema({"t": {**types, "list": tw.list_(tw.float64)}}), codec=codec) as out:
        items = ak.unflatten(random.normal(size=int(lengths.sum())), lengths)
        with out.producer("t") as producer:
            producer.append({**columns, "list": items})
    found = uproot.open(path)["t"].arrays()
    ours = tw.open(path)["t"].read()
    for name, values in columns.items():
        assert np.array_equal(found[name], values)
        assert np.array_equal(ours[name], values)
    assert ak.array_equal(found["list"], items)
    dumped = tables_of(path)["t"]["fields"]
    assert dumped["count"] == columns["count"].tolist()
    assert dumped["noise"] == columns["noise"].tolist()
    assert np.array_equal(np.array(dumped["gauss"], np.float32), columns["gauss"])
    assert [len(each) for each in dumped["list"]] == lengths.tolist()
