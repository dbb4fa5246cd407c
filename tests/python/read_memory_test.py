"""The budget of what is read."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = tw.read_memory()
    yield
    tw.read_memory(before)


def test_it_is_set_and_told() -> None:
    assert tw.read_memory("3 MiB") == 3 << 20
    assert tw.read_memory(1000) == 1000
    assert tw.read_memory() == 1000


@pytest.mark.parametrize("size", [0, -1, "0", "many"])
def test_what_is_no_size_is_refused(size: int | str) -> None:
    before = tw.read_memory()
    with pytest.raises(tw.UsageError):
        tw.read_memory(size)
    assert tw.read_memory() == before


@pytest.mark.parametrize("name", ["run.h5", "run.root"])
def test_a_byte_is_enough_for_everything_that_reads(tmp_path: Path, name: str) -> None:
    path, rows = tmp_path / name, 20_000
    numbers = np.arange(rows, dtype=np.float64)
    with tw.create(path, {"t": {"x": tw.float64, "s": tw.list_(tw.uint16)}}) as out:
        with out.producer("t") as producer:
            for i in range(rows):
                producer.append(x=numbers[i], s=[i % 7] * (i % 3))
        snapshot = tw.snapshot(path, tmp_path / f"so-far-{name}")
    tw.read_memory(1)
    table = tw.open(path)["t"]
    assert np.array_equal(table.read("x", threads=4)["x"], numbers)
    assert table.read("s", rows=slice(5, 8), threads=4)["s"].lengths.tolist() == [2, 0, 1]
    assert sum(batch.row_count for batch in table.batches(rows=777)) == rows
    assert tw.verify(path, threads=4).is_sound
    assert tw.verify(snapshot.path).is_sound
    assert tw.convert(path, tmp_path / f"other-{name}").rows == rows


def test_the_environment_says_it_and_errors_are_said() -> None:
    def told(value: str) -> str:
        program = "import thalweg as tw\ntry: print(tw.read_memory())\nexcept tw.UsageError as error: print(error)"
        environment = os.environ | {"THALWEG_READ_MEMORY": value}
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=True
        ).stdout.strip()

    assert told("64 MiB") == str(64 << 20)
    assert "THALWEG_READ_MEMORY" in told("64 apples")
