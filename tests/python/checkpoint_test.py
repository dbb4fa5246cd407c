"""Checkpoints: what ranks save is what h5py reads, and what other ranks restore."""

from __future__ import annotations

import errno
import random
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 (h5py reads through its filters)
import numpy as np
import pytest
from checkpoint_ranks import Ranks, on_ranks

import thalweg as tw
from thalweg.checkpoint import Block, restore, save, save_async

_SHAPE = (37, 24, 5)


def whole(dtype: str = "complex128", shape: tuple[int, ...] = _SHAPE) -> np.ndarray[Any, Any]:
    numbers = np.arange(np.prod(shape)).reshape(shape)
    return (numbers * (1 - 0.5j)).astype(dtype) if dtype.startswith("complex") else (numbers % 2).astype(dtype)


def cut(array: np.ndarray[Any, Any], edges: list[list[int]]) -> list[Block]:
    """The blocks between edges along each axis."""
    boxes: list[list[slice]] = [[]]
    for of_axis in edges:
        spans = [slice(a, b) for a, b in pairwise(of_axis)]
        boxes = [[*box, span] for box in boxes for span in spans]
    return [Block(array[tuple(box)], array.shape, [span.start for span in box]) for box in boxes]


_CUTS = {
    "slabs": [[0, 10, 20, 37], [0, 24], [0, 5]],
    "grid": [[0, 10, 20, 30, 37], [0, 12, 24], [0, 5]],
    "irregular": [[0, 11, 20, 37], [0, 24], [0, 2, 5]],
}


def save_cuts(comm: Any, path: Path, codec: str) -> None:
    arrays = {name: cut(whole(), edges) for name, edges in _CUTS.items()}
    own = {name: blocks[comm.Get_rank() :: comm.Get_size()] for name, blocks in arrays.items()}
    save(path, own, comm, attributes={"step": 17, "lattice": "honeycomb"}, codec=codec)


