"""Figures of the table, and figure 5 as the paper draws it: with its error bars, and beside them those of medians."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from aggregators.programs import Cell, cores
from aggregators.variants import COLLECTIVE, LISTS, PAPER, RANKS, SIZES, SYNCED, name_of, size
from harness.figures import Best, Figure, Round

RESAMPLED = 2000


def values(rounds: list[Round], cell: Cell, key: str) -> np.ndarray:  # type: ignore[type-arg]
    name = name_of(cell)
    return np.array([each[name][key] for each in rounds if name in each])


def speed_up(all_: np.ndarray, split: np.ndarray) -> tuple[float, float, tuple[float, float]]:  # type: ignore[type-arg]
    """The ratio of medians; the paper's error of it, of means; and the middle 95 % of resampled ratios of medians."""
    ratio = float(np.median(all_) / np.median(split))
    errors = [
        each.std(ddof=1) / np.sqrt(len(each)) / np.median(each) if len(each) > 1 else 0.0 for each in (all_, split)
    ]
    random = np.random.default_rng(1)
    medians = [np.median(random.choice(each, (RESAMPLED, len(each))), axis=1) for each in (all_, split)]
    low, high = np.percentile(medians[0] / medians[1], (2.5, 97.5))
    return ratio, ratio * float(np.hypot(*errors)), (float(low), float(high))


def pairs(cells: list[Cell]) -> dict[tuple[int, int, str], tuple[Cell, Cell]]:
    """Returns both variants by ranks, k and cb_config_list."""
    found: dict[tuple[int, int, str], dict[str, Cell]] = {}
    for cell in cells:
        key = cell.ranks, cell.k, dict(cell.hints)["cb_config_list"]
        found.setdefault(key, {})[cell.variant] = cell
    return {key: (both["all"], both["split"]) for key, both in found.items()}


def ratio(name: str, cells: tuple[Cell, Cell], key: str = "seconds") -> Figure:
    first, second = map(name_of, cells)
    return Figure(name, "", lambda each: each[first][key] / each[second][key], (first, second))


def all_figures(_: Best) -> list[Figure]:
    found = []
    for cells, what in ((PAPER, "independent"), (SYNCED, "independent, fsync"), (COLLECTIVE, "collective")):
        for (ranks, k, listed), both in pairs(cells).items():
            flag = "; ranks share cores" if both[0].is_flagged else ""
            found.append(ratio(f"all / split, {what}, {ranks} ranks, k {size(k)}, {listed}{flag}", both))
    return found


def draw(folder: Path, rounds: list[Round]) -> list[str]:
    drawn = []
    for name, cells, title in (
        ("figure5", PAPER, "independent, as in the paper"),
        ("figure5-collective", COLLECTIVE, "collective, romio_cb_write=enable"),
        ("figure5-fsync", SYNCED, "independent, with fsync"),
    ):
        if any(len(values(rounds, cell, "seconds")) for cell in cells):
            _draw_speed_up(folder / f"{name}.png", rounds, cells, title)
            drawn.append(f"{name}.png")
    return drawn


def _draw_speed_up(path: Path, rounds: list[Round], cells: list[Cell], title: str) -> None:
    there = {cell.ranks for cell in cells if len(values(rounds, cell, "seconds"))}
    of_ranks = [ranks for ranks in RANKS if ranks in there]
    figure, rows = plt.subplots(
        2, len(of_ranks), figsize=(5.5 * len(of_ranks) + 1, 8), layout="constrained", squeeze=False, sharey="row"
    )
    for row, (key, what) in enumerate((("seconds", "first file of a process"), ("seconds_again", "files after it"))):
        for axes, ranks in zip(rows[row], of_ranks, strict=True):
            for number, listed in enumerate(LISTS):
                points = []
                for k in SIZES:
                    both = pairs(cells).get((ranks, k, listed))
                    found = [values(rounds, cell, key) for cell in both] if both else []
                    if found and all(len(each) for each in found):
                        points.append((k, *speed_up(*found)))
                if not points:
                    continue
                at = np.array([point[0] for point in points]) * 1.12 ** (number - 1)
                ratios = np.array([point[1] for point in points])
                low, high = np.array([point[3] for point in points]).T
                line = axes.errorbar(
                    at,
                    ratios,
                    [point[2] for point in points],
                    fmt="o-",
                    capsize=4,
                    label=f"{listed} (bars: paper's SEM)",
                    fillstyle="none" if ranks > cores() else "full",
                )
                axes.vlines(at, low, high, color=line[0].get_color(), alpha=0.3, linewidth=5)
            axes.axhline(1, color="grey", linewidth=0.8)
            axes.set_xscale("log")
            axes.set_xlim(SIZES[0] / 2, SIZES[-1] * 2)
            axes.set_yscale("log")
            shared = ", ranks share cores" if ranks > cores() else ""
            axes.set_title(f"{ranks} ranks, {what}{shared}", fontsize=10)
            axes.set_xlabel("elements of a writer, k")
    rows[0][0].set_ylabel("speed-up, all / split")
    rows[1][0].set_ylabel("speed-up, all / split")
    rows[0][0].legend(fontsize=8)
    what = "wide bars: 95 % of resampled ratios of medians; open marks: ranks share cores"
    figure.suptitle(f"{title}\n{what}", fontsize=9)
    figure.savefig(path, dpi=100)
    plt.close(figure)
