"""What the tests of `thalweg record` have in common."""

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 - lets h5py read bitshuffle
import numpy as np

THALWEG = str(Path(sys.executable).with_name("thalweg"))
SMALL = ("--samples", "64", "--channels", "3")


def record(out: Path, *arguments: object, code: int = 0) -> dict[str, Any]:
    """Runs `thalweg record --json` to its end and returns the report."""
    words = [THALWEG, "record", "--out", str(out), "--json", "--quiet", *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return dict(json.loads(done.stdout))


class Recorder:
    """A `thalweg record` that is running."""

    def __init__(self, process: subprocess.Popen[str], said: str) -> None:
        self.process = process
        self.said = said

    def workers(self) -> list[int]:
        return workers_of(self.process)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def report(self, code: int = 0) -> dict[str, Any]:
        out, err = self.process.communicate(timeout=300)
        assert self.process.returncode == code, err
        return dict(json.loads(out))


@contextlib.contextmanager
def recording(out: Path, *arguments: object, **options: Any) -> Iterator[Recorder]:
    """Begins, and returns when its producers are there; how much they have recorded by then depends on the machine."""
    words = [THALWEG, "record", "--out", str(out), "--json", *map(str, arguments)]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        **options,
    )
    try:
        assert process.stderr
        said = ""
        while "durable lag" not in said:  # the first sentence of the progress
            line = process.stderr.readline()
            assert line, said
            said += line
        yield Recorder(process, said)
    finally:
        process.kill()
        process.communicate()


def wait_for(condition: Callable[[], bool], timeout_s: float = 120) -> None:
    end_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def wait_for_rows(path: Path, rows: int) -> None:
    """So many, in the journal of every channel."""
    import thalweg

    def all_have_them() -> bool:
        run = thalweg.open(path)
        return all(len(run[name]) >= rows for name in run)

    wait_for(all_have_them)


def columns(*paths: Path | str) -> dict[str, dict[str, np.ndarray]]:
    """By table, the columns of files that follow each other, as stock h5py reads them."""
    parts: dict[str, dict[str, list[np.ndarray]]] = {}
    for path in paths:
        with h5py.File(path) as file:
            for name, table in file.items():
                if name.startswith("ch"):
                    values = {"timestamp": table["timestamp"][...], "values": table["waveform/values"][...]}
                    for column, part in values.items():
                        parts.setdefault(name, {}).setdefault(column, []).append(part)
    return {name: {column: np.concatenate(part) for column, part in table.items()} for name, table in parts.items()}


def metadata(path: Path) -> dict[str, str]:
    import thalweg

    return thalweg.open(path).metadata


def compass_file(path: Path, records: int = 40, samples: int = 100) -> dict[int, list[tuple[int, int, np.ndarray]]]:
    """A CoMPASS file of two channels: energy and waveform. Returns (timestamp, energy, samples) by channel."""
    random = np.random.default_rng(7)
    written: dict[int, list[tuple[int, int, np.ndarray]]] = {0: [], 1: []}
    content = struct.pack("<H", 0xCAE0 | 1 | 8)
    for number in range(records):
        channel, stamp, energy = number % 2, 1000 * number + number % 7, int(random.integers(4096))
        values = random.integers(0, 1 << 14, samples, dtype=np.uint16)
        content += struct.pack("<HHQHIBI", 0, channel, stamp, energy, 0x4000, 1, samples) + values.tobytes()
        written[channel].append((stamp, energy, values))
    path.write_bytes(content)
    return written


def workers_of(recorder: subprocess.Popen[str]) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()]


def kill_with_workers(recorder: subprocess.Popen[str]) -> None:
    """Returns when no process of it holds the run any more: its workers end a moment after it."""
    workers = workers_of(recorder)
    recorder.kill()
    recorder.wait()
    wait_for(lambda: not any(map(is_alive, workers)))


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except OSError:
        return False
