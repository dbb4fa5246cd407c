"""`convert` of many small tables takes no more memory than a few tables do, whatever the containers are."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw

TABLES = 1000
MOST_SHARED_BYTES = 200 << 20
MOST_ADDRESSES = 6 << 30


def values_of(number: int) -> Any:
    return np.arange(number % 90 + 1, dtype="i4") if number % 2 else np.arange(number % 100, dtype="u1")


@pytest.fixture(scope="module")
def hdf5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.h5"
    with h5py.File(path, "w") as file:
        for number in range(TABLES):
            file[f"d{number:04}/x"] = values_of(number)
    return path


@pytest.fixture(scope="module")
def root(hdf5: Path) -> Path:
    tw.convert(hdf5, hdf5.with_suffix(".root"))
    return hdf5.with_suffix(".root")


def addresses() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def size_in_memory(path: Path) -> int:
    try:
        return path.stat().st_blocks * 512
    except FileNotFoundError:
        return 0


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Notes the most shared memory that the run has, and the most addresses that this process has beyond those now."""
    most, before, stop = {"shared": 0, "addresses": 0}, addresses(), threading.Event()
    handles: list[str] = []
    module = import_module("thalweg._files.convert")
    create = module.create

    def created(*arguments: Any, **options: Any) -> Any:
        out = create(*arguments, **options)
        handles.append(out.handle)
        return out

    def look() -> None:
        while not stop.wait(0.01):
            found = sum(size_in_memory(path) for name in handles for path in Path("/dev/shm").glob(f"{name}*"))
            most["shared"] = max(most["shared"], found)
            most["addresses"] = max(most["addresses"], addresses() - before)

    monkeypatch.setattr(module, "create", created)
    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        stop.set()
        thread.join()


@pytest.mark.alone
@pytest.mark.parametrize("ending", ["h5", "root"])
@pytest.mark.parametrize("source", ["hdf5", "root"])
def test_memory_is_bounded(
    source: str, ending: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = request.getfixturevalue(source)
    target = tmp_path / f"copy.{ending}"
    with watched(monkeypatch) as most:
        tw.convert(path, target)
    assert 0 < most["shared"] < MOST_SHARED_BYTES
    assert most["addresses"] < MOST_ADDRESSES
    run = tw.open(target)
    assert len(run) == TABLES
    for number in range(0, TABLES, 37):
        assert run[f"d{number:04}"].read()["x"].tolist() == values_of(number).tolist()
