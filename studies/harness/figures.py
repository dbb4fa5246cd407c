"""Turns measurements into the figures of the table. Ratios are taken within a round: both sides saw the same
machine."""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Round = dict[str, dict[str, Any]]  # variant -> what it measured
Value = Callable[[Round], float]
Best = Callable[[str], str]  # of the variants whose names begin so, the one that is the opponent


@dataclass(frozen=True)
class Measure:
    """The number that compares all variants: a key of their measurements, and its texts."""

    key: str = "GB_per_s"
    unit: str = "GB/s"
    axis: str = "raw data, GB/s (lines: all rounds)"
    title: str = "durable unless in memory or read"
    logarithmic: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    target: str  # "≥ 0.9", "≤ 2 µs"; empty: only reported
    value: Value
    variants: tuple[str, ...]
    paper: str = ""  # the value in the paper that is compared with


@dataclass(frozen=True)
class Spread:
    """The spread of one number over several rounds."""

    median: float
    low: float
    high: float
    rounds: int

    @staticmethod
    def of(values: list[float]) -> "Spread":
        return Spread(statistics.median(values), min(values), max(values), len(values))


@dataclass(frozen=True)
class Answer:
    """A figure with its result."""

    figure: str
    target: str
    paper: str
    spread: Spread

    @property
    def limit(self) -> float:
        return float(self.target.split()[1])

    @property
    def is_met(self) -> bool | None:
        """Returns None if the figure has no target."""
        if not self.target:
            return None
        return self.spread.median >= self.limit if self.target.startswith("≥") else self.spread.median <= self.limit

    @property
    def verdict(self) -> str:
        return "" if self.is_met is None else "met" if self.is_met else "**not met**"


def rate_ratio(name: str, target: str, ours: str, theirs: str) -> Figure:
    return Figure(name, target, lambda each: each[ours]["GB_per_s"] / each[theirs]["GB_per_s"], (ours, theirs))


def cpu_ratio(name: str, target: str, ours: str, theirs: str, cores: int = 1) -> Figure:
    """Returns how many times less CPU a byte costs; `cores`: how many times more cores work on our variant."""

    def value(each: Round) -> float:
        return float(cores * each[theirs]["cpu_s_per_GB"] / each[ours]["cpu_s_per_GB"])

    return Figure(name, target, value, (ours, theirs))


def of_one(name: str, target: str, variant: str, key: str, paper: str = "") -> Figure:
    return Figure(name, target, lambda each: float(each[variant][key]), (variant,), paper)


def best_of(rounds: Iterable[Round], beginning: str) -> str:
    """The best of several variants by its median: the best of each round would also pick the luckiest."""
    rates: dict[str, list[float]] = {}
    for each in rounds:
        for variant, measured in each.items():
            if variant.startswith(beginning):
                rates.setdefault(variant, []).append(measured["GB_per_s"])
    return max(rates, key=lambda name: statistics.median(rates[name]), default=beginning)


def answers(rounds: list[Round], all_figures: Callable[[Best], list[Figure]]) -> list[Answer]:
    found = []
    for figure in all_figures(lambda beginning: best_of(rounds, beginning)):
        whole = [each for each in rounds if all(variant in each for variant in figure.variants)]
        if whole:
            spread = Spread.of([figure.value(each) for each in whole])
            found.append(Answer(figure.name, figure.target, figure.paper, spread))
    return found
