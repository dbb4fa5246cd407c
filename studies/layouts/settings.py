"""What is measured, and on how much data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from thalweg import layouts
from thalweg._base.errors import UsageError

DATA = ("uniform", "waveforms")
MODES = ("threads", "processes")
# These choose what is measured; all others change what a measurement means.
SELECTING = ("data", "layouts", "modes", "producers", "rounds")


@dataclass(frozen=True)
class Settings:
    events: int = 4000
    hits: int = 100
    """For each event."""
    wires: int = 100
    """For each event."""
    rois: int = 10
    """Regions of interest for each wire."""
    samples: int = 10
    """For each region of interest."""
    lengths: str = "fixed"
    """All these counts as they are ("fixed"), or as the means of Poisson distributions ("poisson")."""
    spill_events: int = 10
    batch_events: int = 100
    """So many go into one append, whatever the layout."""
    seed: int = 1
    format: str = "root"
    codec: str = ""
    """Empty: the container's own."""
    read_threads: int = 0
    """0: all usable cores."""
    data: tuple[str, ...] = DATA
    layouts: tuple[str, ...] = tuple(layout.name for layout in layouts.ALL)
    modes: tuple[str, ...] = MODES
    producers: tuple[int, ...] = (1, 2)
    rounds: int = 5

    def __post_init__(self) -> None:
        _check("--data", self.data, DATA)
        _check("--mode", self.modes, MODES)
        _check("--format", (self.format,), ("h5", "root"))
        _check("--lengths", (self.lengths,), ("fixed", "poisson"))
        for name in ("events", "hits", "wires", "rois", "samples", "spill_events", "batch_events", "rounds"):
            _check_positive(name, getattr(self, name))
        for count in self.producers:
            _check_positive("producers", count)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Settings:
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in json.loads(text).items()
        }
        return Settings(**given)

    def check_goes_with(self, text: str, place: str) -> None:
        """Raises UsageError where measurements made with the settings `text` are not comparable with ours."""
        theirs: dict[str, Any] = json.loads(text)
        for name in (field.name for field in fields(self) if field.name not in SELECTING):
            mine = getattr(self, name)
            if theirs.get(name) != mine:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{place} has measurements made with {option} {theirs.get(name)} (now it is {mine}): "
                    "choose another --out, or --fresh to measure all anew"
                )


@dataclass(frozen=True, order=True)
class Case:
    """One file to be written (and, of some cases, to be read)."""

    data: str
    layout: str
    mode: str
    producers: int


def cases(settings: Settings) -> list[Case]:
    return [
        Case(data, layout, mode, producers)
        for data in settings.data
        for layout in settings.layouts
        for mode in settings.modes
        for producers in settings.producers
    ]


def is_read(case: Case, settings: Settings) -> bool:
    """How many producers wrote a file matters little to its readers, so one file of each layout is read."""
    return case.producers == max(settings.producers) and case.mode == settings.modes[-1]


def _check(option: str, given: tuple[str, ...], known: tuple[str, ...]) -> None:
    for each in given:
        if each not in known:
            raise UsageError(f"{option} {each} is not known; there are {', '.join(known)}")
    if not given:
        raise UsageError(f"{option} is empty; there are {', '.join(known)}")


def _check_positive(name: str, count: int) -> None:
    if count < 1:
        raise UsageError(f"--{name.replace('_', '-')} {count} measures nothing; give at least 1")
