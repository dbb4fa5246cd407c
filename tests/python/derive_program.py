"""A job of its own process, for tests that interrupt it: INPUT FOLDER. It resumes what it finds."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from derive_cases import muons, train

import thalweg as tw


def slow(of: Any) -> dict[str, Any]:
    """So that there is time to interrupt."""
    time.sleep(0.05)
    return muons(of)


def main(path: str, folder: str) -> None:
    first, second = train(Path(folder))
    job = tw.derive(path, [replace(first, function=slow), second], workers=2, resume=True, range_bytes=1)
    said: list[str] = []

    def progress(state: Any) -> None:
        if state.events_per_s and not said:
            said.append("ranges are being done")
            print(*said, flush=True)

    report = job.run(progress)
    assert report.is_whole, report


if __name__ == "__main__":
    main(*sys.argv[1:])