def read_share(comm: Any, path: Path) -> bool:
    state = restore(path, comm)
    first, end = (_SHAPE[1] * (comm.Get_rank() + more) // comm.Get_size() for more in (0, 1))
    expected = whole()[3:30, first:end]
    read = [state.read(name, (3, first, 0), (27, end - first, 5)) for name in state]
    return len(read) == 3 and all(np.array_equal(each, expected) for each in read)


@pytest.mark.parametrize("codec", ["none", "shuffle+deflate", "bitshuffle+zstd"])
@pytest.mark.parametrize("ranks", [1, 4])
def test_h5py_and_other_ranks_read_what_ranks_save(tmp_path: Path, ranks: int, codec: str) -> None:
    path = tmp_path / "psi.h5"
    assert on_ranks(ranks, save_cuts, path, codec) == [None] * ranks
    with h5py.File(path) as file:
        assert dict(file.attrs) == {"step": 17, "lattice": "honeycomb"}
        for name in _CUTS:
            assert file[name].dtype == np.complex128
            np.testing.assert_array_equal(file[name][:], whole())
        assert file["irregular"].is_virtual
        assert file["grid"].chunks is not None
        assert file["slabs"].is_virtual == (codec != "none")  # as its slabs differ, no chunk fits all
        assert file["slabs"].chunks is None
    for readers in (1, 2, 5):
        assert on_ranks(readers, read_share, path) == [True] * readers
    state = restore(path)
    assert state.attributes == tw.Attributes({"step": 17, "lattice": "honeycomb"})
    assert (state.shape("grid"), state.dtype("grid")) == (_SHAPE, np.dtype(np.complex128))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64", "complex64", ">c16", ">i4"])
def test_dtypes_come_back(tmp_path: Path, dtype: str) -> None:
    array = whole("complex128" if dtype == ">c16" else "int32" if dtype == ">i4" else dtype).astype(dtype)
    save(tmp_path / "a.h5", {"a": Block(array, _SHAPE, (0, 0, 0))})
    read = restore(tmp_path / "a.h5").read("a")
    assert read.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_array_equal(read, array)


def test_views_are_saved_as_they_look(tmp_path: Path) -> None:
    array = whole()
    views = {"halo": array[1:-1, 2:-2, 1:4], "transposed": array.T, "backwards": array[::-1, :, ::2]}
    save(tmp_path / "a.h5", {name: Block(view, view.shape, (0, 0, 0)) for name, view in views.items()})
    for name, view in views.items():
        np.testing.assert_array_equal(restore(tmp_path / "a.h5").read(name), view)


def test_a_part_is_read_into_an_array_that_is_there(tmp_path: Path) -> None:
    save(tmp_path / "a.h5", {"a": Block(whole(), _SHAPE, (0, 0, 0))})
    state = restore(tmp_path / "a.h5")
    out = np.empty((2, 24, 5), complex)
    assert state.read("a", (4, 0, 0), (2, 24, 5), out=out) is out
    np.testing.assert_array_equal(out, whole()[4:6])
    np.testing.assert_array_equal(state.read("a", (30, 20, 0)), whole()[30:, 20:])
    for start, shape in [((0, 0, 0), (38, 1, 1)), ((-1, 0, 0), (1, 1, 1)), ((0, 0), (1, 1))]:
        with pytest.raises(tw.UsageError):
            state.read("a", start, shape)
    with pytest.raises(tw.UsageError, match="give a C-contiguous array"):
        state.read("a", out=np.empty(_SHAPE, "complex64"))
    with pytest.raises(tw.UnknownNameError, match="has no array 'b'; its arrays are a"):
        state.read("b")


def save_badly(comm: Any, path: Path, how: str) -> None:
    rank = comm.Get_rank()
    array: Any = np.full(8, rank, complex)
    start = [8 * rank]
    if rank == 2 and how == "type":
        array = np.array(["text"] * 8)
    if rank == 2 and how == "object":
        array = object()
    if rank == 2 and how == "overlap":
        start = [8]
    attributes = {"bad": object()} if rank == 2 and how == "attribute" else {}
    save(path, {"psi": Block(array, (24,), start)}, comm, attributes=attributes)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("type", "rank 2: the array 'psi' cannot be saved"),
        ("object", "rank 2: "),
        ("attribute", "rank 2: the attribute 'bad'"),
        ("overlap", "no rank has the element"),
    ],
)
def test_what_one_rank_gives_wrong_all_ranks_hear(tmp_path: Path, how: str, said: str) -> None:
    answers = on_ranks(3, save_badly, tmp_path / "psi.h5", how)
    assert len(set(answers)) == 1, answers
    assert answers[0].startswith("UsageError: ")
    if how != "overlap":
        assert said in answers[0]
    else:
        assert "is in a block of rank 1, (8) to (16), and in one of rank 2" in answers[0]
    assert list(tmp_path.iterdir()) == []


def save_with_a_broken_rank(comm: Any, path: Path) -> None:
    import resource
    import signal

    if comm.Get_rank() == 1:  # to it the disk is full
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096 + 100_000 * 16, 4096 + 100_000 * 16))
    array = np.full(100_000, comm.Get_rank(), complex)
    save(path, {"psi": Block(array, (300_000,), [100_000 * comm.Get_rank()])}, comm)


def test_a_full_disk_of_one_rank_is_an_error_of_all(tmp_path: Path) -> None:
    answers = on_ranks(3, save_with_a_broken_rank, tmp_path / "psi.h5")
    assert len(set(answers)) == 1
    assert "SystemError: " in answers[0]
    assert "(rank 1: cannot write" in answers[0]
    assert list(tmp_path.iterdir()) == []


