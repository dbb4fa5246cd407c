"""The sites of nuclei: the field of each, from tables of TOML, and its lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from thalweg._base.errors import UsageError
from thalweg._base.suggestion import suggestion
from thalweg._hyperfine.isotopes import SPIN
from thalweg._hyperfine.places import is_vector, unit
from thalweg._hyperfine.spins import Numbers, lines

SHAPES = ("lorentz", "gauss")
_SUM = 1e-6


@dataclass(frozen=True)
class Site:
    """The field of a share of the nuclei. Frequencies are in rad/ns (Grad/s), angles in degrees."""

    fraction: float = 1.0
    omega0: float = 0.0
    """The frequency of the quadrupole interaction, 6 omega_Q. 0: there is none."""
    eta: float = 0.0
    delta: float = 0.0
    """The relative width of the frequencies: half width of a Lorentz, or sigma of a Gauss distribution."""
    shape: str = "lorentz"
    larmor: float = 0.0
    """The Larmor frequency in a magnetic field. 0: there is none."""
    beta: float = 0.0
    gamma: float = 0.0
    """The angles between the magnetic field and the axes of the field gradient."""
    axis: tuple[float, float, float] | None = None
    """The direction of the magnetic field for all nuclei, with `larmor`; None: it differs from crystal to crystal."""

    def lines(self) -> tuple[Numbers, Numbers, Numbers]:
        """Returns frequencies and weights of G_22 and G_44. A field along an axis has none: its pattern turns."""
        if self.axis is not None:
            return np.zeros(1), np.ones(1), np.ones(1)
        angles = math.radians(self.beta), math.radians(self.gamma)
        return lines(SPIN, self.omega0, self.eta, self.larmor, *angles)


NUMBERS = ("fraction", "omega0", "eta", "delta", "larmor", "beta", "gamma")
FREQUENCIES = ("omega0", "larmor")


def sites_of(tables: Any, where: str) -> tuple[Site, ...]:
    """Returns the sites of tables [[site]]; none: nuclei without a field. Raises UsageError if a value is wrong."""
    if tables is None:
        return (Site(),)
    if not isinstance(tables, Sequence) or not all(isinstance(each, Mapping) for each in tables) or not tables:
        raise UsageError(f"{where}: 'site' is not a list of tables: write [[site]]")
    sites = [_site(table, f"{where}: site {number}") for number, table in enumerate(tables, 1)]
    total = sum(site.fraction for site in sites)
    if abs(total - 1) > _SUM:
        raise UsageError(f"{where}: the fractions of all sites are {total:g} together: they must be 1")
    return tuple(replace(site, fraction=site.fraction / total) for site in sites)


def _site(table: Mapping[str, Any], where: str) -> Site:
    known = [field.name for field in fields(Site)]
    for name in table:
        if name not in known:
            raise UsageError(f"{where} has no '{name}'{suggestion(name, known)}")
    for name in NUMBERS:
        number_of(table.get(name, 0.0), f"{where}: {name}", least=-math.inf if name in ("beta", "gamma") else 0.0)
    if table.get("shape", "lorentz") not in SHAPES:
        raise UsageError(f"{where}: the shape is {table['shape']!r} (there are {', '.join(SHAPES)})")
    axis = table.get("axis")
    if axis is not None and not is_vector(axis):
        raise UsageError(f"{where}: the axis is {axis!r}: give a vector [x, y, z]")
    site = Site(**{**table, "axis": None if axis is None else tuple(unit(axis).tolist())})
    if site.eta > 1 or site.fraction > 1:
        raise UsageError(f"{where}: eta is {site.eta:g} and the fraction {site.fraction:g}: both are between 0 and 1")
    if site.axis is not None and (site.omega0 or not site.larmor or site.delta):
        raise UsageError(f"{where} has an axis: give it larmor, and neither omega0 nor delta (they are of powders)")
    return site


def number_of(value: Any, what: str, least: float = 0.0, most: float = math.inf) -> float:
    """Returns a number. Raises UsageError if it is none, or not between `least` and `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        limits = f"from {least:g} to {most:g}" if most < math.inf else f"from {least:g} on"
        raise UsageError(f"{what} is {value!r}: give a number{'' if least == -math.inf else ' ' + limits}")
    return float(value)
