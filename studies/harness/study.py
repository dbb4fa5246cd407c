"""A study: what it measures, and what it makes of that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from harness.figures import Best, Figure
from harness.programs import STUDIES, Measurement, Programs

AnyPrograms = TypeVar("AnyPrograms", bound=Programs)


@dataclass(frozen=True)
class Study(Generic[AnyPrograms]):
    name: str  # of its folder, too
    total_gib: float  # of raw data in a run, unless --total says otherwise
    programs: type[AnyPrograms]
    variants: Mapping[str, Callable[[AnyPrograms], Measurement]]
    figures: Callable[[Best], list[Figure]]
    opponents: tuple[str, ...]  # beginnings of variants of which the best counts

    @property
    def folder(self) -> Path:
        return STUDIES / self.name
