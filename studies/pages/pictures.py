"""Size and memory over the budget, beside ROOT's."""

import statistics
from pathlib import Path

import matplotlib.pyplot as plt
from harness.figures import Round
from pages.figures import ROOT
from pages.variants import BUDGETS_MIB

OURS, THEIRS = "#1f6f8b", "#b0b7bd"
MIB = 1 << 20


def median(rounds: list[Round], variant: str, key: str) -> float:
    return statistics.median(each[variant][key] for each in rounds if variant in each)


def draw_curve(folder: Path, rounds: list[Round]) -> list[str]:
    names = [f"thalweg: zstd-1, {budget} MiB" for budget in BUDGETS_MIB]
    if not all(name in each for each in rounds for name in (ROOT, *names)):
        return []
    figure, (size, memory) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    root_bytes = median(rounds, ROOT, "file_bytes")
    ratios = [median(rounds, name, "file_bytes") / root_bytes for name in names]
    size.plot(BUDGETS_MIB, ratios, "o-", color=OURS, label="Thalweg")
    size.axhline(1, color=THEIRS, label="ROOT")
    size.axhline(1.05, color=THEIRS, linestyle="--", label="target")
    size.set_ylabel("size of the file / ROOT's")
    memory.plot(BUDGETS_MIB, [median(rounds, name, "memory_bytes") / MIB for name in names], "o-", color=OURS)
    memory.axhline(median(rounds, ROOT, "memory_bytes") / MIB, color=THEIRS)
    memory.set_ylabel("memory above the bare process, MiB")
    for axes in (size, memory):
        axes.set_xlabel("memory_bytes, MiB")
        axes.set_ylim(bottom=0 if axes is memory else None)
    size.legend()
    figure.savefig(folder / "curve.png", dpi=110)
    plt.close(figure)
    return ["curve.png"]
