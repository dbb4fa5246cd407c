"""All kinds of tables with the same rows: stored, open, merged, far, of a tree, of h5py, and some rows of each."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import awkward as ak
import numpy as np
import pytest

import thalweg as tw
from thalweg import _core

ROWS = 10
X = np.arange(ROWS) * 3 - 7
V = [[i / 2] * (i % 4) for i in range(ROWS)]
SCHEMA = {"t": {"x": tw.int64, "v": tw.list_(tw.float64)}}


@dataclass
class Kind:
    """An opened run, a table of it, and the numbers of the rows that the table has."""

    run: tw.Run
    table: tw.Table
    rows: list[int]
    is_ours: bool = True
    is_file: bool = True
    is_part: bool = False
    by_core: bool = True
    is_one_file: bool = True

    @property
    def x(self) -> list[int]:
        return X[self.rows].tolist()

    @property
    def v(self) -> list[list[float]]:
        return [V[row] for row in self.rows]


def stored(path: Path) -> Path:
    """A file of ours, which is written once."""
    if path.exists():
        return path
    with tw.create(path, SCHEMA) as out, out.producer("t") as producer:
        producer.append(x=X, v=V)
    return path


def stored_hdf5(folder: Path) -> Iterator[Kind]:
    run = tw.open(stored(folder / "run.h5"))
    yield Kind(run, run["t"], list(range(ROWS)))


def stored_rntuple(folder: Path) -> Iterator[Kind]:
    run = tw.open(stored(folder / "run.root"))
    yield Kind(run, run["t"], list(range(ROWS)))


def open_run(folder: Path) -> Iterator[Kind]:
    run = tw.open(folder / "open.h5")
    assert run.is_open
    yield Kind(run, run["t"], list(range(ROWS)))


def merged(folder: Path) -> Iterator[Kind]:
    if not (folder / "both.root").exists():
        tw.merge([stored(folder / "a.root"), stored(folder / "b.root")], folder / "both.root")
    run = tw.open(folder / "both.root")
    yield Kind(run, run["t"], [*range(ROWS), *range(ROWS)])


def files_that_continue(folder: Path) -> Iterator[Kind]:
    first, second = folder / "part-1.h5", folder / "part-2.h5"
    if not second.exists():
        before = tw.create(first, SCHEMA)
        after = tw.Writer(_core.create_next(before._core, str(second), _core.CreateOptions(), {}), {})
        _core.continue_in(before._core, after._core)
        for out in (before, after):
            out.producer("t").append(x=X, v=V)
            out.close()
    run = tw.open(first, next_files=True)
    yield Kind(run, run["t"], [*range(ROWS), *range(ROWS)], by_core=False, is_one_file=False)


def file_object(folder: Path) -> Iterator[Kind]:
    run = tw.open(io.BytesIO(stored(folder / "run.h5").read_bytes()))
    yield Kind(run, run["t"], list(range(ROWS)), is_file=False)


def ttree(folder: Path) -> Iterator[Kind]:
    uproot = pytest.importorskip("uproot")
    if not (folder / "tree.root").exists():
        with uproot.recreate(folder / "tree.root") as file:
            file.mktree("t", {"x": "int64", "v": "var * float64"})
            file["t"].extend({"x": X, "v": ak.Array(V)})
    run = tw.open(folder / "tree.root")
    yield Kind(run, run["t"], list(range(ROWS)), is_ours=False, by_core=False)


def read_by_h5py(folder: Path) -> Iterator[Kind]:
    h5py = pytest.importorskip("h5py")
    if not (folder / "other.h5").exists():
        with h5py.File(folder / "other.h5", "w") as file:
            file["t/x"] = X
            lists = file.create_dataset("t/v", ROWS, h5py.vlen_dtype(np.float64))
            lists[:] = np.array([np.array(each) for each in V], object)
    run = tw.open(folder / "other.h5")
    assert run["t"].by_h5py
    yield Kind(run, run["t"], list(range(ROWS)), is_ours=False, by_core=False)


def some_rows_of(make: Callable[[Path], Iterator[Kind]]) -> Callable[[Path], Iterator[Kind]]:
    def part(folder: Path) -> Iterator[Kind]:
        for kind in make(folder):
            rows = [7, 2, 3, 3]
            yield Kind(kind.run, kind.table[rows], rows, kind.is_ours, kind.is_file, is_part=True, by_core=False)

    return part


WHOLE = {
    each.__name__: each
    for each in (
        stored_hdf5,
        stored_rntuple,
        open_run,
        merged,
        files_that_continue,
        file_object,
        ttree,
        read_by_h5py,
    )
}
KINDS = WHOLE | {f"some rows, {name}": some_rows_of(make) for name, make in WHOLE.items()}
