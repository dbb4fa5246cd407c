"""How many bytes a call takes in a trace, and what its times lose for that: of records as a program might make them."""

from pathlib import Path

import numpy as np
import pytest

import thalweg as tw
from thalweg._trace import records
from thalweg._trace.names import Names
from thalweg._trace.tables import CallsTable, Clock, create_trace

MANY = 200_000


def calls_of(gaps: np.ndarray, durations: np.ndarray, **columns: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """Records of one thread, with a tick of a nanosecond."""
    calls = np.zeros(len(gaps), records.RECORD)
    calls["end"] = np.cumsum(gaps + durations)
    calls["start"] = calls["end"] - durations
    calls["operation"] = next(i for i, each in enumerate(records.operations()) if each.name == "pwrite")
    for name, values in columns.items():
        calls[name] = values
    return calls


def written(path: Path, calls: np.ndarray, resolution_ns: int, pieces: int = 7) -> float:  # type: ignore[type-arg]
    """Bytes a call; an empty trace is taken off."""
    sizes = []
    for some in (calls[:1], calls):
        with create_trace(str(path), resolution_ns, force=True) as out:
            tables, names = CallsTable(out, Clock((0, 0), resolution_ns)), Names()
            for part in np.array_split(some, pieces if len(some) > pieces else 1):
                taken = names.learn(part.copy(), 1, 0)
                tables.append(taken, names.rows(taken["file"]), {"process": 1, "thread": 0, "rank": -1})
        sizes.append(path.stat().st_size)
    return (sizes[1] - sizes[0]) / len(calls)


def times(path: Path, resolution_ns: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Starts and ends in nanoseconds."""
    rows = tw.open(path)["posix"].read()
    gap, duration = (np.asarray(rows[name]).astype(np.int64) for name in ("gap", "duration"))
    ends = np.cumsum(gap + duration) * resolution_ns
    return ends - duration * resolution_ns, ends


@pytest.mark.parametrize("resolution_ns", [1, 10, 100])
def test_times_are_right_to_two_units_and_never_drift(tmp_path: Path, resolution_ns: int) -> None:
    random = np.random.default_rng(1)
    gaps = random.integers(0, 300, 10_000)
    gaps[::50] = -random.integers(1, 500, 200)  # calls around the one before
    calls = calls_of(gaps + 0, random.integers(500, 2000, 10_000))
    written(tmp_path / "t.root", calls, resolution_ns)
    starts, ends = times(tmp_path / "t.root", resolution_ns)
    for found, exact, units in ((starts, calls["start"], 2), (ends, calls["end"], 1)):
        error = exact.astype(np.int64) - found
        assert (error >= 0).all()
        assert error.max() < units * resolution_ns


def test_what_is_shorter_than_a_unit_is_no_gap(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    calls = calls_of(np.full(5000, 30), random.integers(500, 2000, 5000))
    written(tmp_path / "t.root", calls, 100)
    starts, ends = times(tmp_path / "t.root", 100)
    assert (starts[1:] == ends[:-1]).all()


def regular(random: np.random.Generator) -> np.ndarray:  # type: ignore[type-arg]
    sizes = np.full(MANY, 4096)
    durations = np.maximum(200, random.lognormal(np.log(840), 0.1, MANY)).astype(np.int64)
    gaps = random.integers(25, 36, MANY)
    return calls_of(gaps, durations, size=sizes, result=sizes, offset=np.arange(MANY) % 1024 * 4096)


@pytest.mark.parametrize(("resolution_ns", "most"), [(10, 1.2), (100, 0.5)])
def test_a_regular_pattern_takes_few_bytes(tmp_path: Path, resolution_ns: int, most: float) -> None:
    assert written(tmp_path / "t.root", regular(np.random.default_rng(1)), resolution_ns) <= most


def test_parameters_of_a_regular_pattern_take_a_tenth_of_a_byte(tmp_path: Path) -> None:
    calls = regular(np.random.default_rng(1))
    calls["start"] = calls["end"] = 0
    assert written(tmp_path / "t.root", calls, 10) <= 0.1


def test_random_places_and_sizes_take_little_more_than_their_entropy(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    calls = regular(random)
    calls["offset"] = random.integers(0, 1 << 32, MANY)
    calls["size"] = calls["result"] = random.integers(0, 1 << 16, MANY)
    assert written(tmp_path / "t.root", calls, 10) <= 6 + 2.5
