"""An open run that is slow: a reader of the file sees rows that are not much older than a tenth of the run."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import uproot

import thalweg as tw

FLUSH_S = 0.1


def seen(path: Path) -> np.ndarray[Any, Any]:
    """What uproot finds in the file while it is written."""
    with uproot.open(path) as file:
        return file["t"].arrays(["x"], library="np")["x"] if "t" in file.keys(cycle=False) else np.empty(0)


def append_until(producer: Any, path: Path, rows: int) -> int:
    """Appends a row every 5 ms until so many are seen; how many were appended."""
    appended, deadline = 0, time.monotonic() + 60
    while time.monotonic() < deadline:
        producer.append(x=appended)
        appended += 1
        time.sleep(0.005)
        if appended % 50 == 0 and len(seen(path)) >= rows:
            return appended
    raise AssertionError(f"of {appended} rows {len(seen(path))} are seen after a minute")


def test_rows_of_a_slow_run_are_seen_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "slow.root"
    with tw.create(path, {"t": {"x": tw.int64()}}, tuning={"flush_interval": FLUSH_S}) as out:
        producer = out.producer("t")
        appended = append_until(producer, path, 300)
        np.testing.assert_array_equal(seen(path), np.arange(len(seen(path))))
        producer.finish()
    np.testing.assert_array_equal(seen(path), np.arange(appended))
    assert not tw.verify(path).faults


def test_units_of_a_slow_run_are_seen_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "slow.root"
    with tw.create(path, {"t": {"x": tw.int64()}}, tuning={"flush_interval": FLUSH_S}) as out:
        keys, deadline = 0, time.monotonic() + 60
        while len(seen(path)) < 300:
            assert time.monotonic() < deadline, f"of {keys * 10} rows {len(seen(path))} are seen"
            for _ in range(20):
                with out.work_unit(keys) as unit:
                    unit["t"].append_columns(10, [np.arange(keys * 10, keys * 10 + 10)])
                keys += 1
                time.sleep(0.02)
        rows = seen(path)
        assert len(rows) % 10 == 0
        np.testing.assert_array_equal(rows, np.arange(len(rows)))
    np.testing.assert_array_equal(seen(path), np.arange(keys * 10))


def clusters_of(path: Path) -> int:
    with uproot.open(path) as file:
        table = file["t"]
        return int(table.num_clusters) if hasattr(table, "num_clusters") else len(table.cluster_summaries)


def test_age_alone_makes_few_clusters_which_are_joined_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "slow.root"
    begin = time.monotonic()
    with tw.create(path, {"t": {"x": tw.int64()}}, tuning={"flush_interval": FLUSH_S}) as out:
        producer = out.producer("t")
        for row in range(800):
            producer.append(x=row)
            time.sleep(0.005)
        producer.finish()
        open_clusters = clusters_of(path)
        elapsed = time.monotonic() - begin
        report = out.close()
    # At least two flush intervals old each until the run is twenty of them old, then each a tenth older than the last.
    most = 10 + np.log(max(1.0, elapsed / (20 * FLUSH_S))) / np.log(1.1) + 2
    assert 5 <= open_clusters <= most
    assert clusters_of(path) == 1
    assert open_clusters <= report.joined_clusters <= most
    assert 0 < report.superseded_bytes < report.file_bytes
    np.testing.assert_array_equal(seen(path), np.arange(800))


def test_a_producer_that_is_idle_shows_its_last_rows(tmp_path: Path) -> None:
    path = tmp_path / "idle.root"
    with tw.create(path, {"t": {"x": tw.int64()}}, tuning={"flush_interval": FLUSH_S}) as out:
        producer = out.producer("t")
        producer.append(x=7)
        deadline = time.monotonic() + 60
        while not len(seen(path)) and time.monotonic() < deadline:
            producer.idle()
            time.sleep(0.02)
        np.testing.assert_array_equal(seen(path), [7])
        producer.finish()
        producer.idle()  # does nothing then
