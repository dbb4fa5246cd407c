"""Runs that are followed while they are written: every row once, whichever process dies, until the file is complete."""

import errno
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw
from thalweg._reading.follow import Pauses

SCHEMA = {
    "t": {"who": tw.uint8, "id": tw.uint64, "trace": tw.array(tw.uint16, 64), "tags": tw.list_(tw.uint64)},
    "other": {"x": tw.float32},
}
OFTEN = {"flush_interval": 0.02}
CONTAINERS = ["run.h5", "run.root"]


def append(producer: tw.Producer, who: int, first: int, count: int) -> None:
    ids = np.arange(first, first + count, dtype=np.uint64)
    lengths = ids % 3
    producer.append(
        who=np.full(count, who, np.uint8),
        id=ids,
        trace=(ids[:, None] * 5 + np.arange(64) + who).astype(np.uint16),
        tags=tw.Ragged.from_lengths(lengths, np.repeat(ids, lengths.astype(int))),
    )


class Seen:
    """What was given out: checked row by row, and that none comes twice or out of its producer's order."""

    def __init__(self) -> None:
        self.next: dict[int, int] = defaultdict(int)
        self.producers: dict[int, int] = {}
        self.rows = 0

    def take(self, new: tw.NewRows) -> None:
        assert new.table == "t"
        rows = new.rows
        for who, id_, trace, tags in zip(rows["who"], rows["id"], rows["trace"], rows["tags"], strict=True):
            assert id_ == self.next[who]
            self.next[who] += 1
            assert trace.tolist() == ((int(id_) * 5 + np.arange(64) + int(who)) & 0xFFFF).tolist()
            assert tags.tolist() == [id_] * int(id_ % 3)
        if new.producer is not None:
            assert new.first_row == rows["id"][0]
            assert self.producers.setdefault(new.producer, rows["who"][0]) == rows["who"][0]
        self.rows += len(rows)

    def take_all(self, all_new: Iterable[tw.NewRows]) -> "Seen":
        for new in all_new:
            self.take(new)
        return self


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("shared", [False, True])
def test_every_row_comes_once(tmp_path: Path, name: str, shared: bool) -> None:
    """Four producers begin and end at different times, one of them slow; the run is closed between two reads."""
    out = tw.create(tmp_path / name, SCHEMA, tuning=OFTEN)
    written = 0

    def write(who: int, rows: int) -> None:
        with out.producer("t") as producer:
            for first in range(0, rows, 37):
                append(producer, who, first, min(37, rows - first))

    following = (
        tw.open(tmp_path / name).follow(interval=0.01)
        if shared
        else tw.open(tmp_path / name)["t"].follow(interval=0.01)
    )
    slow = out.producer("t")
    append(slow, 9, 0, 5)
    seen = Seen()
    seen.take(next(following))
    for round_ in range(3):
        writers = [threading.Thread(target=write, args=(3 * round_ + i, 4000 + 1000 * i)) for i in range(3)]
        for writer in writers:
            writer.start()
        for new in itertools.islice(following, 2):
            seen.take(new)
        append(slow, 9, 5 + round_, 1)
        for writer in writers:
            writer.join()
        written += 15_000
    report = out.close()
    seen.take_all(following)
    assert seen.rows == written + 8 == report.rows
    assert dict(seen.next) == {9: 8, **{3 * a + b: 4000 + 1000 * b for a in range(3) for b in range(3)}}
    assert len(seen.producers) == 10
    with pytest.raises(StopIteration):
        next(following)


@pytest.mark.parametrize("name", CONTAINERS)
def test_what_no_page_holds_is_not_given_twice_when_the_run_is_closed(tmp_path: Path, name: str) -> None:
    """Rows that were journaled in a segment of which no reader that follows the run has heard."""
    out = tw.create(tmp_path / name, SCHEMA, tuning=OFTEN)
    producers = [out.producer("t") for _ in range(3)]
    seen = Seen()
    following = tw.open(tmp_path / name)["t"].follow(interval=0)
    for who, producer in enumerate(producers):
        append(producer, who, 0, 10)
    while seen.rows < 30:
        seen.take(next(following))
    for who, producer in enumerate(producers):
        for first in range(10, 20_000, 1000):
            append(producer, who, first, min(1000, 20_000 - first))
    out.close()
    seen.take_all(following)
    assert dict(seen.next) == dict.fromkeys(range(3), 20_000)


WRITER = """
import os, sys, numpy as np, thalweg as tw
sys.path.insert(0, sys.argv[3])
from follow_test import SCHEMA, OFTEN, append
resume = sys.argv[2] == "resume"
out = tw.create(sys.argv[1], None if resume else SCHEMA, resume=resume, tuning=None if resume else OFTEN)
producers = [out.producer("t") for _ in range(2)]
base = 2 * resume
for first in range(0, 5000, 50):
    for who, producer in enumerate(producers):
        append(producer, base + who, first, 50)
if resume:
    out.close()
    sys.exit()
print("written", flush=True)
sys.stdin.readline()
"""


