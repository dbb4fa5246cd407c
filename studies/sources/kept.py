"""What the measurements by CPU time have in common: their arguments, and the summary that is kept."""

import argparse
import json
import statistics
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
MEMORY = "/dev/shm"

Figures = dict[str, float]


def arguments(text: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default=MEMORY, help="where the files are: in memory, unless this names a disk")
    return parser.parse_args()


def keep(name: str, folder: str, measured: dict[str, list[Figures]]) -> None:
    """Writes and prints [median, smallest, largest] of each figure of each case."""
    summary = {
        case: {
            figure: [float(f"{value:.4g}") for value in (statistics.median(values), min(values), max(values))]
            for figure in runs[0]
            for values in [[run[figure] for run in runs]]
        }
        for case, runs in measured.items()
    }
    text = json.dumps(summary, indent=1) + "\n"
    (RESULTS / f"{name}{'' if folder == MEMORY else '_disk'}.json").write_text(text)
    print(text)
