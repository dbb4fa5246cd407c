"""Measures how fast `record --source raw` takes rows: .venv/bin/python studies/sources/raw.py (--help)

A process sends the same rows again and again through a pipe or TCP; a worker records them into a file, as
`thalweg record` does. Counted is the CPU time of the thread that reads, turns rows into columns, compresses and writes,
and beside it the CPU time of the whole process, whose committer keeps the journal.
"""

import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kept import Figures, arguments, keep

import thalweg as tw
from thalweg import _core
from thalweg._raw.settings import open_raw, raw_settings

MIB = 512  # of a run
ROW = "[('timestamp','<u8'),('channel','<u2'),('energy','<u2'),('waveform','<u2',({samples},))]"
SENDER = """
import os, socket, sys
import numpy as np
samples, mib, port = map(int, sys.argv[1:])
row = np.dtype([("timestamp", "<u8"), ("channel", "<u2"), ("energy", "<u2"), ("waveform", "<u2", (samples,))])
rows = np.zeros((16 << 20) // row.itemsize, row)
rows["timestamp"] = np.arange(len(rows))
rows["waveform"] = 80 + np.random.default_rng(1).integers(0, 4, rows["waveform"].shape)
to = socket.create_connection(("127.0.0.1", port)) if port else sys.stdout
for _ in range(mib // 16):
    left = memoryview(rows.tobytes())
    while left:
        left = left[os.write(to.fileno(), left):]
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def measure(way: str, samples: int, codec: str, folder: Path) -> Figures:
    """Returns the rows and bytes of one run for each second of CPU time."""
    port = free_port() if way == "tcp" else 0
    words = [sys.executable, "-c", SENDER, str(samples), str(MIB), str(port)]
    sender = None
    if way == "pipe":
        sender = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert sender.stdout
        address = f"fd:{sender.stdout.fileno()}"
    else:
        address = f"listen:{port}"
    source = open_raw(raw_settings(address, ROW.format(samples=samples)))
    with tw.create(folder / "run.h5", tw.Schema.from_json(source.schema), codec=codec, force=True) as run:
        worker = _core.make_worker(run.handle, source, [0])
        sender = sender or subprocess.Popen(words)
        begin_s, begin_all_s = time.thread_time(), time.process_time()
        worker.run()
        cpu = {"thread": time.thread_time() - begin_s, "process": time.process_time() - begin_all_s}
        (result,) = worker.results()
    sender.wait()
    row_bytes = 12 + 2 * samples
    assert result.rows == (16 << 20) // row_bytes * (MIB // 16), result.rows
    figures = {"rows_per_s": result.rows / cpu["thread"]}
    return figures | {f"{of}_bytes_per_s": result.rows * row_bytes / each for of, each in cpu.items()}


def main() -> None:
    options = arguments(__doc__)
    measured: dict[str, list[Figures]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for _ in range(options.rounds):
            for way in ("pipe", "tcp"):
                for samples in (42, 10_496):
                    for codec in ("bitshuffle+lz4", "none"):
                        name = f"{way}, {12 + 2 * samples} B, {codec}"
                        measured.setdefault(name, []).append(measure(way, samples, codec, Path(folder)))
    keep("raw", options.folder, measured)


if __name__ == "__main__":
    main()
