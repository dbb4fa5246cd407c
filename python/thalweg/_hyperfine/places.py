"""The places of detectors, as unit vectors from the sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError

Directions = npt.NDArray[np.float64]

PLACES: dict[str, tuple[tuple[float, float, float], ...]] = {
    "line": ((1, 0, 0), (-1, 0, 0)),
    "plane": ((1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0)),
    "axes": ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)),
}
_BY_NUMBER = {len(places): places for places in PLACES.values()}


def places_of(given: Any, detectors: int, where: str) -> Directions:
    """Returns one unit vector for each detector. Raises UsageError if the places are not known, or not so many.

    given: a name of PLACES, a list of vectors of any length, or None for the usual places of so many detectors.
    """
    if given is None:
        if detectors not in _BY_NUMBER:
            raise UsageError(
                f"{where}: the places of {detectors} detectors are not known: give places = [[x, y, z], ...]"
            )
        return np.array(_BY_NUMBER[detectors], np.float64)
    if isinstance(given, str):
        if given not in PLACES:
            raise UsageError(f"{where}: there are no places '{given}' (there are {', '.join(PLACES)})")
        given = PLACES[given]
    if not isinstance(given, Sequence) or not all(is_vector(each) for each in given):
        raise UsageError(f"{where}: places are {given!r}: give a list of vectors [x, y, z]")
    if len(given) != detectors:
        raise UsageError(f"{where}: there are places of {len(given)} detectors, and {detectors} detectors")
    return np.array([unit(each) for each in given])


def is_vector(given: Any) -> bool:
    """Returns whether it is a list of three finite numbers that are not all zero."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 3:
        return False
    numbers = all(isinstance(each, int | float) and math.isfinite(each) for each in given)
    return numbers and any(each != 0 for each in given)


def unit(vector: Sequence[float]) -> Directions:
    array = np.array(vector, np.float64)
    return np.asarray(array / np.linalg.norm(array))


def turned(direction: Directions, axis: Directions, angles: npt.NDArray[np.float64]) -> Directions:
    """Returns a direction after turns about an axis: one row for each angle."""
    cosine, sine = np.cos(angles)[:, np.newaxis], np.sin(angles)[:, np.newaxis]
    along = axis * (axis @ direction)
    return np.asarray(along + (direction - along) * cosine + np.cross(axis, direction) * sine)


def attenuation(half_angle_rad: float) -> tuple[float, float]:
    """Returns Q_2 and Q_4 of crystals that cover a cone."""
    c = math.cos(half_angle_rad)
    return c * (1 + c) / 2, c * (1 + c) * (7 * c * c - 3) / 8
