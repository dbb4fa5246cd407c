"""What people do with our files in ROOT: RDataFrame, snapshots, chains, updates, hadd."""

from pathlib import Path

import numpy as np
import pytest
from root_process import InRoot

import thalweg as tw

ROWS = 1000
SCHEMA = {"x": tw.float64, "xs": tw.list_(tw.int32)}
X = [row / 7 for row in range(ROWS)]
XS = [[row] * (row % 3) for row in range(ROWS)]
Numbers = list[float]


def write(path: Path, tables: dict[str, range]) -> Path:
    with tw.create(path, dict.fromkeys(tables, SCHEMA), tuning={"cluster_bytes": 4096}) as out:
        for name, rows in tables.items():
            with out.producer(name) as producer:
                for first in rows[::100]:
                    part = range(first, min(first + 100, rows.stop))
                    producer.append(x=np.array(part) / 7, xs=[XS[row] for row in part])
    return path


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return write(tmp_path / "run.root", {"t": range(ROWS)})


def sums(rows: range | list[int]) -> Numbers:
    """As ROOT adds: one after the other."""
    total = 0.0
    for row in rows:
        total += X[row]
    return [total, sum(map(sum, (XS[row] for row in rows))), len(rows), max(X[row] for row in rows)]


def test_sums_of_a_data_frame(run_file: Path, in_root: InRoot) -> None:
    assert in_root("use", "sums", run_file) == sums(range(ROWS))


@pytest.mark.parametrize("kind", ["kRNTuple", "kTTree"])
def test_snapshots_of_a_data_frame(kind: str, run_file: Path, tmp_path: Path, in_root: InRoot) -> None:
    rows = [row for row in range(ROWS) if XS[row]]
    assert in_root("use", "snapshot", run_file, tmp_path / "snapshot.root", kind) == sums(rows)
    if kind == "kRNTuple":
        assert_rows(tmp_path / "snapshot.root", rows)


def assert_rows(path: Path, rows: list[int] | range, table: str = "t") -> None:
    array = tw.open(path)[table].read().to_awkward()
    assert array["x"].to_list() == [X[row] for row in rows]
    assert array["xs"].to_list() == [XS[row] for row in rows]


def test_a_chain_of_our_files_and_of_roots(tmp_path: Path, in_root: InRoot) -> None:
    ours = [write(tmp_path / f"ours{first}.root", {"t": range(first, first + 300)}) for first in (0, 600)]
    in_root("use", "write", tmp_path / "roots.root", "file", 300, 300)
    rows = in_root("use", "chain", ours[0], tmp_path / "roots.root", ours[1])
    assert rows == [[X[row], len(XS[row]), sum(XS[row])] for row in range(900)]


def test_an_update_with_other_objects(run_file: Path, in_root: InRoot) -> None:
    assert in_root("use", "update", run_file) == [1, sums(range(ROWS))]
    assert_rows(run_file, range(ROWS))
    (tables,) = [in_root("read", run_file)]
    assert {name: table["rows"] for name, table in tables.items()} == {"t": ROWS, "more/t": 10}
    assert tables["t"]["fields"]["x"] == X
    faults = tw.verify(run_file).messages  # its pages are sound, but it is no longer the file that was closed
    assert len(faults) == 1
    assert "another program has changed it" in faults[0]


def test_several_tables(tmp_path: Path, in_root: InRoot) -> None:
    tables = {"t": range(300), "ch0/raw": range(300, 500), "ch0/deep/raw": range(500, 501)}
    found = in_root("read", write(tmp_path / "run.root", tables))
    assert sorted(found) == sorted(tables)
    for name, rows in tables.items():
        assert found[name]["fields"] == {"x": [X[row] for row in rows], "xs": [XS[row] for row in rows]}


def test_more_than_100_000_pages(tmp_path: Path, in_root: InRoot) -> None:
    path, rows = tmp_path / "run.root", 1_000_000
    small = {"narrow_page_bytes": 64, "wide_page_bytes": 64, "block_bytes": 4096, "cluster_bytes": 1 << 20}
    values = np.arange(rows) / 7
    with tw.create(path, {"t": {"x": tw.float64}}, codec="none", tuning=small) as out:
        out.producer("t").append(x=values)
    assert tw.verify(path).pages > 100_000
    assert in_root("use", "view", path, "t", "x") == float(np.cumsum(values)[-1])  # which adds one after the other


def assert_no_error(code_and_said: tuple[int, str]) -> None:
    """hadd tells on stderr what it does."""
    code, said = code_and_said
    assert code == 0, said
    assert "Error" not in said


def test_hadd(tmp_path: Path, in_root: InRoot) -> None:
    parts = [write(tmp_path / f"part{first}.root", {"t": range(first, first + 300)}) for first in (0, 300)]
    assert_no_error(in_root("use", "hadd", tmp_path / "sum.root", *parts))
    assert in_root("use", "sums", tmp_path / "sum.root") == sums(range(600))
    assert_rows(tmp_path / "sum.root", range(600))


@pytest.mark.parametrize("whose", ["ours", "roots"])
@pytest.mark.xfail(reason="hadd of ROOT 6.40 finds no rows in RNTuples in directories, in its own files neither")
def test_hadd_of_tables_in_directories(whose: str, tmp_path: Path, in_root: InRoot) -> None:
    parts = [tmp_path / f"part{first}.root" for first in (0, 300)]
    for part, first in zip(parts, (0, 300), strict=True):
        if whose == "ours":
            write(part, {"ch0/t": range(first, first + 300)})
        else:
            in_root("use", "write", part, "in_folder", first, 300)
    assert_no_error(in_root("use", "hadd", tmp_path / "sum.root", *parts))
    assert_rows(tmp_path / "sum.root", range(600), "ch0/t")
