"""The figures of the table, what they should be, and how sure each is."""

import random
import statistics
from pathlib import Path

from checkpoint.variants import HINTS, RANKS
from harness.figures import Best, Figure, Round, rate_ratio

RESAMPLES = 2000
PARALLEL = ("mpiio: one file, independent", *(f"mpiio: one file, collective, {name}" for name in HINTS))


def against_best(ranks: int) -> Figure:
    """In each round against the one of them that was the fastest in it, which is hard on ours."""
    end = f"{ranks} ranks"
    others = [f"{name}, {end}" for name in (*PARALLEL, "hdf5: independent", "hdf5: collective")]
    ours = f"extents, {end}"

    def value(each: Round) -> float:
        return float(each[ours]["GB_per_s"] / max(each[name]["GB_per_s"] for name in others if name in each))

    needed = (ours, *(f"{name}, {end}" for name in PARALLEL))
    return Figure(f"one file / the best of MPI-IO and parallel HDF5, {end}", "≥ 1.5", value, needed)


def time_ratio(name: str, target: str, ours: str, theirs: str) -> Figure:
    return Figure(name, target, lambda each: each[ours]["seconds"] / each[theirs]["seconds"], (ours, theirs))


def of_ranks(ranks: int) -> list[Figure]:
    end = f"{ranks} ranks"
    ours, asynchronous = f"extents, {end}", f"extents: save_async, {end}"
    direct, buffered = (f"posix file per process: {how}, {end}" for how in ("direct", "buffered"))
    own, verified = f"extents: restore, {end}", f"extents: restore and verify, {end}"
    theirs = f"restore a file per process, {end}"
    return [
        rate_ratio(f"one file / O_DIRECT file per process, {end}", "≥ 0.95", ours, direct),
        rate_ratio(f"one file / buffered file per process, {end}", "≥ 1.3", ours, buffered),
        against_best(ranks),
        rate_ratio(f"restore, verify=False / file per process, cold, {end}", "≥ 0.95", own, theirs),
        rate_ratio(f"restore, all of it verified first / file per process, cold, {end}", "", verified, theirs),
        Figure(
            f"time the simulation loses to save_async / to save, {end}",
            "≤ 0.2",
            lambda each: float(each[asynchronous]["lost_ratio"]),
            (asynchronous,),
        ),
        Figure(
            f"of that, the call alone, {end}",
            "",
            lambda each: float(each[asynchronous]["call_ratio"]),
            (asynchronous,),
        ),
    ]


def all_figures(_: Best) -> list[Figure]:
    half, twice = "extents: restore, saved by 4, read by 2", "extents: restore, saved by 2, read by 4"
    return [
        *(figure for ranks in RANKS for figure in of_ranks(ranks)),
        time_ratio("time of a restart on half the ranks / on the same", "≤ 1.3", half, "extents: restore, 4 ranks"),
        time_ratio("time of a restart on twice the ranks / on the same", "≤ 1.3", twice, "extents: restore, 2 ranks"),
    ]


def interval(values: list[float]) -> tuple[float, float]:
    """Of the median, 95 %, by drawing rounds with replacement; the same for the same rounds."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def write_intervals(folder: Path, rounds: list[Round]) -> list[str]:
    lines = ["figure;median;low;high;rounds"]
    for figure in all_figures(str):
        values = [figure.value(each) for each in rounds if all(name in each for name in figure.variants)]
        if values:
            low, high = interval(values)
            lines.append(f"{figure.name};{statistics.median(values):.3f};{low:.3f};{high:.3f};{len(values)}")
    (folder / "intervals.csv").write_text("\n".join(lines) + "\n")
    return []
