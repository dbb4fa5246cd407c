"""Two pictures side by side: what every variant reached, and every figure against its target."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from harness.figures import Spread
from harness.kept import Kept
from harness.study import AnyPrograms, Study
from matplotlib.axes import Axes

OURS, THEIRS = "#1f6f8b", "#b0b7bd"


def bar(axes: Axes, row: int, spread: Spread, color: str) -> None:
    """The median, with a line over all rounds."""
    axes.barh(row, spread.median, color=color)
    axes.plot([spread.low, spread.high], [row, row], "-", color="black", linewidth=1)


def plot_rates(axes: Axes, kept: Kept, study: Study[AnyPrograms]) -> None:
    found = kept.of_measure(study.measure.key)
    names = list(reversed(found))
    for row, name in enumerate(names):
        is_ours = any(word in name for word in study.ours)
        bar(axes, row, found[name], OURS if is_ours else THEIRS)
    axes.set_yticks(range(len(names)), names)
    axes.margins(y=0.01)
    if study.measure.logarithmic:
        axes.set_xscale("log")
    axes.set_xlabel(study.measure.axis)
    axes.set_title(study.measure.title, fontsize=10)


def plot_targets(axes: Axes, kept: Kept) -> None:
    """Shows how many times better than its target each figure is; right of the line it is met."""
    aimed = [answer for answer in kept.answers if answer.target and answer.limit > 0]
    for row, answer in enumerate(reversed(aimed)):
        spread, limit = answer.spread, answer.limit
        numbers = (spread.median, spread.low, spread.high)
        is_minimum = answer.target.startswith("≥")
        margins = Spread(*(value / limit if is_minimum else limit / value for value in numbers), spread.rounds)
        bar(axes, row, margins, OURS if answer.is_met else "#c8553d")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(aimed)), [f"{a.figure} ({a.target})" for a in reversed(aimed)])
    axes.set_xlabel("times better than the target")


def draw(path: Path, kept: Kept, study: Study[AnyPrograms]) -> None:
    rows = max(len(kept.of_measure(study.measure.key)), len(kept.answers))
    figure, (left, right) = plt.subplots(1, 2, figsize=(17, 1 + 0.26 * rows), layout="constrained")
    plot_rates(left, kept, study)
    plot_targets(right, kept)
    figure.savefig(path, dpi=110)
    plt.close(figure)
