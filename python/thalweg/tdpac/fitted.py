"""The result of a fit, and how a function is minimised."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from iminuit import Minuit

_LIMITS = {
    "omega0": (0.0, None), "eta": (0.0, 1.0), "delta": (0.0, 1.0), "larmor": (0.0, None), "fraction": (0.0, 1.0),
    "A22": (-1.0, 1.0), "A44": (-1.0, 1.0), "half_life": (1e-3, None), "resolution": (1.0, None),
}  # fmt: skip
_NEAR_LIMIT = 1e-3
_SAME_COST = 0.1  # a tenth of what an error changes
# First steps, relative to the value, or absolute where it is 0.
_STEPS = {"eta": 0.02, "delta": 0.005, "fraction": 0.02, "time_zero": 5.0, "delay": 5.0, "resolution": 5.0}
_UNITS = {
    "omega0": "rad/ns", "larmor": "rad/ns", "beta": "degrees", "gamma": "degrees", "half_life": "ns",
    "time_zero": "ps", "resolution": "ps", "delay": "ps", "background": "counts/bin",
}  # fmt: skip


def unit_of(parameter: str) -> str:
    """Returns the unit of a parameter; empty if it is a plain number."""
    return _UNITS.get(_kind_of(parameter), "")


def with_error(value: float, error: float) -> str:
    """Returns both with as many digits as two of the error have."""
    if not error > 0 or not np.isfinite(error):
        return f"{value:.6g} +- {error:.2g}"
    digits = 1 - math.floor(math.log10(error))
    return f"{value:,.{max(0, digits)}f} +- {error:,.{max(0, digits)}f}"


@dataclass(frozen=True)
class Fitted:
    """The best values of all parameters. Those that were fixed have the error 0."""

    method: str
    values: dict[str, float]
    errors: dict[str, float]
    chi2: float
    """The sum of squared deviations by their variances, also of a fit that maximises a likelihood."""
    ndf: int
    is_valid: bool
    """Whether the fit has converged. If not, its values mean nothing."""
    free: tuple[str, ...]
    covariance: npt.NDArray[np.float64]
    at_limit: tuple[str, ...] = ()
    """The free parameters whose best value is a limit of what is possible. They have the error 0, and those of the
    others are for this value."""
    cost: float = math.nan
    """What was minimised: fits of the same data are compared by it."""
    by_field: float = math.nan
    """How much less the cost is than without an anisotropy. Of a field that is not there it is about as much as the
    field has free parameters."""

    @property
    def reduced(self) -> float:
        return self.chi2 / max(1, self.ndf)

    def sentences(self) -> list[str]:
        if not self.is_valid:
            return [f"The fit of {self.method} has not converged: try other start values, or fewer free parameters."]
        return [f"{self.method}: {', '.join(map(self._sentence, self.free))}; chi2/n = {self.reduced:.3f}"]

    def _sentence(self, name: str) -> str:
        if name in self.at_limit:
            return f"{name} = {self.values[name]:g} (its limit)"
        value = with_error(self.values[name], self.errors[name])
        unit = unit_of(name)
        return f"{name} = ({value}) {unit}" if unit else f"{name} = {value}"


def minimise(
    cost: Callable[[Mapping[str, float]], float],
    method: str,
    start: Mapping[str, float],
    free: Sequence[str],
    ndf: Callable[[int], int],
    chi2: Callable[[Mapping[str, float]], float] | None = None,
) -> Fitted:
    """Returns the parameters with the least cost: chi2 itself, or -2 ln L; then `chi2` computes it."""
    fixed = dict(start)

    def of_free(array: Sequence[float]) -> float:
        value = cost({**fixed, **dict(zip(free, array, strict=True))})
        return value if np.isfinite(value) else 1e30

    minuit = Minuit(of_free, np.array([_inside(name, start[name]) for name in free]), name=list(free))
    minuit.errordef = Minuit.LEAST_SQUARES
    minuit.strategy = 1
    for name in free:
        kind = _kind_of(name)
        if kind in _LIMITS:
            minuit.limits[name] = _LIMITS[kind]
        minuit.errors[name] = _STEPS.get(kind, max(1e-3, 0.02 * abs(start[name])))
    minuit.migrad(ncall=20_000)
    if not minuit.valid:
        minuit.simplex().migrad(ncall=20_000)
    at_limit = _held_at_limits(minuit) if minuit.valid else ()
    if minuit.valid:
        minuit.hesse()
    values = {**fixed, **{name: float(minuit.values[name]) for name in free}}
    varied = {name: float(minuit.errors[name]) for name in free if name not in at_limit}
    errors = {**dict.fromkeys(fixed, 0.0), **varied}
    covariance = np.array(minuit.covariance) if minuit.covariance is not None else np.zeros((len(free), len(free)))
    is_valid = bool(minuit.valid and minuit.accurate)
    squares = chi2(values) if chi2 else float(minuit.fval)
    least = float(minuit.fval)
    return Fitted(method, values, errors, squares, ndf(len(free)), is_valid, tuple(free), covariance, at_limit, least)


def _held_at_limits(minuit: Minuit) -> tuple[str, ...]:
    """Holds parameters that have reached a limit there, and fits the others again. At a limit the derivative by what
    Minuit varies is 0, and the errors of all parameters come out too small."""
    held = []
    for name in minuit.parameters:
        for limit in minuit.limits[name]:
            if (
                np.isfinite(limit)
                and abs(minuit.values[name] - limit) < _NEAR_LIMIT
                and _costs_no_more(minuit, name, limit)
            ):
                minuit.values[name] = limit
                minuit.fixed[name] = True
                held.append(name)
                break
    if held:
        minuit.migrad(ncall=20_000)
    return tuple(held)


def _costs_no_more(minuit: Minuit, name: str, value: float) -> bool:
    values = np.array(minuit.values)
    values[minuit.parameters.index(name)] = value
    return bool(minuit.fcn(values) - minuit.fval < _SAME_COST)


def _kind_of(name: str) -> str:
    """Returns what a parameter is, whichever site or detector it belongs to."""
    return name if name in ("half_life", "time_zero", "log_area") else name.split("_")[0]


def _inside(name: str, value: float) -> float:
    """Returns a start value that is not at a limit, where the first derivative would be 0."""
    kind = name.split("_")[0]
    if kind == "eta":
        return min(0.95, max(0.05, value))
    if kind == "delta":
        return max(0.005, value)
    return value
