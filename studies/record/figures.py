"""From measurements to the figures of the table. Ratios are taken within a round: both sides saw the same machine."""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Round = dict[str, dict[str, Any]]  # variant -> what it measured
Value = Callable[[Round], float]


@dataclass(frozen=True)
class Figure:
    name: str
    target: str  # ">= 0.9", "<= 2 µs"; empty: only told
    value: Value
    variants: tuple[str, ...]

    def met(self, median: float) -> bool | None:
        if not self.target:
            return None
        relation, limit = self.target.split()[:2]
        return median >= float(limit) if relation == "≥" else median <= float(limit)


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


def of_one(name: str, target: str, variant: str, key: str) -> Figure:
    return Figure(name, target, lambda each: float(each[variant][key]), (variant,))


def best_fio(rounds: Iterable[Round]) -> str:
    """The best of fio's variants by its median is the opponent: the best of each round would also pick the luckiest."""
    rates: dict[str, list[float]] = {}
    for each in rounds:
        for variant, measured in each.items():
            if variant.startswith("fio:"):
                rates.setdefault(variant, []).append(measured["GB_per_s"])
    return max(rates, key=lambda name: statistics.median(rates[name]), default="fio: two jobs, 984 KiB")


def cpu_without_source(each: Round, variant: str) -> float:
    return float(each[variant]["cpu_s_per_GB"] - each["source alone"]["cpu_s_per_GB"])


def cpu_scaling(each: Round) -> float:
    one, two = each["memory: one producer"], each["memory: two producers"]
    return float(2 * one["cpu_s_per_GB"] / two["cpu_s_per_GB"])


def all_figures(fio: str) -> list[Figure]:
    none, default, threads = "thalweg: none, processes", "thalweg: default, processes", "thalweg: default, threads"
    one, two = "memory: one producer", "memory: two producers"
    one_step, alone = "parallel HDF5: one step", "source alone"
    return [
        rate_ratio("codec none / fio", "≥ 0.9", none, fio),
        rate_ratio("codec none, threads / fio", "≥ 0.9", "thalweg: none, threads", fio),
        rate_ratio("default codec / fio", "≥ 1.0", default, fio),
        rate_ratio("default codec, threads / fio", "≥ 1.0", threads, fio),
        rate_ratio("default codec / our codec alone, in memory", "≥ 0.8", default, "codec: ours"),
        rate_ratio("default codec / stock bitshuffle + lz4 alone", "≥ 0.8", default, "codec: stock"),
        rate_ratio("default codec / stock, compiled for this machine", "≥ 0.8", default, "codec: stock, native"),
        rate_ratio("default codec / parallel HDF5", "≥ 2.5", default, "parallel HDF5: many steps"),
        rate_ratio("codec none / parallel HDF5", "≥ 1.5", none, "parallel HDF5: many steps"),
        rate_ratio("default codec / parallel HDF5, 0.4 GB", "≥ 2.5", "thalweg: default, one step", one_step),
        rate_ratio("codec none / parallel HDF5, 0.4 GB", "≥ 1.5", "thalweg: none, one step", one_step),
        rate_ratio("default codec / h5py with bitshuffle + lz4", "≥ 2.5", default, "h5py: bitshuffle + lz4"),
        rate_ratio("default codec / h5py, compiled for this machine", "", default, "h5py: bitshuffle + lz4, native"),
        rate_ratio("default codec / h5py with shuffle + gzip-1", "≥ 15", default, "h5py: shuffle + gzip-1"),
        rate_ratio("two producers / one, in memory", "≥ 1.85", two, one),
        Figure("two producers / one, by CPU time", "≥ 1.85", cpu_scaling, (one, two)),
        of_one("committer's CPU for a page", "≤ 2 µs", "many pages", "committer_us_per_page"),
        of_one("close's CPU for a page", "≤ 2 µs", "many pages", "close_us_per_page"),
        of_one("PSS of a producer, one waveform column", "≤ 128 MiB", "producer: waveform", "producer_pss_MiB"),
        of_one("PSS of a producer, 1000 columns", "≤ 128 MiB", "producer: 1000 columns", "producer_pss_MiB"),
        Figure("CPU for a raw GB, codec none", "≤ 0.35 s", lambda each: cpu_without_source(each, none), (none, alone)),
        rate_ratio("reading, two threads / h5py", "≥ 4", "read: ours", "read: h5py"),
        rate_ratio("reading, two threads / h5py, compiled for this machine", "", "read: ours", "read: h5py, native"),
    ]


def answers(rounds: list[Round]) -> list[Answer]:
    found = []
    for figure in all_figures(best_fio(rounds)):
        whole = [each for each in rounds if all(variant in each for variant in figure.variants)]
        if whole:
            found.append(Answer(figure, [figure.value(each) for each in whole]))
    return found
