"""Runs that are ordered by key, as uproot sees them: the same rows and bytes of pages for any number of workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import uproot

import thalweg as tw

SCHEMA = tw.schema({"events": {"key": tw.int64, "hits": tw.list_(tw.uint16)}, "sums": {"key": tw.int64}})
GROUPS, KEYS = 60, 4
SMALL = {"narrow_page_bytes": 4096, "cluster_bytes": "64 KiB", "memory_bytes": "256 KiB", "extent_bytes": "64 KiB"}

WORKER = """
import sys, time
import numpy as np
import thalweg as tw

GROUPS = 60

def rows_of(key):
    return key * 37 % 101 + (5000 if key % 50 == 7 else 0)

def work(out, first, pause_s=0.0, groups=GROUPS):
    for i in range(groups):
        number = (first + i * 7) % GROUPS
        if out.is_group_committed(number):
            continue
        with out.work_group(number) as group:
            for key in group.keys:
                with group.work_unit(key, summary=f"of {key}") as unit:
                    rows = rows_of(key)
                    lengths = np.arange(rows) % 6
                    hits = tw.Ragged.from_lengths(lengths, np.arange(lengths.sum()).astype(np.uint16) * np.uint16(key))
                    unit["events"].append(key=np.full(rows, key), hits=hits)
                    unit["sums"].append(key=key)
                    time.sleep(pause_s)
"""
MAIN = (
    WORKER
    + """
with tw.attach(sys.argv[1]) as out:
    work(out, int(sys.argv[2]), 0.001)
"""
)
work_namespace: dict = {}
exec(WORKER, work_namespace)
rows_of = work_namespace["rows_of"]


def write(path: Path, processes: int, kills: int) -> Path:
    def start(first: int) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-c", MAIN, out.handle, str(first)])

    with tw.create(path, SCHEMA, order="key", keys_per_group=KEYS, tuning=SMALL) as out:
        for kill in range(kills):
            committed = len(out.committed_keys())
            killed = start(kill * 11)
            while len(out.committed_keys()) == committed and killed.poll() is None:
                time.sleep(0.001)
            killed.kill()
            killed.wait(120)
        for worker in [start(first * 17) for first in range(processes)]:
            assert worker.wait(300) == 0
        report = out.close()
    assert (report.units, report.units_lost) == (GROUPS * KEYS, 0)
    return path


def pages(path: Path) -> list[tuple[int, int, list[tuple[int, bytes]]]]:
    """Returns the rows and the bytes of each page, for each cluster and column of both tables."""
    content, found = path.read_bytes(), []
    with uproot.open(path) as file:
        for table in ("events", "sums"):
            for cluster, columns in enumerate(file[table].page_link_list):
                for column, description in enumerate(columns):
                    found.append((cluster, column, [
                        (page.num_elements, content[page.locator.offset :][: page.locator.num_bytes])
                        for page in description.pages
                    ]))  # fmt: skip
    return found


def expect_in_order(path: Path) -> None:
    keys = np.arange(GROUPS * KEYS)
    with uproot.open(path) as file:
        events = file["events"].arrays()
        np.testing.assert_array_equal(file["sums"].arrays()["key"].to_numpy(), keys)
    np.testing.assert_array_equal(events["key"].to_numpy(), np.repeat(keys, [rows_of(int(key)) for key in keys]))
    begin = 0
    for key in keys:
        rows = events[begin : begin + rows_of(int(key))]
        begin += len(rows)
        flat = np.concatenate([*(np.asarray(each) for each in rows["hits"]), np.empty(0, np.uint16)])
        np.testing.assert_array_equal(flat, np.arange(len(flat)).astype(np.uint16) * np.uint16(key))
    units = tw.open(path).units
    assert [unit.key for unit in units] == keys.tolist()
    assert units[7].summary == b"of 7"


def test_pages_have_the_same_bytes_for_any_number_of_workers(tmp_path: Path) -> None:
    alone = write(tmp_path / "alone.root", 1, 0)
    expect_in_order(alone)
    expected = pages(alone)
    assert len(expected) > 3 * GROUPS
    for processes, kills in ((2, 3), (4, 6)):
        path = write(tmp_path / f"{processes}.root", processes, kills)
        assert pages(path) == expected
        expect_in_order(path)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_so_they_have_in_a_run_that_is_resumed(tmp_path: Path) -> None:
    expected = pages(write(tmp_path / "alone.root", 1, 0))
    path = tmp_path / "run.root"
    ordered = {"order": "key", "keys_per_group": KEYS}

    def until_killed(first: int, after: int) -> None:
        out = tw.create(path, None if first else SCHEMA, resume=first > 0, tuning=SMALL, **ordered)
        work_namespace["work"](out, first * 13, groups=after)
        os.kill(os.getpid(), signal.SIGKILL)

    for first in range(3):
        pid = os.fork()
        if pid == 0:
            until_killed(first, 12)
        os.waitpid(pid, 0)
    with pytest.raises(tw.UsageError, match="groups of 4 keys"):
        tw.create(path, resume=True, order="key", keys_per_group=5)
    with tw.create(path, resume=True, tuning=SMALL) as out:
        assert len(out.committed_keys()) >= 12 * KEYS
        work_namespace["work"](out, 5)
    assert pages(path) == expected
    expect_in_order(path)


def test_what_cannot_be_ordered_says_why(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match=r"virtual dataset: 10,000 of them take 5\.3 s"):
        tw.create(tmp_path / "run.h5", SCHEMA, order="key")
    for wrong in ({"order": "time"}, {"keys_per_group": 5}, {"order": "key", "keys_per_group": 0}):
        with pytest.raises(tw.UsageError):
            tw.create(tmp_path / "run.root", SCHEMA, **wrong)
    assert not list(tmp_path.iterdir())


def test_without_groups_each_unit_is_one(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", SCHEMA, order="key") as out:
        for key in (5, -2, 3):
            with out.work_unit(key) as unit:
                unit["sums"].append(key=key)
        with pytest.raises(tw.UsageError, match="order of keys"):
            out.producer("sums")
        with pytest.raises(tw.UsageError, match="give an integer"):
            out.work_unit("three")
    run = tw.open(tmp_path / "run.root")
    assert run["sums"].read(["key"])["key"].tolist() == [-2, 3, 5]
    assert run.keys_per_group == 1


def test_a_group_counts_whole_or_not_at_all(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", SCHEMA, order="key", keys_per_group=10) as out:
        with pytest.raises(ZeroDivisionError), out.work_group(1) as group, group.work_unit(12) as unit:  # noqa: PT012
            unit["sums"].append(key=12)
            1 / 0  # noqa: B018
        assert group.committed is False
        with out.work_group(1) as group:
            with pytest.raises(tw.UsageError, match="keys 10 to 19"):
                group.work_unit(20)
            with group.work_unit(13) as first:
                first["sums"].append(key=13)
            with pytest.raises(tw.UsageError, match="takes no more rows"):
                first["sums"].append(key=13)
            with pytest.raises(tw.UsageError, match="ascend"):
                group.work_unit(12)
        assert group.committed
        with out.work_group(1) as again, again.work_unit(14) as unit:
            unit["sums"].append(key=14)
        assert again.committed is False
        assert out.is_committed(13)
        assert not out.is_committed(12)
        assert out.committed_keys() == [13]
    assert tw.open(tmp_path / "run.root")["sums"].read(["key"])["key"].tolist() == [13]
