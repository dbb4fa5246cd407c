"""Which pairs of detectors see the same W(theta, t): that follows from their places and from the symmetry of the field.

In a powder all pairs of one angle are alike. In a magnetic field along an axis the pattern turns about it, so two pairs
are alike only if the angle between the turned first gamma and the second one is the same at all times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._hyperfine.places import Directions, turned
from thalweg._hyperfine.sites import Site

_TURNS = np.array([0.0, 0.37, 0.91, 1.43, 2.2, 2.9])  # any angles that no symmetry relates
_SAME = 6  # digits of a cosine


@dataclass(frozen=True)
class PairClass:
    """Pairs of detectors with the same W: (start, stop), each by number."""

    angle_deg: float
    """The angle between their detectors, 0 to 180 degrees."""
    pairs: tuple[tuple[int, int], ...]
    is_across: bool
    """Whether both detectors are at right angles to the field. Without a field along an axis, all pairs are."""
    directions: tuple[tuple[float, ...], tuple[float, ...]]
    """Those of one of its pairs."""

    @property
    def indices(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        starts, stops = np.array(self.pairs, np.int64).T
        return starts, stops

    def __str__(self) -> str:
        return f"{self.angle_deg:.4g} degrees: {len(self.pairs)} pairs"


def axis_of(sites: tuple[Site, ...]) -> Directions | None:
    """Returns the axis of the first field along an axis, or None."""
    for site in sites:
        if site.axis is not None:
            return np.array(site.axis)
    return None


def cosines(first: Directions, second: Directions, axis: Directions, angles: npt.NDArray[np.float64]) -> Directions:
    """Returns the cosines of the angles between the second gamma and the first one, after turns about the axis."""
    return np.asarray(turned(first, axis, angles) @ second)


def pair_classes(places: Directions, sites: tuple[Site, ...]) -> tuple[PairClass, ...]:
    """Returns the classes of all pairs of different detectors, those of 180 degrees first."""
    axis = axis_of(sites)
    found: dict[tuple[float, ...], list[tuple[int, int]]] = {}
    for start, first in enumerate(places):
        for stop, second in enumerate(places):
            if start == stop:
                continue
            cosine = float(first @ second)
            seen = np.array([cosine]) if axis is None else cosines(first, second, axis, _TURNS)
            # P_2 and P_4 are even; the sign is kept only to name the angle.
            key = (round(cosine, _SAME) + 0.0, *(round(abs(each), _SAME) for each in seen.tolist()))
            found.setdefault(key, []).append((start, stop))
    classes = []
    for key in sorted(found):
        pairs = found[key]
        first, second = places[pairs[0][0]], places[pairs[0][1]]
        across = axis is None or (abs(first @ axis) < 1e-6 and abs(second @ axis) < 1e-6)
        angle = float(np.degrees(np.arccos(np.clip(key[0], -1, 1))))
        ends = tuple(first.tolist()), tuple(second.tolist())
        classes.append(PairClass(angle, tuple(pairs), bool(across), (ends[0], ends[1])))
    return tuple(classes)


def ratio_classes(classes: tuple[PairClass, ...]) -> tuple[PairClass, PairClass] | None:
    """Returns the classes of 180 and of 90 degrees of which R(t) is made, or None if one is missing."""
    across = [each for each in classes if each.is_across]
    straight = [each for each in across if abs(each.angle_deg - 180) < 1e-3]
    right = [each for each in across if abs(each.angle_deg - 90) < 1e-3]
    return (straight[0], right[0]) if len(straight) == 1 and len(right) == 1 else None
