"""Measures how fast Python appends rows of 21 kB: .venv/bin/python studies/sources/python_rows.py (--help)

A row has a timestamp and a pulse of the emulator of 10,496 samples, and one call of `append` takes 100 of them. Counted
is the CPU time of the thread that appends, which also compresses and writes, and beside it the CPU time of the whole
process, whose committer keeps the journal and allocates the file.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from kept import Figures, arguments, keep

import thalweg as tw
from thalweg import _core

ROWS = 100  # of a call
CALLS = 500
SAMPLES = 10_496


def pulses(folder: Path) -> np.ndarray:
    options = _core.DigitizerOptions()
    options.channels, options.record_limit = 1, ROWS
    source = _core.make_digitizer(options)
    with tw.create(folder / "pulses.h5", tw.Schema.from_json(source.schema)) as run:
        _core.make_worker(run.handle, source, [0]).run()
    return np.ascontiguousarray(tw.open(folder / "pulses.h5")["ch0"].read()["waveform"]["values"])


def appended(path: Path, codec: str, values: np.ndarray) -> Figures:
    timestamps = np.arange(ROWS, dtype=np.uint64)
    row = {"timestamp": "uint64", "values": ("uint16", (SAMPLES,))}
    with tw.create(path, {"ch0": row}, codec=codec, force=True) as out:
        producer = out.producer("ch0")
        begin_s, begin_all_s = time.thread_time(), time.process_time()
        for _ in range(CALLS):
            producer.append(timestamp=timestamps, values=values)
        cpu = {"thread": time.thread_time() - begin_s, "process": time.process_time() - begin_all_s}
    raw = CALLS * (timestamps.nbytes + values.nbytes)
    return {f"{of}_bytes_per_s": raw / each for of, each in cpu.items()}


def main() -> None:
    options = arguments(__doc__)
    measured: dict[str, list[Figures]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        values = pulses(Path(name))
        for _ in range(options.rounds):
            for codec in ("bitshuffle+lz4", "none"):
                measured.setdefault(codec, []).append(appended(Path(name) / "run.h5", codec, values))
    keep("python_rows", options.folder, measured)


if __name__ == "__main__":
    main()
