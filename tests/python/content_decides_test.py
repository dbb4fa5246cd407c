"""The content of a file decides what it is. Its name decides only if the file is to be created."""

import shutil
import struct
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401 (its filters)
import numpy as np
import pytest

import thalweg as tw
from thalweg.checkpoint import Block, save

ENDINGS = ["nxs", "nc", "nwb", "fast5", "h5ad", "mat", "h5md", "hdf", "H5", "he5", "txt", "root", "none"]


def renamed(path: Path, ending: str) -> Path:
    new = path.with_name("renamed" + (f".{ending}" if ending != "none" else ""))
    shutil.copy(path, new)
    return new


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["t/x"] = np.arange(5)
        file["t/s"] = ["a", "b", "c", "d", "e"]  # which h5py reads
    return tmp_path / "theirs.h5"


@pytest.fixture(params=["h5", "root"])
def ours(request, tmp_path: Path) -> Path:
    path = tmp_path / f"ours.{request.param}"
    with tw.create(path, {"t": {"x": tw.int64}}) as run, run.producer("t") as producer:
        producer.append(x=np.arange(5))
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_hdf5_files_are_read_whatever_their_name_is(theirs: Path, ending: str) -> None:
    path = renamed(theirs, ending)
    with tw.open(path) as run:
        assert run["t"].read("x")["x"].tolist() == [0, 1, 2, 3, 4]
        assert run["t"].read("s")["s"].tolist() == list("abcde")
        assert run.problems == ()
    found = tw.verify(path)
    assert found.is_sound
    assert found.problems == ()
    assert tw.convert(path, path.with_name("out.root")).problems == ()
    assert tw.open(path.with_name("out.root"))["t"].read("x")["x"].tolist() == [0, 1, 2, 3, 4]
    tw.derive(path, [tw.Derivation(path.with_name("slim.root"), keep="x")], workers=1).run()
    assert tw.open(path.with_name("slim.root"))["t"].read("x")["x"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("ending", ["nxs", "none", "root", "h5"])
def test_files_of_ours_are_read_whatever_their_name_is(ours: Path, ending: str) -> None:
    path = renamed(ours, ending)
    assert tw.open(path)["t"].read("x")["x"].tolist() == [0, 1, 2, 3, 4]
    assert tw.verify(path).is_sound
    if ours.suffix == ".root":
        tw.merge([path], path.with_name("merged.root"))
        assert len(tw.open(path.with_name("merged.root"))["t"]) == 5


@pytest.mark.parametrize("ending", ["nxs", "none"])
def test_commands_read_hdf5_files_whatever_their_name_is(theirs: Path, ending: str, thalweg_command) -> None:
    path = renamed(theirs, ending)
    for command in ("inspect", "verify"):
        done = thalweg_command(command, path)
        assert done.returncode == 0, done.stderr
    done = thalweg_command("record", "--source", "replay", "--input", path, "--out", path.with_name("run.h5"),
                           "--allow-missing")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert tw.open(path.with_name("run.h5"))["t"].read("x")["x"].tolist() == [0, 1, 2, 3, 4]


def test_what_is_neither_is_refused_by_what_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of this kind")
    with pytest.raises(
        tw.UsageError, match=r"notes\.txt' is of no known format \(neither an HDF5 file nor a ROOT file"
    ):
        tw.open(tmp_path / "notes.txt")
    with pytest.raises(tw.UsageError, match="no known format"):
        tw.create(tmp_path / "new.nxs", {"t": {"x": tw.int64}})


@pytest.mark.parametrize("block_bytes", [512, 1024, 4096, 1 << 16])
def test_files_behind_a_user_block_are_sound(tmp_path: Path, block_bytes: int, thalweg_command) -> None:
    path = tmp_path / "matlab.mat"
    with h5py.File(path, "w", userblock_size=block_bytes) as file:
        file["t/x"] = np.arange(5)
        file.create_dataset("t/gz", data=np.arange(5), compression="gzip", chunks=(5,))
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(block_bytes, b" "))
    found = tw.verify(path)
    assert found.is_sound, str(found)
    assert found.pages == 2
    assert thalweg_command("verify", path).returncode == 0
    assert tw.open(path)["t"].read("gz")["gz"].tolist() == [0, 1, 2, 3, 4]
    assert tw.convert(path, tmp_path / "out.root").problems == ()


