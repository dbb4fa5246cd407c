"""What is in a file and is not read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg import _core


@dataclass(frozen=True)
class LeftOut:
    """An object of a file that is not read. `print` shows it as a sentence."""

    path: str
    """Of a dataset or group in HDF5; table and field in RNTuple."""
    why: str

    def __str__(self) -> str:
        return f"{self.path} is left out ({self.why})"


def problems_of(left_out: Iterable[_core.LeftOut]) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(each.path, each.why) for each in left_out)
