"""Two pictures side by side: what everyone reached, and every figure against its target."""

import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from harness.figures import Answer, Round
from harness.report import rates
from harness.study import AnyPrograms, Study
from matplotlib.axes import Axes

OURS, THEIRS = "#1f6f8b", "#b0b7bd"


def plot_rates(axes: Axes, rounds: list[Round], study: Study[AnyPrograms]) -> None:
    found = rates(rounds, study.measure)
    names = list(reversed(found))
    for row, name in enumerate(names):
        values = found[name]
        ours = any(word in name for word in study.ours)
        axes.barh(row, statistics.median(values), color=OURS if ours else THEIRS)
        axes.plot(values, [row] * len(values), ".", color="black", markersize=4)
    axes.set_yticks(range(len(names)), names)
    axes.margins(y=0.01)
    if study.measure.logarithmic:
        axes.set_xscale("log")
    axes.set_xlabel(study.measure.axis)
    axes.set_title(study.measure.title, fontsize=10)


def plot_targets(axes: Axes, answers: list[Answer]) -> None:
    """How many times better than its target each figure is; right of the line it is met."""
    aimed = [answer for answer in answers if answer.figure.target and answer.figure.limit > 0]
    for row, answer in enumerate(reversed(aimed)):
        limit, at_least = answer.figure.limit, answer.figure.target.startswith("≥")
        margins = [value / limit if at_least else limit / value for value in answer.values]
        good = answer.figure.met(answer.median)
        axes.barh(row, statistics.median(margins), color=OURS if good else "#c8553d")
        axes.plot(margins, [row] * len(margins), ".", color="black", markersize=4)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(aimed)), [f"{a.figure.name} ({a.figure.target})" for a in reversed(aimed)])
    axes.set_xlabel("times better than the target")


def draw(path: Path, answers: list[Answer], rounds: list[Round], study: Study[AnyPrograms]) -> None:
    rows = max(len(rates(rounds, study.measure)), len(answers))
    figure, (left, right) = plt.subplots(1, 2, figsize=(17, 1 + 0.26 * rows), layout="constrained")
    plot_rates(left, rounds, study)
    plot_targets(right, answers)
    figure.savefig(path, dpi=110)
    plt.close(figure)
