"""The expected spectra of all classes of pairs: W(theta, t) with any sites, the resolution and the bins in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from thalweg._hyperfine.places import attenuation
from thalweg._hyperfine.sites import NUMBERS, Site
from thalweg.tdpac.classes import PairClass, cosines
from thalweg.tdpac.config import TdpacConfig, name_of
from thalweg.tdpac.response import FWHM, Complex, Numbers, binned, centres

_TURNS = 2 * np.pi * np.arange(16) / 16  # P_4 of a turning angle has no frequency above the fourth
_HIGHEST = 4


class FieldModel:
    """Makes spectra from values of parameters: A22, A44, those of the sites, and half_life (ns), resolution (ps)."""

    def __init__(self, config: TdpacConfig, classes: tuple[PairClass, ...]) -> None:
        self._sites = config.sites
        self._q2, self._q4 = (each**2 for each in attenuation(math.radians(config.half_angle_deg)))
        self._classes = classes
        cosine = np.array([np.cos(np.radians(each.angle_deg)) for each in classes])
        self._p2, self._p4 = legendre(cosine)
        self._turning = [self._fourier(site) if site.axis is not None else None for site in config.sites]
        self.start = {
            "A22": config.a22,
            "A44": config.a44,
            "half_life": config.half_life_ns,
            "resolution": 300.0 if config.resolution_ps is None else config.resolution_ps,
        }
        for number, site in enumerate(config.sites):
            self.start |= {name_of(name, number): getattr(site, name) for name in NUMBERS}

    def _fourier(self, site: Site) -> tuple[Complex, Complex]:
        """Returns the weights of exp(-i m larmor t) in P_2 and P_4, for m = 0 to 4: a row for each class."""
        axis = np.array(site.axis)
        rows: list[list[Any]] = [[], []]
        for each in self._classes:
            first, second = (np.array(direction) for direction in each.directions)
            for row, values in zip(rows, legendre(cosines(first, second, axis, _TURNS)), strict=True):
                # The real part of sum_m c_m exp(-i m x), with what a sum over both signs of m has twice.
                weights = np.conj(np.fft.fft(values)[: _HIGHEST + 1]) / len(_TURNS)
                weights[1:] *= 2
                row.append(weights)
        return np.array(rows[0]), np.array(rows[1])

    def site_of(self, values: Mapping[str, float], number: int) -> Site:
        given: dict[str, Any] = {name: values[name_of(name, number)] for name in NUMBERS}
        site = replace(self._sites[number], **given)
        if number == len(self._sites) - 1 and number > 0:
            others = sum(values[name_of("fraction", other)] for other in range(number))
            site = replace(site, fraction=1 - others)
        return site

    def shapes(self, values: Mapping[str, float], edges: Numbers) -> Numbers:
        """Returns the share of the true coincidences of a pair in each bin: a row for each class. Without a field, a
        row that reaches far enough has the sum 1 + A22 P_2 + A44 P_4.

        edges: of the bins, in ns since time zero.
        """
        decay = math.log(2) / values["half_life"]
        sigma = max(1e-4, values["resolution"] * 1e-3 / FWHM)
        plain = binned(edges, np.array([decay], np.complex128), sigma).real
        total = np.repeat(plain, len(self._classes), axis=0)
        a2, a4 = values["A22"] * self._q2, values["A44"] * self._q4
        for number in range(len(self._sites)):
            site = self.site_of(values, number)
            turning = self._turning[number]
            omegas: Numbers
            weights: Any
            if turning is not None:
                omegas = site.larmor * np.arange(_HIGHEST + 1.0)
                weights = a2 * turning[0] + a4 * turning[1]
            else:
                omegas, weights2, weights4 = site.lines()
                weights = a2 * np.outer(self._p2, weights2) + a4 * np.outer(self._p4, weights4)
            total += site.fraction * (weights @ self._lines(site, omegas, decay, sigma, edges)).real
        return np.asarray(decay * total)

    def _lines(self, site: Site, omegas: Numbers, decay: float, sigma: float, edges: Numbers) -> Complex:
        if site.shape == "lorentz":
            return binned(edges, np.asarray(decay + (site.delta + 1j) * omegas, np.complex128), sigma)
        # A Gauss distribution changes slowly compared with a bin and with the resolution.
        damping = np.exp(-0.5 * (site.delta * np.outer(omegas, np.clip(centres(edges), 0, None))) ** 2)
        return np.asarray(binned(edges, np.asarray(decay + 1j * omegas, np.complex128), sigma) * damping)


def legendre(cosine: Numbers) -> tuple[Numbers, Numbers]:
    """Returns P_2 and P_4."""
    square = cosine**2
    return 1.5 * square - 0.5, (35 * square**2 - 30 * square + 3) / 8
