"""Two pictures side by side: what everyone reached, and every figure against its target."""

import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from harness.figures import Answer, Round
from harness.report import rates
from matplotlib.axes import Axes

OUR_NAMES = ("thalweg", "ours", "memory")
OURS, THEIRS = "#1f6f8b", "#b0b7bd"


def plot_rates(axes: Axes, rounds: list[Round]) -> None:
    found = rates(rounds)
    names = list(reversed(found))
    for row, name in enumerate(names):
        values = found[name]
        ours = any(word in name for word in OUR_NAMES)
        axes.barh(row, statistics.median(values), color=OURS if ours else THEIRS)
        axes.plot(values, [row] * len(values), ".", color="black", markersize=4)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("raw data, GB/s (dots: the rounds)")
    axes.set_title("durable unless in memory or read", fontsize=10)


def plot_targets(axes: Axes, answers: list[Answer]) -> None:
    """How many times better than its target each figure is; right of the line it is met."""
    aimed = [answer for answer in answers if answer.figure.target]
    for row, answer in enumerate(reversed(aimed)):
        relation, limit = answer.figure.target.split()[:2]
        margins = [value / float(limit) if relation == "≥" else float(limit) / value for value in answer.values]
        good = answer.figure.met(answer.median)
        axes.barh(row, statistics.median(margins), color=OURS if good else "#c8553d")
        axes.plot(margins, [row] * len(margins), ".", color="black", markersize=4)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(aimed)), [f"{a.figure.name} ({a.figure.target})" for a in reversed(aimed)])
    axes.set_xlabel("times better than the target")


def draw(path: Path, answers: list[Answer], rounds: list[Round]) -> None:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(17, 1 + 0.26 * max(len(rates(rounds)), len(answers))), layout="constrained"
    )
    plot_rates(left, rounds)
    plot_targets(right, answers)
    figure.savefig(path, dpi=110)
    plt.close(figure)
