"""Measures what it costs to look at a run that is written: .venv/bin/python studies/watching/study.py [--pages N ...]

A run of so many small pages is written into a file in memory, and stays open. Then what each way to look at it takes of
the CPU, and of memory, is measured in a process of its own for each way.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import thalweg as tw
from thalweg import _core

RESULTS = Path(__file__).parent / "results" / "results.json"
SCHEMAS: dict[str, dict[str, dict[str, Any]]] = {
    "scalars": {"t": {f"c{i}": tw.uint64 for i in range(8)}},
    "lists": {"t": {"row": tw.uint64, "adc": tw.list_(tw.uint16)}},
}
TUNING = {"narrow_page_bytes": 512, "flush_interval": 0.2, "interim_footer_share": 0}
ROWS_AT_ONCE, ROWS_A_PAGE = 8192, 64
ROUNDS = 3


class Run:
    """Two producers, who append in turn."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self._kind, self._rows = str(path), kind, 0
        self._out = tw.create(path, SCHEMAS[kind], tuning=TUNING)
        self._producers = [self._out.producer("t") for _ in range(2)]

    def append(self) -> None:
        rows = np.arange(self._rows, self._rows + ROWS_AT_ONCE, dtype=np.uint64)
        producer = self._producers[self._rows // ROWS_AT_ONCE % 2]
        if self._kind == "scalars":
            producer.append(**{f"c{i}": rows for i in range(8)})
        else:
            values = np.repeat(rows, 3).astype(np.uint16)
            producer.append(row=rows, adc=tw.Ragged.from_lengths(np.full(len(rows), 3), values))
        self._rows += len(rows)

    def fill(self, pages: int) -> None:
        while self._rows * len(SCHEMAS[self._kind]["t"]) < pages * ROWS_A_PAGE:
            self.append()

    def settle(self) -> int:
        """Waits until all is announced. Returns the pages."""
        before, now = -1, self._out.status().pages
        while before != now:
            time.sleep(0.5)
            before, now = now, self._out.status().pages
        return now


def memory_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def measured(work: Callable[[], Any], kept: list[Any]) -> tuple[float, int]:
    """Returns CPU time in ms, and by how much the memory has grown while the result is there."""
    memory, begin = memory_bytes(), time.thread_time()
    kept.append(work())
    return (time.thread_time() - begin) * 1e3, memory_bytes() - memory


def image(run: Run) -> list[tuple[float, int]]:
    found = []
    for _ in range(ROUNDS):
        kept: list[Any] = []
        found.append(measured(lambda: _core.FileImage.of(run.path), kept))
    return found


def reader(run: Run) -> list[tuple[float, int]]:
    found = []
    for _ in range(ROUNDS):
        kept: list[Any] = []
        found.append(measured(lambda: _core.Reader.open(run.path), kept))
    return found


def look(run: Run) -> list[tuple[float, int]]:
    """The looks behind the first one: each after two more appends."""
    follower = _core.Follower(run.path)
    follower.look()
    found = []
    for _ in range(10):
        run.append()
        run.append()
        run.settle()
        found.append(measured(follower.look, []))
    return found[1:]


WAYS = {"image": image, "open": reader, "follow": look}


def one(kind: str, pages: int, way: str, folder: Path) -> dict[str, Any]:
    run = Run(folder / "run.h5", kind)
    run.fill(pages)
    count = run.settle()
    found = WAYS[way](run)
    return {
        "pages": count,
        "cpu_ms": [statistics.median(each[0] for each in found), min(found)[0], max(found)[0]],
        "memory_bytes": statistics.median(each[1] for each in found),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--only", nargs=3, metavar=("KIND", "PAGES", "WAY"), help="one measurement, to stdout")
    parser.add_argument("--name", default="results", help="name of the file of results")
    options = parser.parse_args()
    if options.only:
        kind, pages, way = options.only
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            print(json.dumps(one(kind, int(float(pages)), way, Path(folder))))
        return
    results = {}
    for kind in SCHEMAS:
        for pages in options.pages:
            for way in WAYS:
                words = [sys.executable, __file__, "--only", kind, str(pages), way]
                made = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
                results[f"{kind}, {pages:.0g} pages, {way}"] = json.loads(made)
                print(kind, pages, way, made.strip(), flush=True)
    RESULTS.with_stem(options.name).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
