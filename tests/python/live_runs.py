"""Runs that several processes write until they are killed, and what other programs read of them."""

import contextlib
import copy
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401  (the filters)
import numpy as np
import uproot

import thalweg as tw

SCHEMA = {"events": {"producer": tw.uint32, "row": tw.uint64, "hits": tw.list_(tw.uint16)}}
OFTEN = {"flush_interval": 0.05}

# Writes until it is killed: the path, and how many processes append beside it.
RECORDER = """
import multiprocessing, sys, time
import live_runs
import thalweg as tw

if __name__ == "__main__":
    out = tw.create(sys.argv[1], live_runs.SCHEMA, tuning=live_runs.OFTEN)
    for number in range(3):
        multiprocessing.get_context("fork").Process(target=live_runs.write, args=(out.handle, number)).start()
    print("ready", flush=True)
    time.sleep(3600)
"""


def hits_of(producers: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, producers = rows.astype(np.int64), producers.astype(np.int64)
    lengths = (rows * 3 + producers) % 6
    return lengths, (np.repeat(rows * 7 + producers, lengths) % 60000).astype(np.uint16)


def append(out: tw.Writer, first: int, count: int) -> None:
    rows = np.arange(first, first + count, dtype=np.uint64)
    producers = np.zeros(count, np.uint32)
    with out.producer("events") as producer:
        producer.append(producer=producers, row=rows, hits=tw.Ragged.from_lengths(*hits_of(producers, rows)))


def when(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.01)


def recovers(path: Path) -> bool:
    """Returns False as long as a process that was killed is not gone yet."""
    with contextlib.suppress(tw.UsageError):
        tw.recover(path)
    return not tw.open(path).is_open


def write(handle: str, number: int, stop: float = 3600) -> None:
    """Appends until it is killed, or so many seconds."""
    end = time.monotonic() + stop
    with tw.attach(handle) as out:
        table = out.producer("events")
        row = 0
        while time.monotonic() < end:
            rows = np.arange(row, row + 1 + 17 * number, dtype=np.uint64)
            producers = np.full(len(rows), number, np.uint32)
            table.append(producer=producers, row=rows, hits=tw.Ragged.from_lengths(*hits_of(producers, rows)))
            row += len(rows)
            time.sleep(0.005)


def read_by_others(path: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Producers, rows, lengths and hits of a file that is given by its path or as a file object, which stays open."""
    if str(getattr(path, "name", path)).endswith(".root"):
        with uproot.open(copy.copy(path)) as file:  # uproot closes what it was given
            arrays = file["events"].arrays()
        lengths, hits = ak.num(arrays["hits"]), ak.flatten(arrays["hits"])
        return np.asarray(arrays["producer"]), np.asarray(arrays["row"]), np.asarray(lengths), np.asarray(hits)
    with h5py.File(path) as file:
        events = file["events"]
        lengths = np.diff(events["hits/cumulative_length"][:], prepend=0)
        return events["producer"][:], events["row"][:], lengths, events["hits/flattened_data"][:]


def check(path: Any) -> dict[int, int]:
    """Checks that the first rows of every producer are there once, with their values. Returns their numbers."""
    producers, rows, lengths, hits = read_by_others(path)
    right_lengths, right_hits = hits_of(producers, rows)
    np.testing.assert_array_equal(lengths, right_lengths)
    np.testing.assert_array_equal(hits, right_hits)
    counts = {}
    for number in np.unique(producers):
        own = rows[producers == number]
        np.testing.assert_array_equal(own, np.arange(len(own)))
        counts[int(number)] = len(own)
    return counts


@contextlib.contextmanager
def written_by_three(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Yields the process that keeps a run which three others write. All are killed at the end."""
    places = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    recorder = subprocess.Popen(
        [sys.executable, "-c", RECORDER, path], stdout=subprocess.PIPE, text=True, env=environment, process_group=0
    )
    try:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "ready\n"
        yield recorder
    finally:
        with contextlib.suppress(ProcessLookupError):  # all were killed before
            os.killpg(recorder.pid, signal.SIGKILL)
        recorder.communicate()
        with contextlib.suppress(tw.UsageError):  # recovered before
            tw.recover(path)  # which removes what the dead have left in /dev/shm
