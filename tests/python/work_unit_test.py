"""Work units: rows that count together or not at all, judged by h5py and uproot."""

import multiprocessing
import time
from pathlib import Path

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401 (the default codec of HDF5 files)
import numpy as np
import pytest
import uproot

import thalweg as tw
from thalweg import _core

SCHEMA = {
    "events": {"key": tw.int64, "index": tw.uint32, "hits": tw.list_(tw.float32)},
    "sums": {"key": tw.int64, "rows": tw.uint32},
}


def rows_of(key: int) -> int:
    return key * 31 % 97 + 1


def fill(unit: tw.WorkUnit, key: int, events_only: bool = False) -> None:
    rows = rows_of(key)
    index = np.arange(rows, dtype=np.uint32)
    lengths = index % 4
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    hits = tw.Ragged(offsets, np.full(offsets[-1], key, np.float32))
    unit["events"].append(key=np.full(rows, key), index=index, hits=hits)
    if not events_only:
        unit["sums"].append(key=key, rows=rows)


def tables(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys and indices of the events and the keys of the sums, as others read them."""
    if path.suffix == ".root":
        with uproot.open(path) as file:
            events = file["events"].arrays(["key", "index"])
            return ak.to_numpy(events.key), ak.to_numpy(events.index), ak.to_numpy(file["sums"].arrays()["key"])
    with h5py.File(path) as file:
        return file["events/key"][:], file["events/index"][:], file["sums/key"][:]


def check(path: Path, keys: set[int]) -> None:
    event_keys, indices, sum_keys = tables(path)
    assert sorted(sum_keys) == sorted(keys)
    assert set(event_keys) == keys
    for key in keys:
        assert sorted(indices[event_keys == key]) == list(range(rows_of(key)))
    run = tw.open(path)
    assert {unit.key for unit in run.units} == keys
    for unit in run.units:
        for part in unit.rows:
            stored = run[part.table].read("key", rows=slice(part.first, part.first + part.rows))["key"]
            assert (stored == unit.key).all()


@pytest.fixture(params=[".h5", ".root"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"run{request.param}"


def test_an_exception_drops_the_unit_and_a_taken_key_is_told(path: Path) -> None:
    with tw.create(path, SCHEMA) as out:
        for key in range(20):
            with pytest.raises(ZeroDivisionError), out.work_unit(key) as failed:  # noqa: PT012
                fill(failed, key)
                1 / 0  # noqa: B018
            assert failed.committed is False
            with out.work_unit(key, summary=f"unit {key}") as unit:
                fill(unit, key)
            assert unit.committed
            with out.work_unit(key) as again:
                fill(again, key)
            assert again.committed is False
            assert out.is_committed(key)
        assert not out.is_committed(20)
        assert out.status().units_committed == 20
    check(path, set(range(20)))
    assert [unit.summary for unit in tw.open(path).units] == [f"unit {key}".encode() for key in range(20)]


def test_keys_are_integers_or_short_text(path: Path) -> None:
    with tw.create(path, SCHEMA) as out:
        for key in (-1, 2**63 - 1, "lumi-7", b"\x00\xff", np.int32(5)):
            with out.work_unit(key):
                pass
        for wrong in (2**63, "", "x" * 65, 1.5, None):
            with pytest.raises(tw.UsageError):
                out.work_unit(wrong)
        with pytest.raises(tw.UsageError, match="summary"):
            out.work_unit(6, summary=bytes(2**16 + 1))
        with out.work_unit(7) as unit, pytest.raises(tw.UnknownNameError):
            unit["none"]
    assert [unit.key for unit in tw.open(path).units] == [-1, 2**63 - 1, b"lumi-7", b"\x00\xff", 5, 7]


def test_a_run_is_resumed_in_the_same_file(path: Path) -> None:
    with pytest.raises(tw.UsageError, match="nothing to resume"):
        tw.create(path, resume=True)
    with pytest.raises(tw.UsageError, match="without a schema"):
        tw.create(path)
    keys = [*range(50), b"last"]
    for attempt in range(4):
        out = tw.create(path, SCHEMA) if attempt == 0 else tw.create(path, resume=True)
        done = out.committed_keys()
        assert set(done) == set(keys[: len(done)])
        assert len(done) == 15 * attempt
        for key in keys[len(done) : len(done) + 15]:
            with out.work_unit(key) as unit:
                fill(unit, key if isinstance(key, int) else 50)
        if attempt < 3:
            out.abandon()
        else:
            out.close()
    assert [unit.key for unit in tw.open(path).units] == keys
    assert len(tw.open(path)["events"]) == sum(rows_of(key) for key in range(51))


def next_of(before: tw.Writer, path: Path) -> tw.Writer:
    """As `thalweg record` makes it."""
    assert before._core
    return tw.Writer(_core.create_next(before._core, str(path), _core.CreateOptions(), {}), {})


@pytest.mark.parametrize("appended_before", [True, False])
def test_a_unit_is_in_one_file_whenever_the_run_goes_on_in_another(path: Path, appended_before: bool) -> None:
    second = path.with_name(f"second{path.suffix}")
    with tw.create(path, SCHEMA) as before, next_of(before, second) as after, tw.attach(before.handle) as out:
        with out.work_unit(1) as unit:
            fill(unit, 1)
        with out.work_unit(2) as unit:
            if not appended_before:
                _core.continue_in(before._core, after._core)
            fill(unit, 2, events_only=True)
            if appended_before:
                _core.continue_in(before._core, after._core)
            unit["sums"].append(key=2, rows=rows_of(2))
        assert unit.committed
        with out.work_unit(3) as unit:
            fill(unit, 3)
        assert unit.committed
        with out.work_unit(1) as unit:
            fill(unit, 1)
        assert not unit.committed  # it counts in the first file
        assert out.is_committed(1)
    check(path, {1, 2} if appended_before else {1})
    check(second, {3} if appended_before else {2, 3})


def work(handle: str, keys: list[int]) -> None:
    with tw.attach(handle) as out:
        for key in keys:
            if out.is_committed(key):
                continue
            with out.work_unit(key) as unit:
                fill(unit, key)


def test_work_of_killed_processes_is_done_again_and_counts_once(path: Path) -> None:
    keys = list(range(400))
    with tw.create(path, SCHEMA) as out:
        context = multiprocessing.get_context("spawn")
        for attempt in range(6):
            orders = [keys[start:] + keys[:start] for start in (0, 150)]
            workers = [context.Process(target=work, args=(out.handle, order)) for order in orders]
            for worker in workers:
                worker.start()
            last = attempt == 5
            if not last:
                begin = out.status().units_committed
                while out.status().units_committed < begin + 30 and any(worker.is_alive() for worker in workers):
                    time.sleep(0.001)
                for worker in workers:
                    worker.kill()
            for worker in workers:
                worker.join()
            if last:
                assert [worker.exitcode for worker in workers] == [0, 0]
    check(path, set(keys))
