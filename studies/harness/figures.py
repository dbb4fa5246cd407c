"""From measurements to the figures of the table. Ratios are taken within a round: both sides saw the same machine."""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Round = dict[str, dict[str, Any]]  # variant -> what it measured
Value = Callable[[Round], float]
Best = Callable[[str], str]  # of the variants whose names begin so, the one that is the opponent


@dataclass(frozen=True)
class Measure:
    """What all variants are compared by: a key of their measurements, and how people read it."""

    key: str = "GB_per_s"
    unit: str = "GB/s"
    axis: str = "raw data, GB/s (dots: the rounds)"
    title: str = "durable unless in memory or read"
    logarithmic: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    target: str  # ">= 0.9", "<= 2 µs"; empty: only told
    value: Value
    variants: tuple[str, ...]
    paper: str = ""  # what the paper that is compared with says

    def met(self, median: float) -> bool | None:
        if not self.target:
            return None
        return median >= self.limit if self.target.startswith("≥") else median <= self.limit

    @property
    def limit(self) -> float:
        return float(self.target.split()[1])


@dataclass(frozen=True)
class Answer:
    figure: Figure
    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        met = self.figure.met(self.median)
        return "" if met is None else "met" if met else "**not met**"


def rate_ratio(name: str, target: str, ours: str, theirs: str) -> Figure:
    return Figure(name, target, lambda each: each[ours]["GB_per_s"] / each[theirs]["GB_per_s"], (ours, theirs))


def cpu_ratio(name: str, target: str, ours: str, theirs: str, cores: int = 1) -> Figure:
    """How many times less CPU a byte costs; `cores`: how many more of them work on ours."""

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
            found.append(Answer(figure, [figure.value(each) for each in whole]))
    return found
