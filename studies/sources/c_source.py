"""Measures how fast rows of a source in C get into a file: .venv/bin/python studies/sources/c_source.py (--help)

A library hands out the same rows again and again, and the source for Acqiris takes pulses of the emulator from the
stand-in for the vendor's library, as fast as they are taken. This process takes them as the process of a device does,
into a file in memory, or on the disk that --folder names. Counted is the CPU time of the thread that calls the library,
compresses and writes, and beside it the CPU time of the whole process, whose committer keeps the journal.
"""

import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from kept import arguments, keep

import thalweg as tw
from thalweg import _core
from thalweg._devices.board import Board
from thalweg._devices.description import description_of
from thalweg._devices.lanes import Lanes
from thalweg.testing.sources import open_library

REPOSITORY = Path(__file__).parents[2]
PULSES = 64  # as many as the stand-in keeps
CARD_ROWS = 30_000
CASES = {  # samples, rows of a batch, rows of a run
    "100 B, one row": (46, 1, 2_000_000),
    "100 B, batches of 100": (46, 100, 10_000_000),
    "21 kB, batches of 100": (10_496, 100, 40_000),
}


def compiled(source: Path, folder: Path) -> str:
    library = folder / f"lib{source.stem}.so"
    words = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "-I", str(REPOSITORY / "include"), "-o", str(library)]
    subprocess.run([*words, str(source), "-lm"], check=True)
    return str(library)


def write_pulses(path: Path) -> None:
    """Writes pulses of the emulator, as the stand-in for the vendor's library hands them out."""
    options = _core.DigitizerOptions()
    options.channels, options.record_limit = 1, PULSES
    source = _core.make_digitizer(options)
    with tw.create(path.with_suffix(".h5"), tw.Schema.from_json(source.schema), force=True) as run:
        _core.make_worker(run.handle, source, [0]).run()
    values = np.asarray(tw.open(path.with_suffix(".h5"))["ch0"].read()["waveform"]["values"])
    assert values.shape == (PULSES, 10_496), values.shape
    values.astype("<u2").tofile(path)


def recorded(device: Any, path: Path, codec: str, rows: int) -> dict[str, float]:
    """Records a device until it has given so many rows. Returns CPU times, and which part of the bytes was stored."""
    description = description_of("source", device.describe(), {})
    with tw.create(path, description.schema, codec=codec, force=True) as out:
        with tw.attach(out.handle) as run:
            lanes = Lanes(device, description, run, Board.create(), lambda _: None, deadline_s=60)
            stopping = threading.Thread(target=stop, args=(lanes, rows))
            stopping.start()
            begin_s, begin_all_s = time.thread_time(), time.process_time()
            lanes.work()
            cpu = {"thread": time.thread_time() - begin_s, "process": time.process_time() - begin_all_s}
            stopping.join()
        taken, report = lanes.rows, out.close()
    raw = sum(each.raw_bytes for each in report.tables)
    stored = sum(each.stored_bytes for each in report.tables)
    figures = {"us_per_row": cpu["thread"] / taken * 1e6, "rows_per_s": taken / cpu["thread"]}
    figures |= {f"{of}_bytes_per_s": raw / each for of, each in cpu.items()}
    return figures | {"stored": stored / raw}


def stop(lanes: Lanes, rows: int) -> None:
    while lanes.rows < rows:
        time.sleep(0.01)
    lanes.obey("stop")


def main() -> None:
    options = arguments(__doc__)
    measured: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        constant = compiled(Path(__file__).with_name("constant.c"), folder)
        driver = compiled(REPOSITORY / "tests/standins/aqmd3/aqmd3.c", folder)
        write_pulses(folder / "pulses")
        fast = f"Simulate=false, rate=10000000, memory=1000000000000000, pulses={folder / 'pulses'}"
        card = {"library": driver, "resource": "PXI0::0::0::INSTR", "driver_options": fast, "temperature_period": 0.0}
        for _ in range(options.rounds):
            for codec in ("bitshuffle+lz4", "none"):
                for case, (samples, batch, rows) in CASES.items():
                    device = open_library(constant, samples=samples, batch=batch, rows=rows)
                    figures = recorded(device, folder / "run.h5", codec, rows)
                    measured.setdefault(f"{case}, {codec}", []).append(figures)
                figures = recorded(open_library("acqiris", **card), folder / "run.h5", codec, CARD_ROWS)
                measured.setdefault(f"U5310A, {codec}", []).append(figures)
    keep("c_source", options.folder, measured)


if __name__ == "__main__":
    main()
