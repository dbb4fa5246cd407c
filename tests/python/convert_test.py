"""What `convert` keeps: everything. Between any two containers, and back."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import thalweg as tw

ROWS = 5000


def schema() -> tw.Schema:
    hit = tw.struct({"energy": tw.float32(unit="keV"), "label": tw.string}, type_name="Hit")
    fields = {
        "id": tw.uint64(description="counts up"),
        "waveform": tw.waveform(tw.int16, 20),
        "hits": tw.list_(hit, type_name="std::vector<Hit>"),
        "pairs": tw.array({"x": tw.float64, "y": tw.list_(tw.uint8)}, 2, 2),
        "z": tw.list_(tw.array(tw.complex64, 2), unit="V"),
        "c": tw.complex128,
        "text": tw.string,
        "ok": tw.bool_,
    }
    tables = [tw.TableSchema("a/deep", tuple(tw.schema({"t": fields})["t"].items()), "of all types")]
    tables += [tw.TableSchema(name, (("id", tw.uint32), ("x", tw.float64(unit="mm")))) for name in "bcd"]
    return tw.Schema((*tables, tw.TableSchema("empty", (("id", tw.int8),))))


def rows_of_all_types(count: int) -> dict[str, Any]:
    ids = np.arange(count)
    lengths = np.arange(4 * count).reshape(count, 2, 2) % 3
    return {
        "id": ids.astype(np.uint64),
        "waveform": {
            "t0": ids / 2,
            "dt": np.full(count, 0.1),
            "values": (ids[:, None] + np.arange(20)).astype(np.int16),
        },
        "hits": [[{"energy": i + j, "label": f"h{j} µ"} for j in range(i % 4)] for i in range(count)],
        "pairs": {
            "x": lengths / 7,
            "y": tw.Ragged.from_lengths(lengths, np.arange(lengths.sum()).astype(np.uint8)),
        },
        "z": tw.Ragged.from_lengths(ids % 2, np.ones((count // 2, 2), np.complex64) * 1j),
        "c": ids * (1 - 2j),
        "text": ["é" * (i % 5) for i in range(count)],
        "ok": ids % 3 == 0,
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "run.h5"
    with tw.create(path, schema(), metadata={"run_number": "7", "note": 'a "b" ü'}) as out:
        out.producer("a/deep").append(rows_of_all_types(ROWS))
        for name in "bcd":
            ids = np.arange(3 * ROWS, dtype=np.uint32)
            out.producer(name).append(id=ids, x=ids / 4)
    return path


def assert_equal(first: Path, second: Path) -> None:
    one, other = tw.open(first), tw.open(second)
    assert other.schema == one.schema
    assert other.metadata == one.metadata
    for name in one:
        assert ak.array_equal(one[name].read().to_awkward(), other[name].read().to_awkward()), name


@pytest.mark.parametrize("through", ["copy.h5", "run.root"])
@pytest.mark.parametrize("threads", [1, 0, 8])
def test_there_and_back_again(source: Path, tmp_path: Path, through: str, threads: int) -> None:
    shares: list[float] = []
    report = tw.convert(source, tmp_path / through, threads=threads, progress=shares.append)
    assert report.rows == ROWS + 3 * 3 * ROWS
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert_equal(source, tmp_path / through)
    assert tw.verify(tmp_path / through).is_sound
    tw.convert(tmp_path / through, tmp_path / "back.h5", codec="shuffle+deflate-1")
    assert_equal(source, tmp_path / "back.h5")


@pytest.mark.parametrize("batch_bytes", [1, 10_000])
def test_small_batches_make_no_difference(
    source: Path, tmp_path: Path, batch_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thalweg._files.convert._BATCH_BYTES", batch_bytes)
    part = tmp_path / "part.h5"
    with tw.create(part, schema()) as out:
        out.producer("a/deep").append(tw.open(source)["a/deep"].read(rows=slice(100, 400)))
    tw.convert(part, tmp_path / "copy.h5")
    assert_equal(part, tmp_path / "copy.h5")


def test_what_cannot_be_is_refused(source: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.h5"
    there.write_text("mine")
    with pytest.raises(tw.UsageError, match=r"missing\.h5"):
        tw.convert(tmp_path / "missing.h5", tmp_path / "copy.h5")
    with pytest.raises(tw.UsageError, match="into itself"):
        tw.convert(source, source, force=True)
    with pytest.raises(tw.UsageError, match="it exists"):
        tw.convert(source, there)
    with pytest.raises(tw.UsageError, match="no known format"):
        tw.convert(source, tmp_path / "copy.txt")
    with pytest.raises(tw.UsageError, match="no codec"):
        tw.convert(source, tmp_path / "copy.h5", codec="zip")
    assert there.read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["there.h5"]
    tw.convert(source, there, force=True)
    assert_equal(source, there)


def test_a_link_that_leads_nowhere_is_no_place_for_a_file(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link.h5").symlink_to(tmp_path / "nowhere.h5")
    with pytest.raises(tw.SystemError, match=r"link\.h5 .*it exists already"):
        tw.convert(source, tmp_path / "link.h5")


def test_a_damaged_source_leaves_no_target(source: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.h5"
    content = bytearray(source.read_bytes())
    h5py = pytest.importorskip("h5py")
    with h5py.File(source) as file:
        page = file["a/deep/id"].id.get_chunk_info(0)
    content[page.byte_offset + page.size // 2] ^= 0x10
    damaged.write_bytes(content)
    with pytest.raises(tw.DataError, match=r"table '.*', column '.*'"):
        tw.convert(damaged, tmp_path / "copy.h5")
    assert [each.name for each in tmp_path.iterdir()] == ["damaged.h5"]


@pytest.mark.parametrize("ending", ["h5", "root"])
def test_what_is_replaced_stays_until_the_new_file_is_complete(
    ending: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"old.{ending}"
    tw.convert(source, target)
    old = target.read_bytes()
    seen = []

    def fails(done: float) -> None:
        seen.append(target.read_bytes() == old)
        if done > 0.5:
            raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        tw.convert(source, target, force=True, progress=fails)
    assert all(seen)
    assert target.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == [target.name]
    monkeypatch.setattr("os.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tw.convert(source, target, force=True)
    monkeypatch.undo()
    assert target.read_bytes() == old
    assert [each.name for each in tmp_path.iterdir()] == [target.name]
    report = tw.convert(source, target, force=True, codec="zstd-1")
    assert report.path == str(target)
    assert target.read_bytes() != old
    assert_equal(source, target)
    assert [each.name for each in tmp_path.iterdir()] == [target.name]


KILLED = """
import os, signal, sys
import thalweg as tw
tw.convert(sys.argv[1], sys.argv[2], force=True, progress=lambda done: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_killed_conversion_leaves_what_it_was_to_replace(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "old.h5"
    target.write_text("mine")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, source, target], timeout=120, check=False)
        assert done.returncode == -signal.SIGKILL
        assert target.read_text() == "mine"
    tw.convert(source, target, force=True)
    assert_equal(source, target)
    assert [each.name for each in tmp_path.iterdir()] == ["old.h5"]


