"""Objects of a file that are not read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg import _core
from thalweg._base.report import Report


@dataclass(frozen=True)
class LeftOut(Report):
    """An object of a file that is not read. `print` shows it as a sentence."""

    path: str
    """The path of a dataset or group in HDF5, or table and field in RNTuple."""
    why: str
    """The reason."""

    def __str__(self) -> str:
        return f"{self.path} is left out ({self.why})"


def problems_of(left_out: Iterable[_core.LeftOut]) -> tuple[LeftOut, ...]:
    """Returns the objects that the core has left out."""
    return tuple(map(LeftOut.of, left_out))
