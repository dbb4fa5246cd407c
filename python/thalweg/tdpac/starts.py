"""Starts of fits of a field. Frequencies have many minima, and a wrong start ends in a wrong one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from thalweg._hyperfine.sites import FREQUENCIES
from thalweg.tdpac.fitted import Fitted

_FACTORS = np.geomspace(0.25, 4.0, 71)  # steps of 4 %, of which a minimum has some
_SAME = 0.08  # frequencies that differ by less lead to the same minimum
_MOST = 3

Values = Mapping[str, float]


def best_fit(cost: Callable[[Values], float], fit: Callable[[Values], Fitted], start: Values) -> Fitted:
    """Fits from the given start, and from other frequencies where the cost has a minimum; returns the best fit.

    cost: of all parameters, as the fit minimises it.
    fit: begins at the given values.
    """
    found = [fit(start)]
    for name in found[0].free:
        if name.split("_")[0] in FREQUENCIES:
            found += [fit({**start, name: value}) for value in _other_minima(cost, start, name, found[0])]
    best = min(found, key=lambda each: each.cost if each.is_valid else np.inf)
    return replace(best, by_field=cost({**best.values, "A22": 0.0, "A44": 0.0}) - best.cost)


def differ(one: Fitted, other: Fitted) -> bool:
    """Returns whether two fits have found different frequencies."""
    names = [name for name in one.free if name.split("_")[0] in FREQUENCIES]
    return any(abs(one.values[name] - other.values[name]) > _SAME * one.values[name] for name in names)


def _other_minima(cost: Callable[[Values], float], start: Values, name: str, first: Fitted) -> list[float]:
    """Returns the deepest minima of the cost along a frequency that the first fit has not found."""
    values = start[name] * _FACTORS
    costs = np.array([cost({**start, name: value}) for value in values])
    costs = np.where(np.isfinite(costs), costs, np.inf)
    inside = np.flatnonzero((costs[1:-1] < costs[:-2]) & (costs[1:-1] <= costs[2:])) + 1
    without = cost({**start, "A22": 0.0, "A44": 0.0})
    known = first.values[name] if first.is_valid else 0.0
    other = [at for at in inside if costs[at] < without and abs(values[at] - known) > _SAME * known]
    return [float(values[at]) for at in sorted(other, key=lambda at: costs[at])[:_MOST]]
