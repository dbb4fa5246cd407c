"""Runs that go on in other files are followed there."""

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from recording import columns, recording, wait_for

import thalweg as tw
from thalweg import _core
from thalweg._recording.files import FilePlan, Files

SCHEMA = tw.schema({"t": {"id": tw.uint64}, "other": {"x": tw.int8}})


def rotating(path: Path) -> Files:
    """Whose file is too old at once."""
    options = _core.CreateOptions()
    tw.Tuning(flush_interval=0.02).apply(options)
    files = Files(FilePlan(path, SCHEMA.to_json(), list(SCHEMA), options, {}, max_ns=1))
    files.start(0)
    return files


def write_files(files: Files, count: int) -> None:
    """A hundred rows in each of so many files."""
    with tw.attach(files.current.writer.handle) as run:
        producer, other = run.producer("t"), run.producer("other")
        for number in range(count):
            if number:
                wait_for(files.rotate_if_due)
            producer.append(id=np.arange(100 * number, 100 * (number + 1), dtype=np.uint64))
            other.append(x=number)
    files.close()
    wait_for(files.closed)
    assert files.errors() == []
    assert len(files.all) == count


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
@pytest.mark.parametrize("live", [False, True])
def test_rows_of_all_files_come_in_their_order(tmp_path: Path, name: str, live: bool) -> None:
    files = rotating(tmp_path / name)
    following = tw.open(files.current.path)["t"].follow(interval=0.01) if live else None
    write_files(files, 4)
    paths = [str(file.path) for file in files.all]
    found = list(following or tw.open(paths[0])["t"].follow())
    assert np.concatenate([each.rows["id"] for each in found]).tolist() == list(range(400))
    assert list(dict.fromkeys(each.path for each in found)) == paths
    ends = [each.rows["id"][0] for each in tw.open(paths[2]).follow() if each.table == "t"]
    assert min(ends) == 200


def test_it_ends_with_its_file_where_that_is_wanted_or_the_next_is_gone(tmp_path: Path) -> None:
    files = rotating(tmp_path / "run.h5")
    write_files(files, 3)
    first, second, _ = (file.path for file in files.all)
    only = [each.rows["id"] for each in tw.open(first)["t"].follow(next_files=False)]
    assert np.concatenate(only).tolist() == list(range(100))
    os.rename(second, tmp_path / "elsewhere.h5")
    with pytest.raises(tw.UsageError, match=r"the run continues in .*run-00002\.h5, which does not exist: put it"):
        list(tw.open(first).follow())
    with tw.create(second, SCHEMA):
        pass
    with pytest.raises(tw.UsageError, match=r"run-00002\.h5 is another run"):
        list(tw.open(first).follow())


def test_a_silent_producer_lets_the_earlier_file_close(tmp_path: Path) -> None:
    files = rotating(tmp_path / "run.h5")
    with tw.attach(files.current.writer.handle) as run:
        producer, other = run.producer("t"), run.producer("other")
        producer.append(id=1)
        other.append(x=1)
        wait_for(files.rotate_if_due)
        before = files.all[0]
        other.append(x=2)
        producer.idle()
        wait_for(lambda: [each.table for each in before.writer.status().producers] == [0])  # it waits for this one
        producer.follow_rotation()
        wait_for(lambda: before.is_closed)
        producer.append(id=2)
    files.close()
    wait_for(files.closed)
    assert files.errors() == []
    assert [tw.open(file.path)["t"].read(["id"])["id"].tolist() for file in files.all] == [[1], [2]]


def test_a_recording_is_followed_from_file_to_file(tmp_path: Path) -> None:
    """Live, in this process, while another one records: every row once, in the order of its channel."""
    options = ("--channels", 2, "--samples", 64, "--records", 3000, "--rate", "1kHz", "--max-file-time", "400ms")
    seen: dict[str, list[np.ndarray]] = defaultdict(list)
    with recording(tmp_path / "run.h5", *options, "--set", "flush_interval=50ms") as recorder:
        following = tw.open(tmp_path / "run-00001.h5").follow(interval=0.02)
        new = next(following)
        seen[new.table].append(new.rows["timestamp"])
        assert recorder.process.poll() is None
        for new in following:
            seen[new.table].append(new.rows["timestamp"])
        report = recorder.report()
    paths = [file["path"] for file in report["files"]]
    assert len(paths) >= 3
    for name, table in columns(*paths).items():
        np.testing.assert_array_equal(np.concatenate(seen[name]), table["timestamp"])
