"""How long it takes from a pulse that is appended to the page that shows it, in a run of many pages."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import watched
from websockets.sync.client import connect

import thalweg as tw

CHANNELS, RATE_HZ, SAMPLES = 6, 5000, 64
SCHEMA = {
    "timestamp": tw.uint64(unit="ps"),
    "energy": tw.float32(unit="keV"),
    "waveform": tw.array(tw.int16, SAMPLES, unit="adc"),
}
FLUSH_S = 1.0
BATCH_S = 0.02
SECONDS = 60
FILL_ROWS = 4096


class Run:
    """Six detectors, whose newest pulses are noted with the time at which they were appended."""

    def __init__(self, path: Path) -> None:
        tuning = {"narrow_page_bytes": 512, "wide_page_bytes": 4096, "flush_interval": FLUSH_S}
        self.out = tw.create(path, {f"ch{each}": SCHEMA for each in range(CHANNELS)}, tuning=tuning)
        self._producers = [self.out.producer(f"ch{each}") for each in range(CHANNELS)]
        self._rng = np.random.default_rng(4)
        self._waves = self._rng.integers(-100, 100, (FILL_ROWS, SAMPLES)).astype(np.int16)
        self._next_ps = 0
        self.rows = 0

    def append(self, rows: int) -> None:
        step = 10**12 // RATE_HZ
        times = np.arange(self._next_ps, self._next_ps + rows * step, step, dtype=np.uint64)
        self._next_ps += rows * step
        for producer in self._producers:
            energies = np.where(self._rng.random(rows) < 0.5, 133, 482).astype(np.float32)
            producer.append(timestamp=times, energy=energies, waveform=self._waves[:rows])
            self.rows += rows

    def fill(self, pages: int) -> int:
        """Appends until there are so many pages. Returns how many there are."""
        while self.out.status().pages < pages:
            self.append(FILL_ROWS)
        return self.out.status().pages


def seen_rows(url: str, came: list[tuple[float, int]], end: threading.Event) -> None:
    """Keeps how many rows the page had, and when."""
    with connect(url, compression=None, max_size=None) as socket:
        while not end.is_set():
            message = socket.recv()
            assert isinstance(message, bytes)
            status = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")]).get("status", {})
            if status:
                came.append((time.monotonic(), sum(each["rows"] for each in status["tables"])))


def pulse_to_page(folder: Path, config: Path, pages: int) -> dict[str, Any]:
    """The time between the append of a pulse and the first message to a viewer that has counted it."""
    run = Run(folder / "run.h5")
    before = run.fill(pages)
    came: list[tuple[float, int]] = []
    appended: list[tuple[float, int]] = []
    end = threading.Event()
    with watched.watching(folder / "run.h5", config) as (url, pid):
        viewer = threading.Thread(target=seen_rows, args=(url, came, end))
        viewer.start()
        while not came or came[-1][1] < run.rows:
            time.sleep(0.2)
        cpu, begin = watched.cpu_s([pid]), time.monotonic()
        for number in range(round(SECONDS / BATCH_S)):
            run.append(round(RATE_HZ * BATCH_S))
            appended.append((time.monotonic(), run.rows))
            time.sleep(max(0.0, begin + (number + 1) * BATCH_S - time.monotonic()))
        cpu = watched.cpu_s([pid]) - cpu
        while came[-1][1] < run.rows:
            time.sleep(0.1)
        end.set()
        viewer.join()
    run.out.close()
    times, rows = np.array([each[0] for each in came]), np.array([each[1] for each in came])
    seconds = [float(times[np.searchsorted(rows, wanted)] - at) for at, wanted in appended]
    return {
        "pages": before,
        "seconds": [round(float(each), 3) for each in np.quantile(seconds, [0.5, 0.99, 1])],
        "flush_s": FLUSH_S,
        "cpu_of_the_page": round(cpu / SECONDS, 3),
    }