def test_more_ranks_than_blocks(tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    assert on_ranks(3, save_one_of_three, path) == [None] * 3
    np.testing.assert_array_equal(restore(path).read("psi"), whole())


def save_one_of_three(comm: Any, path: Path) -> None:
    empty = Block(np.empty((0, 24, 5), complex), _SHAPE, (0, 0, 0))
    blocks: list[Block] = [[], [Block(whole(), _SHAPE, (0, 0, 0))], [empty]][comm.Get_rank()]
    save(path, {"psi": blocks}, comm)


def save_over_and_over(comm: Any, path: Path, how: str) -> None:
    rank, rows = comm.Get_rank(), 200
    for step in range(1, 10_000):
        block = Block(np.full((rows, 300), step, complex), (rows * comm.Get_size(), 300), (rows * rank, 0))
        if how == "save":
            save(path, {"psi": block}, comm, attributes={"step": step})
        else:
            save_async(path, {"psi": block}, comm, attributes={"step": step}).wait()


@pytest.mark.parametrize("how", ["save", "save_async"])
def test_killed_jobs_leave_a_checkpoint_that_is_whole(tmp_path: Path, how: str, long_mode: bool) -> None:
    path = tmp_path / "psi.h5"
    save(path, {"psi": Block(np.zeros((400, 300), complex), (400, 300), (0, 0))}, attributes={"step": 0})
    moments = random.Random(13)
    seen = set()
    for _ in range(100 if long_mode else 12):
        job = Ranks(2, save_over_and_over, path, how)
        time.sleep(moments.uniform(0.02, 0.25))
        job.kill()
        state = restore(path)
        step = state.attributes["step"]
        assert state.problems == []
        assert np.all(state.read("psi") == step)
        seen.add(int(step))
    assert len(seen) > 1, "no job came as far as its first checkpoint"
    save(path, {"psi": Block(np.ones(1), (1,), (0,))})
    assert sorted(each.name for each in tmp_path.iterdir()) == [".psi.h5.saved", "psi.h5", "psi.h5.1"]


def test_a_damaged_one_is_reported_and_the_one_before_is_used(tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    for step in (1, 2):
        save(path, {"psi": Block(np.full(1000, step), (1000,), (0,))})
    with path.open("r+b") as file:
        file.seek(5000)
        file.write(b"x")
    with pytest.warns(UserWarning, match=r"psi\.h5\.1 is restored instead of .*are not as they were written"):
        state = restore(path)
    assert (state.path, len(state.problems)) == (f"{path}.1", 1)
    assert np.all(state.read("psi") == 1)
    with pytest.raises(tw.DataError, match="restore with verify=True"):
        restore(path, verify=False).read("psi")


def test_files_that_are_no_checkpoints(tmp_path: Path) -> None:
    run, foreign = tmp_path / "run.h5", tmp_path / "foreign.h5"
    with tw.create(run, {"events": {"x": tw.float64}}) as out, out.producer("events") as producer:
        producer.append(x=[1.0])
    with h5py.File(foreign, "w") as file:
        file["x"] = np.zeros(10_000)
    for path in (run, foreign):
        before = path.read_bytes()
        with pytest.raises(tw.UsageError, match="is no checkpoint"):
            restore(path)
        with pytest.raises(tw.UsageError, match="is no checkpoint"):
            save(path, {"psi": Block(np.ones(1), (1,), (0,))})
        assert path.read_bytes() == before
    with pytest.raises(tw.SystemError) as missing:
        restore(tmp_path / "none.h5")
    assert missing.value.errno == errno.ENOENT
    with pytest.raises(tw.UsageError, match="keep=0"):
        save(tmp_path / "a.h5", {}, keep=0)


def test_a_save_in_a_thread_leaves_the_arrays_to_the_simulation(tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    psi = np.full(200_000, 1.0)
    for step in (1.0, 2.0, 3.0):
        psi[:] = step
        saving = save_async(path, {"psi": Block(psi, psi.shape, (0,))}, codec="lz4" if step == 2.0 else "none")
        psi[:] = -1
    report = saving.wait()
    assert saving.wait() is report
    assert report.bytes == psi.nbytes
    assert np.all(restore(path).read("psi") == 3)
    assert np.all(restore(f"{path}.1").read("psi") == 2)  # the one before was waited for


def test_what_a_thread_failed_with_the_next_save_says(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "psi.h5"
    saving = save_async(path, {"psi": Block(np.ones(3_000_000), (3_000_000,), (0,))}, codec="shuffle+deflate")
    for each in folder.iterdir():
        each.unlink()  # as another job does that takes it for what a killed one left
    with pytest.raises(tw.SystemError, match="another job that saves to it has removed"):
        save(path, {"psi": Block(np.ones(3), (3,), (0,))})
    with pytest.raises(tw.SystemError, match="another job"):
        saving.wait()
    save(path, {"psi": Block(np.ones(3), (3,), (0,))})
    assert len(restore(path)) == 1


def test_a_copy_has_no_more_memory_than_it_may(tmp_path: Path) -> None:
    psi = np.arange(1000.0)
    saving = save_async(tmp_path / "psi.h5", {"psi": Block(psi, psi.shape, (0,))}, memory=7999)
    assert saving.is_done
    psi[:] = -1
    saving.wait()
    np.testing.assert_array_equal(restore(tmp_path / "psi.h5").read("psi"), np.arange(1000.0))


def test_more_than_two_gigabytes_of_a_rank(tmp_path: Path, long_mode: bool) -> None:
    if not long_mode:
        pytest.skip("--long writes and reads so much")
    count = 2**31 + 12_345
    array = np.zeros(count, "uint8")
    array[-5:] = range(1, 6)
    save(tmp_path / "a.h5", {"a": Block(array, (count,), (0,)), "grid": Block(array[None], (1, count), (0, 0))})
    state = restore(tmp_path / "a.h5")
    assert state.read("a", (count - 5,)).tolist() == [1, 2, 3, 4, 5]
    assert not state.read("a", (0,), (count - 5,)).any()
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["a"][-5:].tolist() == file["grid"][0, -5:].tolist() == [1, 2, 3, 4, 5]


_NO_WAIT = """
import resource, signal, sys
import numpy as np
from thalweg.checkpoint import Block, save_async

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
psi = np.random.default_rng(1).normal(size=100_000) + 0j
save_async(sys.argv[1], {"psi": Block(psi, psi.shape, [0])}, codec="shuffle+lz4")
"""


@pytest.mark.parametrize("disk", ["full", "fine"])
def test_a_save_without_a_wait_is_not_lost_in_silence(tmp_path: Path, disk: str) -> None:
    path = tmp_path / "psi.h5"
    ended = subprocess.run([sys.executable, "-c", _NO_WAIT, path, disk], capture_output=True, text=True, timeout=60)
    said = ended.stdout + ended.stderr
    if disk == "fine":
        assert (ended.returncode, said) == (0, "")
        assert restore(path).shape("psi") == (100_000,)
    else:
        assert f"{path} is not saved" in said
        assert not path.exists()


def save_with_attributes(comm: Any, path: Path, given: list[dict[str, Any] | None]) -> str:
    rank = comm.Get_rank()
    try:
        save(path, {"x": Block(np.full(2, rank), (4,), (2 * rank,))}, comm, attributes=given[rank])
    except tw.UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("other", [{"step": 2}, {"more": 1}, {"step": 1.0}])
def test_attributes_that_differ_between_ranks_are_refused(other: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    said = on_ranks(2, save_with_attributes, path, [{"step": 1}, other])
    (name,) = other
    assert said[0] == said[1]
    assert f"the attribute '{name}' of rank 1 differs from that of rank 0" in said[0]
    assert not path.exists()


@pytest.mark.parametrize("other", [{"step": 1, "nan": float("nan")}, {"step": 1}, {}, None])
def test_the_other_ranks_may_give_the_same_attributes_or_none(other: dict[str, Any] | None, tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    assert on_ranks(2, save_with_attributes, path, [{"step": 1, "nan": float("nan")}, other]) == ["", ""]
    assert restore(path).attributes["step"] == 1
