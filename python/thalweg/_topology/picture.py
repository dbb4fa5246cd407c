"""Draws the matrix as a heat map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from thalweg._base.errors import SystemError  # noqa: A004
from thalweg._topology.matrix import Matrix

_MOST_NUMBERS = 16
"""The number of cores up to which each cell shows its value."""


def draw_latencies(matrix: Matrix, path: str) -> None:
    """Draws a PNG with cores on both axes and the latency in ns as colour; the diagonal stays white.

    Raises SystemError if the file cannot be written."""
    count = len(matrix.cores)
    values = np.where(np.eye(count, dtype=bool), np.nan, matrix.median)
    size = min(12.0, max(4.5, 0.18 * count + 2))
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="viridis", interpolation="nearest")
    step = max(1, count // 16)
    ticks = list(range(0, count, step))
    axes.set_xticks(ticks, [str(matrix.cores[i]) for i in ticks])
    axes.set_yticks(ticks, [str(matrix.cores[i]) for i in ticks])
    axes.set_xlabel("core")
    axes.set_ylabel("core")
    axes.set_title("one-way latency from core to core (median, ns)")
    figure.colorbar(image, ax=axes, shrink=0.85)
    if count <= _MOST_NUMBERS:
        middle = np.nanmean(values)
        for a in range(count):
            for b in range(count):
                if a != b:
                    colour = "black" if values[a, b] > middle else "white"
                    axes.text(b, a, f"{values[a, b]:.0f}", ha="center", va="center", color=colour, fontsize=8)
    try:
        figure.savefig(Path(path), dpi=110)
    except OSError as error:
        raise SystemError(error.errno or 0, f"{path} cannot be written ({error.strerror})") from None
