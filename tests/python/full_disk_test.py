"""A disk of 64 MiB that is full, and has room again: what the page docs/full-disk.md promises."""

import sys
from pathlib import Path

import numpy as np
import pytest
from small_place import in_small_place
from tracing import THALWEG

import thalweg as tw

PREPARE = """
import errno, os, sys, time
import numpy as np
import thalweg as tw

path, filler = sys.argv[1], os.path.join(os.path.dirname(sys.argv[1]), "filler")
with open(filler, "wb") as file:
    file.write(b"1" * (24 << 20))
values = np.random.default_rng(1).integers(0, 1 << 60, 1 << 16)
options = {"codec": "none", "tuning": {"memory_bytes": "4 MiB"}}


def fill(producer):
    try:
        while True:
            producer.append(x=values)
    except tw.SystemError as error:
        assert error.errno == errno.ENOSPC, error
        return str(error)


def expect(rows):
    run = tw.open(path)
    x = run["t"]["x"]
    assert not run.is_open and len(x) == rows, (run.is_open, len(x), rows)
    assert np.array_equal(x[:], np.resize(values, rows))
    assert tw.verify(path).is_sound
"""

GOES_ON = """
with tw.create(path, {"t": {"x": tw.int64}}, **options) as out:
    producer = out.producer("t")
    said = fill(producer)
    assert "takes no more rows at present (No space left on device)" in said, said
    assert "takes no more rows at present" in out.status().failure
    taken = producer.rows
    os.remove(filler)
    end = time.monotonic() + 60
    while producer.rows < taken + 20 * len(values) // 2 and time.monotonic() < end:
        start = producer.rows % len(values)
        try:
            producer.append(x=values[start:])
        except tw.SystemError as error:
            assert error.errno == errno.ENOSPC, error
            time.sleep(0.1)
    rows = producer.rows
    assert rows > taken + 5 * len(values), (rows, taken)
    assert out.status().failure == ""
expect(rows)
"""

ONE_CLOSE = """
out = tw.create(path, {"t": {"x": tw.int64}}, **options)
producer = out.producer("t")
fill(producer)
report = out.close()
assert report.rows == producer.rows and report.lost_rows == 0 and report.is_whole
assert any("the disk was full" in note for note in report.notes), report.notes
assert not os.path.exists(path + ".journal")
expect(producer.rows)
"""

LISTS = """
import awkward as ak

lists = ak.unflatten(values, np.tile([0, 1, 2, 5], len(values) // 8))
out = tw.create(path, {"t": {"x": tw.int64, "hits": tw.list_(tw.int64)}}, **options)
producer = out.producer("t")
try:
    while True:
        producer.append(x=values[: len(lists)], hits=lists)
except tw.SystemError as error:
    assert error.errno == errno.ENOSPC, error
assert out.close().rows == producer.rows
table = tw.open(path)["t"]
assert np.array_equal(table["x"][:], np.resize(values[: len(lists)], producer.rows))
turns = producer.rows // len(lists) + 1
assert ak.array_equal(table["hits"][:], ak.concatenate([lists] * turns)[: producer.rows])
assert tw.verify(path).is_sound
"""

LEFT_IN_ORDER = """
with tw.create(path, {"t": {"x": tw.int64}}, **options) as out:
    producer = out.producer("t")
    fill(producer)
assert not os.path.exists(path + ".journal")
expect(producer.rows)
"""


SCRIPTS = {"goes_on": GOES_ON, "one_close": ONE_CLOSE, "lists": LISTS, "left_in_order": LEFT_IN_ORDER}


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_rows_are_kept_on_a_full_disk(tmp_path: Path, name: str, script: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    done = in_small_place(place, "64m", sys.executable, "-c", PREPARE + script, place / name)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", ["convert {} copy.root", "convert {} copy.h5", "merge {} --out copy.h5"])
def test_a_copy_that_finds_no_room_says_that_nothing_is_left(tmp_path: Path, words: str) -> None:
    source, place = tmp_path / "run.h5", tmp_path / "place"
    place.mkdir()
    with tw.create(source, {"t": {"x": tw.float64}}) as out:
        out.producer("t").append(x=np.random.default_rng(1).normal(size=1_000_000))
    command = [THALWEG, *words.format(source).split()]
    done = in_small_place(place, "3m", "sh", "-c", 'cd "$0" && "$@"; code=$?; ls -A; exit $code', place, *command)
    target = next(word for word in words.split() if word.startswith("copy."))
    assert done.returncode == 1, done.stderr
    assert f"{target} was not written (No space left on device, and nothing is left of it): free some" in done.stderr
    assert done.stdout == ""