def start_writer(path: Path, how: str = "create") -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), how, str(Path(__file__).parent)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("how", ["recover", "resume"])
def test_a_run_is_killed_and_goes_on(tmp_path: Path, name: str, how: str) -> None:
    path = tmp_path / name
    with start_writer(path) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "written\n"
        following = tw.open(path).follow(interval=0.01, timeout=1)
        seen = Seen()
        seen.take(next(following))
        writer.send_signal(signal.SIGKILL)
    with pytest.raises(tw.SystemError, match=r"no new rows for .*its writers may have ended") as error:
        seen.take_all(following)
    assert error.value.errno == errno.ETIMEDOUT
    again = tw.open(path).follow(interval=0.01)
    anew = Seen()
    anew.take(next(again))
    if how == "recover":
        tw.recover(path)
    else:
        with start_writer(path, "resume") as writer:
            assert writer.wait(timeout=120) == 0
    anew.take_all(again)
    assert dict(anew.next) == dict.fromkeys(range(2 if how == "recover" else 4), 5000)


@pytest.mark.parametrize("name", CONTAINERS)
def test_work_units_come_when_they_count(tmp_path: Path, name: str) -> None:
    with tw.create(tmp_path / name, SCHEMA, tuning=OFTEN) as out:
        following = tw.open(tmp_path / name).follow(interval=0.01)
        worker = tw.attach(out.handle)
        for key in range(4):
            with worker.work_unit(key) as unit:
                append(unit["t"], 0, key * 3000, 3000)
        dropped = worker.work_unit(7)
        append(dropped["t"], 0, 12_000, 100)
        dropped.drop()
        seen = Seen()
        for new in itertools.islice(following, 1):
            seen.take(new)
        worker.finish()
    seen.take_all(following)
    assert seen.rows == 12_000


def test_columns_memory_and_a_run_that_is_over(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, SCHEMA) as out:
        append(out.producer("t"), 0, 0, 1000)
    pieces = list(tw.open(path)["t"].follow(["id"], memory_bytes=800))
    assert len(pieces) >= 10
    assert np.concatenate([each.rows["id"] for each in pieces]).tolist() == list(range(1000))
    assert {(each.node, each.producer, each.first_row) for each in pieces} == {(None, None, None)}
    assert list(pieces[0].rows) == ["id"]
    assert list(tw.open(path)["other"].follow()) == []


def test_what_cannot_be_followed_is_refused(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "others.h5", "w") as file:
        file["x"] = np.arange(5)
    with pytest.raises(tw.UsageError, match=r"cannot be followed \(Thalweg has not written it\)"):
        tw.open(tmp_path / "others.h5").follow()
    path = tmp_path / "run.h5"
    out = tw.create(path, SCHEMA, tuning=OFTEN)
    append(out.producer("t"), 0, 0, 10)
    run = tw.open(path)
    with pytest.raises(tw.UsageError, match="some rows of table 't' cannot be followed"):
        run["t"][2:4].follow()
    with pytest.raises(tw.UnknownNameError, match="nothing"):
        run["t"].follow("nothing")
    with pytest.raises(tw.UsageError, match="from 0 on"):
        run.follow(interval=-1)
    following = run.follow(interval=0.01)
    next(following)
    out.close()
    os.remove(path)
    with pytest.raises(tw.UsageError, match="no such file"):
        next(following)
    following = run.follow(interval=0.01)
    with tw.create(path, SCHEMA), pytest.raises(tw.Error, match="is another run"):
        next(following)


BLOCKS = """
import sys, numpy as np, thalweg as tw
out = tw.create(sys.argv[1], {"t": {"block": tw.array(tw.uint8, 1 << 20)}}, codec="none", tuning={"flush_interval": 60})
producer = out.producer("t")
producer.append(block=np.full((8, 1 << 20), 7, np.uint8))
producer.finish()
print("written", flush=True)
sys.stdin.readline()
"""


def test_rows_that_a_recovery_loses_are_told(tmp_path: Path) -> None:
    """They were given out, and their page was damaged before the run was recovered: as after a power cut."""
    path = tmp_path / "run.h5"
    command = [sys.executable, "-c", BLOCKS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "written\n"
        following = tw.open(path).follow(interval=0.01)
        given = 0
        while given < 8:
            given += len(next(following).rows)
        writer.kill()
    with path.open("r+b") as file:
        file.seek(path.read_bytes().index(b"\7" * 4096, 3 << 20))
        file.write(b"\1" * 4096)
    assert tw.recover(path).rows < 8
    with pytest.raises(tw.DataError, match=r"8 were given out, and it has [0-7] now|given out that are not in"):
        list(following)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_run_is_followed_by_the_columns_that_are_asked_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with tw.create(path, SCHEMA, tuning=OFTEN) as out, out.producer("t") as producer, out.producer("other") as other:
        append(producer, 3, 0, 500)
        other.append(x=np.ones(20, np.float32))
    new = list(tw.open(path).follow(["id", "who"]))
    assert {each.table for each in new} == {"t"}
    assert set(new[0].rows) == {"id", "who"}
    assert np.array_equal(np.concatenate([each.rows["id"] for each in new]), np.arange(500))
    assert {each.table for each in tw.open(path).follow("x")} == {"other"}
    for columns in ("nothing", ["who", "x"]):
        with pytest.raises(tw.UnknownNameError):
            tw.open(path).follow(columns)


def test_one_long_look_makes_no_long_pause() -> None:
    """The first look reads all that was written: what comes behind it does not wait ten times as long."""
    pauses = Pauses(0.1)
    assert [pauses.after(look_s) for look_s in (5.0, 0.001, 0.002, 3.0, 2.0, 0.001)] == [0.1, 0.1, 0.1, 0.1, 20.0, 0.1]
