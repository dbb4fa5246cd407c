"""Requests that were taken once, and ended badly later: each is refused at once, by a sentence that says why."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw

SCHEMA = {"t": {"x": tw.int64}}
FAST = {"flush_interval": "50ms"}
ENDINGS = pytest.mark.parametrize("ending", ["h5", "root"])


@ENDINGS
@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("", "text", "its key is empty"),
        ("a\0b", "text", "the key of metadata cannot be .*holds a NUL character"),
        ("a", "b\0c", "the metadata .a. cannot be .*holds a NUL character"),
        ("next_file", "other.h5", "files that continue each other have that key"),
    ],
)
def test_metadata_that_no_file_can_keep(tmp_path: Path, ending: str, key: str, value: str, why: str) -> None:
    path = tmp_path / f"run.{ending}"
    with pytest.raises(tw.UsageError, match=why):
        tw.create(path, SCHEMA, metadata={key: value})
    assert not path.exists()
    with tw.create(path, SCHEMA, metadata={"kept": "text"}) as out:
        with pytest.raises(tw.UsageError, match=why):
            out.set_metadata(key, value)
        out.set_metadata("later", "too")
    assert tw.open(path).metadata.items() >= {"kept": "text", "later": "too"}.items()


@ENDINGS
def test_a_link_to_an_open_run_is_that_run(tmp_path: Path, ending: str) -> None:
    (tmp_path / "data").mkdir()
    link = tmp_path / f"today.{ending}"
    link.symlink_to(f"data/run.{ending}")
    out = tw.create(tmp_path / "data" / f"run.{ending}", SCHEMA, tuning=FAST)
    out.producer("t").append(x=[1, 2, 3])
    _wait_for_rows(link, 3)
    tw.snapshot(link, tmp_path / f"snapshot.{ending}")
    assert tw.open(tmp_path / f"snapshot.{ending}")["t"]["x"][:].tolist() == [1, 2, 3]
    out.abandon()
    with tw.create(link, resume=True) as again:
        again.producer("t").append(x=[4])
        again.abandon()
    tw.recover(link)
    assert link.is_symlink()
    assert sorted(tw.open(link)["t"]["x"][:].tolist()) == [1, 2, 3, 4]


@ENDINGS
def test_a_run_whose_file_was_cut_is_not_sound(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    # Without interim metadata, nothing is written behind the last pages that would make a cut file longer again.
    knobs = {"extent_bytes": "64KiB", "cluster_bytes": "64KiB", "interim_footer_share": 0}
    out = tw.create(path, {"t": {"x": tw.int64, "w": tw.array(tw.uint8, 1000)}}, tuning=FAST | knobs)
    try:
        producer = out.producer("t")
        for _ in range(10):
            noise = np.random.default_rng(1).integers(0, 255, (500, 1000), dtype=np.uint8)
            producer.append(x=np.arange(500), w=noise)
        _wait_for_rows(path, 5000)
        assert tw.verify(path).faults == 0
        assert tw.open(path).problems == ()
        os.truncate(path, 4096)
        checked = tw.verify(path)
        assert checked.faults > 0
        assert "lies beyond the end of the file" in str(checked)
        assert "lies beyond the end of the file" in str(tw.open(path).problems[0])
    finally:
        out.abandon()


def _wait_for_rows(path: Path, rows: int) -> None:
    end = time.monotonic() + 60
    while len(tw.open(path)["t"]) < rows:
        assert time.monotonic() < end
        time.sleep(0.02)


@ENDINGS
def test_a_thread_does_not_wait_for_a_unit_of_its_own(tmp_path: Path, ending: str) -> None:
    out = tw.create(tmp_path / f"run.{ending}", SCHEMA)
    unit = out.work_unit(7)
    unit["t"].append(x=1)
    with pytest.raises(tw.UsageError, match="work unit 7 is open, and this thread began it"):
        out.close()
    unit.commit()
    dropped = out.work_unit(8)
    dropped["t"].append(x=2)
    with pytest.raises(tw.UsageError, match="work unit 8"):
        out.close()
    dropped.drop()
    assert out.close().tables[0].rows == 1


@ENDINGS
def test_codecs_that_no_column_has(tmp_path: Path, ending: str) -> None:
    for knob in ("wide_codec", "narrow_codec"):
        with pytest.raises(tw.UsageError, match="nonsense"):
            tw.create(tmp_path / f"run.{ending}", SCHEMA, tuning={knob: "nonsense"})


@pytest.mark.parametrize("summary", [3, True, [1, 2], 2**40, None, -1, np.zeros(3), "\ud800"])
def test_summaries_that_are_no_bytes(tmp_path: Path, summary: Any) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        with pytest.raises(tw.UsageError, match="the summary of a work unit cannot be"):
            out.work_unit(1, summary=summary)
        with out.work_unit(1, summary=bytearray(b"two")):
            pass
    assert tw.open(tmp_path / "run.h5").units[0].summary == b"two"


def _thalweg(folder: Path, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    command = [os.fsencode(os.path.join(os.path.dirname(sys.executable), "thalweg")), *map(os.fsencode, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("inspect", b"n\xff.h5"), "not UTF-8"),
        (("record", "--meta", b"k=\xff"), "not UTF-8"),
        (("record", "--records", "99999999999999999999999"), "less than or equal to"),
        (("record", "--seed", "99999999999999999999999"), "less than or equal to"),
        (("record", "--samples", "9999999999"), "less than or equal to"),
        (("record", "--duration", "0s"), "it is 0"),
        (("record", "--max-file-time", "0s"), "it is 0"),
        (("record", "--max-file-size", "0B"), "it is 0"),
        (("record", "--max-file-size", "1"), "--max-file-size 1 is too small (a file without rows has about"),
        (("record", "--run-number", "99999999999999999999999"), "less than or equal to"),
        (("record", "--rate", "1e-30/s"), "less than 1e-06/s"),
    ],
)
def test_the_command_line_refuses(tmp_path: Path, arguments: tuple[str | bytes, ...], why: str) -> None:
    result = _thalweg(tmp_path, *arguments)
    assert result.returncode == 2
    assert why in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_was_removed_is_not_said_to_be_recovered(tmp_path: Path) -> None:
    command = [os.path.join(os.path.dirname(sys.executable), "thalweg"), "record", "--channels", "2", "--samples", "50"]
    process = subprocess.Popen(
        [*command, "--rate", "2kHz", "--duration", "3s", "--quiet"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    path = tmp_path / "run.h5"
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.5)
    path.unlink()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1, said
    assert "was removed while it is being written" in said
    assert "is not there any more: put both back" in said
    assert "completes it with all published" not in said


BAD_TEXT = "not\udcffUTF-8"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda _: tw.create(5, SCHEMA), "5 is not a path: give a string"),
        (lambda _: tw.create(BAD_TEXT, SCHEMA), "is not UTF-8 text"),
        (lambda _: tw.create("a\0b.h5", SCHEMA), "holds a NUL character"),
        (lambda path: tw.create(path, 5), "5 is not a schema: give a dictionary of tables"),
        (lambda path: tw.create(path, {5: {"x": tw.uint8}}), "the name of a table is 5: give a string"),
        (lambda path: tw.create(path, {BAD_TEXT: {"x": tw.uint8}}), "the name of a table cannot be .*not UTF-8"),
        (lambda path: tw.create(path, {"events": {BAD_TEXT: tw.uint8}}), "the name of a field cannot be .*not UTF-8"),
        (lambda path: tw.create(path, {"events": {"x\0y": tw.uint8}}), r"'x\\x00y' .*holds a NUL character"),
        (lambda path: tw.create(path, SCHEMA, metadata={"k": BAD_TEXT}), "the metadata 'k' cannot be .*not UTF-8"),
        (lambda path: tw.create(path, SCHEMA, metadata={"k": 5}), "the metadata 'k' is 5: give a string"),
        (lambda path: tw.create(path, SCHEMA, metadata={BAD_TEXT: ""}), "the key of metadata cannot be"),
        (lambda path: tw.create(path, SCHEMA, tuning=5), "tuning cannot be 5"),
        (lambda path: tw.create(path, SCHEMA, nodes=1.5), "nodes cannot be 1.5 .*not an integer"),
        (lambda path: tw.create(path, SCHEMA, nodes=2**70), "nodes cannot be 1180591620717411303424: give 1 to 65536"),
        (lambda path: tw.create(path, SCHEMA, node_timeout="x"), "node_timeout cannot be 'x'"),
        (lambda path: tw.create(path, SCHEMA, node_timeout=-1), "node_timeout cannot be -1: give a time"),
        (lambda path: tw.create(path, SCHEMA, order="key", keys_per_group=2**70), "keys_per_group cannot be 1180"),
        (lambda path: tw.create(path, SCHEMA, order="key", keys_per_group=1.5), "keys_per_group cannot be 1.5"),
        (lambda path: tw.join(path, node=1.5, nodes=2), "node cannot be 1.5"),
        (lambda _: tw.attach(5), "the handle is 5: give a string"),
        (lambda _: tw.attach(BAD_TEXT), "the handle cannot be .*not UTF-8"),
        (lambda _: tw.open(5), "5 is not a path"),
        (lambda _: tw.open(None), "None is not a path"),
        (lambda _: tw.recover(5), "5 is not a path"),
        (lambda path: tw.snapshot(path, 5), "5 is not a path"),
        (lambda _: tw.verify(5), "5 is not a path"),
        (lambda path: tw.verify(path, threads=-1), "threads cannot be -1: give 0 to"),
        (lambda path: tw.convert(path, 5), "5 is not a path"),
        (lambda path: tw.convert(path, path, threads="many"), "threads cannot be 'many'"),
        (lambda path: tw.merge([path, path], 5), "5 is not a path"),
        (lambda _: tw.array(tw.uint8, 1.5), "the size of an array cannot be 1.5"),
        (lambda _: tw.array(tw.uint8, -1), "the size of an array cannot be -1: give 0 or more"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_a_sentence(tmp_path: Path, call: Any, said: str) -> None:
    with pytest.raises(tw.UsageError, match=said):
        call(tmp_path / "run.h5")
    assert not list(tmp_path.iterdir())


def test_a_run_refuses_values_of_the_wrong_kind(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.root", SCHEMA, order="key", keys_per_group=2) as out:
        for number, said in ((1.5, "cannot be 1.5"), ("a", "cannot be 'a'"), (2**70, "cannot be 1180")):
            with pytest.raises(tw.UsageError, match=f"the number of a work group {said}"):
                out.work_group(number)  # type: ignore[arg-type]
        with pytest.raises(tw.UsageError, match="its keys have more than 64 bits"):
            out.work_group(2**62)
        for key, value in (("k", "\udcff"), (5, "v"), ("k", 6)):
            with pytest.raises(tw.UsageError, match="metadata"):
                out.set_metadata(key, value)  # type: ignore[arg-type]
        with pytest.raises(tw.UsageError, match="timeout cannot be 'x'"):
            out.close(timeout="x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: run["t"].read(5), "columns cannot be 5: give names"),
        (lambda run: run["t"].read([5]), "a column of table 't' cannot be 5: give names"),
        (lambda run: run["t"].read(threads="x"), "threads cannot be 'x'"),
        (lambda run: run["t"].read(threads=-1), "threads cannot be -1: give 0 to"),
        (lambda run: next(run["t"].batches(rows=1.5)), "rows cannot be 1.5 .*not an integer"),
        (lambda run: next(run["t"].batches(rows=0)), "rows cannot be 0: give 1 or more"),
        (lambda run: next(run["t"][:1].batches(memory_bytes=0)), "memory_bytes cannot be 0: give 1 or more"),
        (lambda _: tw.read_memory(1.5), "the memory of readers in bytes cannot be 1.5"),
        (lambda _: tw.read_memory(2**70), "the memory of readers in bytes cannot be 1180"),
    ],
)
def test_a_read_of_the_wrong_kind_is_refused_with_a_sentence(tmp_path: Path, call: Any, said: str) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out, out.producer("t") as table:
        table.append(x=np.arange(3))
    with tw.open(tmp_path / "run.h5") as run:
        assert 5 not in run
        with pytest.raises(tw.UsageError, match=said):
            call(run)


@pytest.mark.parametrize("verb", ["inspect", "verify", "plot"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, verb: str) -> None:
    os.mkfifo(tmp_path / "pipe.h5")
    (tmp_path / "folder.h5").mkdir()
    for name, said in (("pipe.h5", "it is a pipe or a socket"), ("folder.h5", "it is a folder")):
        result = _thalweg(tmp_path, verb, name)
        assert result.returncode == 2
        assert said in result.stderr