def checkpoint(folder: Path, codec: str | None) -> Path:
    array = np.random.default_rng(1).random((64, 64))
    options = {} if codec is None else {"codec": codec}
    save(folder / "c.h5", {"a": Block(array, array.shape, (0, 0))}, **options)
    return folder / "c.h5"


@pytest.mark.parametrize("codec", [None, "zstd-1"])
def test_verify_knows_checkpoints(tmp_path: Path, codec: str | None, thalweg_command) -> None:
    path = checkpoint(tmp_path, codec)
    found = tw.verify(path)
    assert found.is_sound, str(found)
    assert found.pages > 0
    assert found.problems == ()
    assert found.pages_without_checksum == 0
    assert thalweg_command("verify", path).returncode == 0


@pytest.mark.parametrize("codec", [None, "zstd-1"])
def test_verify_says_where_a_checkpoint_is_damaged(tmp_path: Path, codec: str | None, thalweg_command) -> None:
    path = checkpoint(tmp_path, codec)
    with h5py.File(path) as file:
        place = file["a"].id.get_offset() or file["a"].id.get_chunk_info(0).byte_offset
    damaged = bytearray(path.read_bytes())
    damaged[place + 100] ^= 1
    path.write_bytes(damaged)
    (message,) = tw.verify(path).messages
    assert "'a'" in message
    assert f"offset {place}" in message
    done = thalweg_command("verify", path)
    assert done.returncode == 1
    assert message in done.stdout + done.stderr


@pytest.mark.parametrize("codec", [None, "zstd-1"])
def test_verify_finds_damage_in_a_checkpoint(tmp_path: Path, codec: str | None) -> None:
    path = checkpoint(tmp_path, codec)
    content = path.read_bytes()
    unseen = []
    for place in range(0, len(content), 1511):
        damaged = bytearray(content)
        damaged[place] ^= 0x40
        path.write_bytes(damaged)
        try:
            is_sound = tw.verify(path).is_sound
        except tw.Error:
            is_sound = False
        if is_sound:
            unseen.append(place)
    # Nothing lies in the rest of the first block, and between its arrays and their blocks.
    used = [place for place in unseen if content[place : place + 1] != b"\0"]
    assert used == []


def compass(records: int, cut: int) -> bytes:
    data = struct.pack("<H", 0xCAE9)
    for number in range(records):
        data += struct.pack("<HHQHIBI", 0, 0, 1000 * number, number, 0, 1, 20) + np.arange(20, dtype="<u2").tobytes()
    return data[: len(data) - cut]


@pytest.mark.parametrize("cut", [1, 7, 40, 45, 62])
def test_compass_files_cut_in_their_last_record_are_read_up_to_it(tmp_path: Path, cut: int, thalweg_command) -> None:
    record_bytes = 23 + 40
    (tmp_path / "run.BIN").write_bytes(compass(11, cut))
    words = ("record", "--source", "replay", "--input", tmp_path / "run.BIN", "--out", tmp_path / "run.h5")
    done = thalweg_command(*words)
    assert done.returncode == 1
    left = record_bytes - cut
    assert f"{left} bytes are left over at offset {2 + 10 * record_bytes}" in done.stderr
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["ch0/timestamp"][:].tolist() == [1000 * number for number in range(10)]
        assert file["ch0/energy"][:].tolist() == list(range(10))


def test_compass_files_are_replayed_whatever_their_name_is(tmp_path: Path, thalweg_command) -> None:
    (tmp_path / "run.dat").write_bytes(compass(11, 0))
    words = ("record", "--source", "replay", "--input", tmp_path / "run.dat", "--out", tmp_path / "run.h5")
    done = thalweg_command(*words)
    assert done.returncode == 0, done.stderr
    assert len(tw.open(tmp_path / "run.h5")["ch0"]) == 11


@pytest.mark.parametrize("stem", ["root", "run"])
def test_a_text_in_no_group_does_not_become_a_column_of_a_group_named_root(tmp_path: Path, stem: str) -> None:
    """The file's stem is a group, and so is `root`: each name that the table of the root would have is taken."""
    path = tmp_path / f"{stem}.h5"
    with h5py.File(path, "w") as file:
        for group in {stem, "root"}:
            file[f"{group}/y"] = np.arange(4)
        file["note"] = ["a", "b", "c", "d"]
    run = tw.open(path)
    for group in {stem, "root"}:
        assert list(run[group].schema) == ["y"]
    (other,) = set(run) - {stem, "root"}
    assert run[other].read()["note"].tolist() == list("abcd")
