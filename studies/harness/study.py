"""A study: what it measures, and what it makes of that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from harness.figures import Best, Figure, Measure, Round
from harness.programs import STUDIES, Measurement, Programs

COLUMNS = ("seconds", "raw_bytes", "GB_per_s", "cpu_s_per_GB")
TOLD = ("GB_per_s", "cpu_s_per_GB", "committer_us_per_page", "close_us_per_page", "producer_pss_MiB")


AnyPrograms = TypeVar("AnyPrograms", bound=Programs)


@dataclass(frozen=True)
class Study(Generic[AnyPrograms]):
    name: str  # of its folder, too
    total_gib: float  # of raw data in a run, unless --total says otherwise
    programs: type[AnyPrograms]
    variants: Mapping[str, Callable[[AnyPrograms], Measurement]]
    figures: Callable[[Best], list[Figure]]
    opponents: tuple[str, ...]  # beginnings of variants of which the best counts
    measure: Measure = field(default_factory=Measure)
    columns: tuple[str, ...] = COLUMNS  # of the CSV file
    told: tuple[str, ...] = TOLD  # while it runs
    ours: tuple[str, ...] = ("thalweg", "ours", "memory")  # words in the names of variants that are our own
    rounds: int = 7
    seldom: Mapping[str, int] = field(default_factory=dict)  # beginnings of variants -> rounds that measure them
    # These are measured before all others, for so many rounds each, in that order: a machine is quiet only for minutes.
    first: tuple[tuple[tuple[str, ...], int], ...] = ()
    pictures: Callable[[Path, list[Round]], list[str]] = lambda *_: []  # draws more of them; returns their names

    @property
    def folder(self) -> Path:
        return STUDIES / self.name
