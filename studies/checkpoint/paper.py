"""The paper's figures 1 and 4 to 9, of this machine: a table and a picture. (2 and 3 are in stripes.py.)"""

import csv
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from checkpoint.variants import HINTS
from harness.figures import Round
from harness.plot import OURS, THEIRS
from matplotlib.axes import Axes

POSIX = "posix file per process, buffered, 4 ranks"
DIRECT = "posix file per process, direct, 4 ranks"
PER_PROCESS = "once: mpiio, file per process, 4 ranks"
INDEPENDENT, COLLECTIVE = "mpiio, one file, independent, 4 ranks", "mpiio, one file, collective, as it is, 4 ranks"
READS = {
    "POSIX, file per process": "once: read: posix file per process, 4 ranks",
    "MPI-IO, file per process": "once: read: mpiio, file per process, 4 ranks",
    "MPI-IO, one file, independent": "once: read: mpiio, one file, independent, 4 ranks",
    "MPI-IO, one file, collective": "once: read: mpiio, one file, collective, 4 ranks",
    "ours, one file": "extents, restore, 4 ranks",
}
# Title -> bars -> variants. What the paper says of each stands in README.md.
FIGURES = {
    "1, 9: one shared file, written": {
        "POSIX, buffered": POSIX,
        "MPI-IO, independent": INDEPENDENT,
        "MPI-IO, collective": COLLECTIVE,
        "ours": "extents, 4 ranks",
    },
    "1, 7, 9: read": READS,
    "4: hints of ROMIO, collective": {
        name: f"{'' if name == 'as it is' else 'once: '}mpiio, one file, collective, {name}, 4 ranks" for name in HINTS
    },
    "5: number of files, 4 ranks": {
        "1 file": INDEPENDENT,
        "2 files": "once: mpiio, 2 files, 4 ranks",
        "4 files": "once: mpiio, 4 files, 4 ranks",
        "POSIX, buffered": POSIX,
    },
    "5: number of files, 8 ranks": {
        "1 file": "mpiio, one file, independent, 8 ranks",
        **{f"{count} files": f"once: mpiio, {count} files, 8 ranks" for count in (2, 4, 8)},
        "POSIX, buffered": "posix file per process, buffered, 8 ranks",
        "ours": "extents, 8 ranks",
    },
    "6, 8: a file for each process": {
        "POSIX, buffered": POSIX,
        "POSIX, O_DIRECT": DIRECT,
        "MPI-IO": PER_PROCESS,
        "ours, one file": "extents, 4 ranks",
    },
}


def rates(rounds: list[Round], variant: str) -> list[float]:
    return [each[variant]["GB_per_s"] for each in rounds if variant in each]


def write_table(path: Path, rounds: list[Round]) -> None:
    """Writes the values of all rounds, as IOR reports them."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["figure", "way", "max GB/s", "min GB/s", "mean GB/s", "sd GB/s", "median GB/s", "rounds"])
        for title, bars in FIGURES.items():
            for label, variant in bars.items():
                values = rates(rounds, variant)
                if not values:
                    continue
                spread = statistics.stdev(values) if len(values) > 1 else 0.0
                numbers = (max(values), min(values), statistics.mean(values), spread, statistics.median(values))
                writer.writerow([title, label, *(f"{number:.3f}" for number in numbers), len(values)])


def draw_bars(axes: Axes, title: str, bars: dict[str, str], rounds: list[Round]) -> None:
    """The median, with the worst and the best of all rounds."""
    found = [(label, values) for label, variant in bars.items() if (values := rates(rounds, variant))]
    for row, (label, values) in enumerate(reversed(found)):
        middle = statistics.median(values)
        reach = [[middle - min(values)], [max(values) - middle]]
        axes.barh(row, middle, color=OURS if label.startswith("ours") else THEIRS)
        axes.errorbar(middle, row, xerr=reach, color="black", capsize=3, lw=1)
    axes.set_yticks(range(len(found)), [f"{label} ({len(values)})" for label, values in reversed(found)])
    axes.set_xlim(0, None)
    axes.set_xlabel("GB/s: median, worst and best (rounds)")
    axes.set_title(f"The paper's figure {title}", fontsize=10)


def draw(folder: Path, rounds: list[Round]) -> list[str]:
    write_table(folder / "paper.csv", rounds)
    figure, panels = plt.subplots(3, 2, figsize=(13, 10), layout="constrained")
    for axes, (title, bars) in zip(panels.flat, FIGURES.items(), strict=True):
        draw_bars(axes, title, bars, rounds)
    figure.savefig(folder / "paper.png", dpi=110)
    plt.close(figure)
    return ["paper.png"]
