"""Decays that turn, seen with the resolution of the detectors and integrated over bins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, wofz

Numbers = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

FWHM = 2.3548200450309493
_FAR = 9.0  # sigmas from time zero, beyond which the resolution only scales the decay


def folded(times: Numbers, rates: Complex, sigma: float) -> Complex:
    """Returns exp(-rate t) from t = 0 on, folded with a Gauss curve: a row for each rate. It is a Faddeeva function."""
    t, z = times[np.newaxis, :], rates[:, np.newaxis]
    out = np.zeros((len(rates), len(times)), np.complex128)
    late = times > _FAR * sigma + sigma**2 * float(np.abs(rates).max(initial=0.0))
    out[:, late] = np.exp(z * (sigma**2 / 2 * z - t[:, late]))
    near = ~late & (times > -_FAR * sigma)
    if near.any():
        x = t[:, near]
        place = (sigma * z - x / sigma) / np.sqrt(2)
        bell = np.exp(-0.5 * (x / sigma) ** 2) / 2
        before = place.real > 0
        # erfc(a) = exp(-a^2) w(ia), and of the other sign it is 2 minus that: each where it does not overflow.
        small = bell * wofz(1j * np.where(before, place, -place))
        whole = np.exp(np.where(before, 0.0, z * (sigma**2 / 2 * z - x)))
        out[:, near] = np.where(before, small, whole - small)
    return out


def binned(edges: Numbers, rates: Complex, sigma: float) -> Complex:
    """Returns the integrals of `folded` over bins. Its derivative is a Gauss curve minus rate times itself, so the
    integral is (the area of the Gauss curve so far - folded) / rate."""
    area = ndtr(edges / sigma)[np.newaxis, :]
    return np.asarray(np.diff((area - folded(edges, rates, sigma)) / rates[:, np.newaxis], axis=1))


def centres(edges: Numbers) -> Numbers:
    return np.asarray((edges[1:] + edges[:-1]) / 2)
