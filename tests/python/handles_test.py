"""Runs as things to hold: closed, refreshed, and sent to other processes in pickles."""

import os
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import h5py
import numpy as np
import pytest

import thalweg as tw


def write(path: Path, rows: int = 100, offset: int = 0) -> Path:
    with tw.create(path, {"t": {"x": tw.int64, "w": tw.array(tw.int16, 4)}}) as out:
        numbers = np.arange(rows) + offset
        out.producer("t").append(x=numbers, w=np.zeros((rows, 4), np.int16))
    return path


@pytest.fixture(params=["run.h5", "run.root"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(tmp_path / request.param)


def open_files() -> set[str]:
    return {
        os.readlink(f"/proc/self/fd/{each}")
        for each in os.listdir("/proc/self/fd")
        if Path(f"/proc/self/fd/{each}").is_symlink()
    }


def test_a_closed_run_is_not_read_any_more(path: Path) -> None:
    run = tw.open(path)
    table, column, some = run["t"], run["t/x"], run["t"][3:9]
    assert str(path) in open_files()
    run.close()
    run.close()
    assert str(path) not in open_files()
    assert "closed" in repr(run)
    for use in (
        lambda: run["t"],
        lambda: run.units,
        lambda: table.read(),
        lambda: next(table.batches()),
        lambda: len(table),
        lambda: column[:],
        lambda: some.read(),
        lambda: table[0],
    ):
        with pytest.raises(tw.UsageError, match=r"run\.(h5|root) .*closed by close\(\)\): open it again"):
            use()


def test_leaving_a_with_block_closes(path: Path) -> None:
    with tw.open(path, "r") as run:
        rows = run["t"].read()
    assert rows["x"].tolist() == list(range(100))
    assert str(path) not in open_files()
    with pytest.raises(tw.UsageError, match="was closed"):
        run["t"]
    for mode in ("w", "a", "r+", "x"):
        with pytest.raises(tw.UsageError, match=f"cannot be opened in mode '{re.escape(mode)}' .*write with tw.create"):
            tw.open(path, mode)


def test_an_open_run_shows_newer_rows_after_refresh(tmp_path: Path) -> None:
    path = tmp_path / "run.root"
    with tw.create(path, {"t": {"x": tw.int64}}, tuning=tw.Tuning(flush_interval=0.05)) as out:
        producer = out.producer("t")
        producer.append(x=np.arange(5))
        producer.finish()
        run = tw.open(path)
        before = run["t"]
        seen = len(before)
        with out.producer("t") as more:
            more.append(x=np.arange(5, 300_000))
        assert run.refresh() is run
        assert len(before) == seen
        while len(run["t"]) < 300_000:
            run.refresh()
        assert sorted(run["t"].read()["x"].tolist()) == list(range(300_000))
    assert len(run.refresh()["t"]) == 300_000
    assert not run.is_open


def test_a_refresh_notices_another_run(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    out = tw.create(path, {"t": {"x": tw.int64}})
    run = tw.open(path)
    out.close()
    path.unlink()
    with pytest.raises(tw.Error, match=r"run\.h5"):
        run.refresh()
    write(path)
    with pytest.raises(tw.DataError, match="is another run now"):
        run.refresh()


def total(column: tw.Column) -> int:
    return int(np.sum(column))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_processes_get_columns_in_pickles(path: Path, method: str) -> None:
    run = tw.open(path)
    parts = [run["t"][begin : begin + 25]["x"] for begin in range(0, 100, 25)]
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        assert sum(pool.map(total, parts)) == sum(range(100))


def test_pickles_of_all_kinds_come_back(path: Path) -> None:
    run = tw.open(path)
    again = pickle.loads(pickle.dumps(run))
    assert (again.id, list(again), len(again["t"])) == (run.id, ["t"], 100)
    assert pickle.loads(pickle.dumps(run["t"])).read()["x"].tolist() == list(range(100))
    assert pickle.loads(pickle.dumps(run["t/x"]))[3:5].tolist() == [3, 4]
    assert pickle.loads(pickle.dumps(run["t"][[7, 3]])).read()["x"].tolist() == [7, 3]
    rows = pickle.loads(pickle.dumps(run["t"].read(rows=slice(2))))
    assert rows["x"].tolist() == [0, 1]


def test_a_pickle_does_not_show_another_file(path: Path) -> None:
    pickled = {name: pickle.dumps(each) for name, each in {"run": tw.open(path), "table": tw.open(path)["t"]}.items()}
    path.unlink()
    for each in pickled.values():
        with pytest.raises(tw.Error, match=path.name):
            pickle.loads(each)
    write(path, offset=7)
    for each in pickled.values():
        with pytest.raises(tw.DataError, match=r"is not the file that was opened \(it was run "):
            pickle.loads(each)


def test_a_pickle_of_a_closed_run_is_refused(path: Path) -> None:
    run = tw.open(path)
    table = run["t"]
    run.close()
    for each in (run, table):
        with pytest.raises(tw.UsageError, match="was closed"):
            pickle.dumps(each)


def test_a_pickle_of_an_open_run_may_have_more_rows(tmp_path: Path) -> None:
    path = tmp_path / "run.root"
    with tw.create(path, {"t": {"x": tw.int64}}, tuning=tw.Tuning(flush_interval=0.05)) as out:
        producer = out.producer("t")
        producer.append(x=np.arange(10))
        pickled = pickle.dumps(tw.open(path)["t"])
        producer.append(x=np.arange(10))
        producer.finish()
    assert len(pickle.loads(pickled)) == 20


@pytest.mark.parametrize("name", ["other.h5", "trees.root"])
def test_files_of_other_programs_are_handled_alike(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith(".h5"):
        import h5py

        with h5py.File(path, "w") as file:
            file["t/x"] = np.arange(50)
            file["t/name"] = [f"n{i}" for i in range(50)]
    else:
        import uproot

        with uproot.recreate(path) as file:
            file["t"] = {"x": np.arange(50), "name": np.arange(50.0)}
    run = tw.open(path)
    table = run["t"]
    assert pickle.loads(pickle.dumps(table["x"]))[-3:].tolist() == [47, 48, 49]
    assert len(pickle.loads(pickle.dumps(run))["t"]) == 50
    assert table.read(["x", "name"], rows=[40, 3])["x"].tolist() == [40, 3]
    assert [row["x"] for row in (table[0], table[-1])] == [0, 49]
    run.close()
    for use in (lambda: table.read(), lambda: next(table.batches()), lambda: len(table)):
        with pytest.raises(tw.UsageError, match="was closed"):
            use()


def test_some_rows_are_a_table_in_every_way(tmp_path: Path) -> None:
    """Also where the file was closed, or is asked for pages."""
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["t/text"] = np.array([b"a", b"b", b"c"])  # which h5py reads
        file["u/x"] = np.arange(3)
    run = tw.open(tmp_path / "foreign.h5")
    for name in ("t", "u"):
        whole = run[name]
        some = whole[1:]
        assert list(some.page_ends(3)) == []
        assert len(pickle.loads(pickle.dumps(some))) == 2
        some.close()
        for each in (some, whole):
            with pytest.raises(tw.UsageError, match="was closed"):
                each.read()
        with pytest.raises(tw.UsageError, match="was closed"):
            len(whole)
        with pytest.raises(tw.UsageError, match="was closed"):
            whole.storage()
