"""A save in the background holds nothing longer than it must: neither a lock that readers meet, nor one that failed."""

from __future__ import annotations

import gc
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from checkpoint_ranks import on_ranks

import thalweg as tw
from thalweg.checkpoint import Block, restore, save, save_async

_COUNT = 400_000


def blocks(step: int) -> dict[str, Block]:
    values = np.random.default_rng(step).normal(size=_COUNT)  # which no codec makes smaller
    return {"psi": Block(values, (_COUNT,), (0,))}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """To this process the disk is full then."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def read_elsewhere(path: Path) -> str:
    program = "import h5py, sys; print(h5py.File(sys.argv[1])['psi'].shape)"
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    return (done.stdout + done.stderr).splitlines()[-1]


def test_h5py_opens_what_a_thread_has_saved_before_anyone_waits(tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    for step in (1, 2):
        saving = save_async(path, blocks(step))
        while not saving.is_done:
            time.sleep(0.01)
        assert read_elsewhere(path) == f"({_COUNT},)"
        with h5py.File(path, "r+"):
            pass
        saving.wait()


def test_readers_open_the_newest_one_at_every_moment(tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    save(path, blocks(0))
    opened = 0
    for step in range(1, 15):
        saving = save_async(path, blocks(step))
        while not saving.is_done:
            with h5py.File(path) as file:
                assert file["psi"].shape == (_COUNT,)
            opened += 1
        saving.wait()
    assert opened > 10


@pytest.mark.parametrize("first", ["save", "save_async"])
@pytest.mark.parametrize("codec", ["none", "shuffle+deflate-1"])  # what they take is known before, or not
def test_a_save_that_failed_blocks_no_later_one(tmp_path: Path, first: str, codec: str) -> None:
    path = tmp_path / "psi.h5"
    save(path, {"psi": Block(np.zeros(10), (10,), (0,))}, keep=1)
    kept: list[BaseException] = []
    gc.disable()  # nothing depends on when it looks
    try:
        with files_of_at_most(1_000_000):
            try:
                if first == "save":
                    save(path, blocks(1), codec=codec)
                else:
                    saving = save_async(path, blocks(1), codec=codec)
                    saving.wait()
            except tw.SystemError as error:
                kept.append(error)  # with its frames
        assert kept
        assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".saving")] == []
        for step in (2, 3):
            save(path, blocks(step))
            save_async(path, blocks(step)).wait()
    finally:
        gc.enable()
    assert np.array_equal(restore(path).read("psi"), blocks(3)["psi"].array)


def save_after_a_failure(comm: Any, path: Path, ways: list[Path]) -> list[str]:
    """Returns what saves to `ways` say after a save in the background to `path` that failed and was not waited for."""
    rank, ranks = (comm.Get_rank(), comm.Get_size()) if comm else (0, 1)
    large = {"psi": Block(blocks(rank)["psi"].array, (ranks * _COUNT,), (rank * _COUNT,))}
    small = {"psi": Block(np.zeros(1), (ranks,), (rank,))}
    told = []
    with files_of_at_most(1_000_000):
        saving = save_async(path, large, comm, codec="shuffle+deflate-1")
        while not saving.is_done:
            time.sleep(0.01)
        for way in ways:
            try:
                told.append(save(way, small, comm).path)
            except tw.SystemError as error:
                told.append(str(error))
    return told


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("between", [[], ["other.h5"]])  # that completes the first one, if all ranks must
def test_the_next_save_to_the_path_says_that_an_earlier_one_failed(
    tmp_path: Path, ranks: int, between: list[str]
) -> None:
    path = tmp_path / "psi.h5"
    ways = [tmp_path / name for name in [*between, "psi.h5", "psi.h5"]]
    if ranks == 1:
        answers = [save_after_a_failure(None, path, ways)]
    else:
        answers = on_ranks(ranks, save_after_a_failure, path, ways)
    for told in answers:
        assert told[:-2] == [str(way) for way in ways[:-2]]
        assert "File too large" in told[-2], told
        assert told[-1] == str(path)