def test_runs_that_are_replaced(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "old.h5"
    with tw.create(target, {"t": {"x": tw.int64}}) as out:
        with pytest.raises(tw.UsageError, match="is still being written"):
            tw.convert(source, target, force=True)
        out.producer("t").append(x=[1, 2])
    assert tw.open(target)["t"].read()["x"].tolist() == [1, 2]
    out = tw.create(target, {"t": {"x": tw.int64}}, force=True)
    with out.producer("t") as producer:
        producer.append(x=[3])
    out.abandon()
    assert tw.open(target).is_open
    tw.convert(source, target, force=True)
    assert_equal(source, target)
    assert [each.name for each in tmp_path.iterdir()] == ["old.h5"]
    folder = tmp_path / "folder.h5"
    folder.mkdir()
    with pytest.raises(tw.UsageError, match="it is a directory"):
        tw.convert(source, folder, force=True)


def test_the_command_says_what_it_did(source: Path, tmp_path: Path, thalweg_command) -> None:
    done = thalweg_command("convert", source, tmp_path / "copy.h5", "--codec", "bitshuffle+zstd-3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "50,000 rows in 5 tables" in done.stdout
    assert_equal(source, tmp_path / "copy.h5")
    again = thalweg_command("convert", source, tmp_path / "copy.h5", "--force", "--json")
    assert json.loads(again.stdout)["tables"][0]["rows"] == ROWS
    assert thalweg_command("convert", source, tmp_path / "copy.h5").returncode == 2
