"""A job of its own process, for tests that kill it: INPUT FOLDER ENDING ORDER WORKERS. It resumes what it finds."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from derive_cases import muons, train

import thalweg as tw


def slow(of: Any) -> dict[str, Any]:
    """So that there is time to kill."""
    time.sleep(0.05)
    return muons(of)


def main(path: str, folder: str, ending: str, order: str, workers: str) -> None:
    first, second = train(Path(folder), ending)
    both = [replace(first, function=slow), second]
    groups = {"ranges_per_group": 3} if order == "input" else {}
    job = tw.derive(path, both, workers=int(workers), order=order, resume=True, attempts=1000, range_bytes=1, **groups)
    said: list[str] = []

    def progress(state: Any) -> None:
        if state.events_per_s and not said:
            said.append("ranges are being done")
            print(*said, flush=True)

    report = job.run(progress)
    assert report.is_whole, report


if __name__ == "__main__":
    main(*sys.argv[1:])
