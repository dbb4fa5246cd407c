"""The figures of the table, what they should be, and how sure each is."""

import random
import statistics
from collections.abc import Callable
from pathlib import Path

from checkpoint import paper
from checkpoint.variants import RANKS
from harness.figures import Best, Figure, Round, rate_ratio

RESAMPLES = 2000
OF_MPI = ("mpiio, one file", "hdf5")


def names_of_best(each: Round, ranks: int) -> list[str]:
    return [name for name in each if name.startswith(OF_MPI) and name.endswith(f", {ranks} ranks")]


def against_best(ranks: int) -> Figure:
    """In each round against the one of them that was the fastest in it, which is hard on ours."""
    ours = f"extents, {ranks} ranks"

    def value(each: Round) -> float:
        return float(each[ours]["GB_per_s"] / max(each[name]["GB_per_s"] for name in names_of_best(each, ranks)))

    needed = (ours, f"mpiio, one file, independent, {ranks} ranks")
    return Figure(f"one file / the best of MPI-IO and parallel HDF5, {ranks} ranks", "≥ 1.5", value, needed)


def time_ratio(name: str, target: str, ours: str, theirs: str) -> Figure:
    return Figure(name, target, lambda each: each[ours]["seconds"] / each[theirs]["seconds"], (ours, theirs))


def without_sync(variant: str) -> Callable[[Round], float]:
    """Returns the time that a measurement without sync would show."""
    return lambda each: float(each[variant]["seconds"] - each[variant]["sync_s"])


def of_ranks(ranks: int) -> list[Figure]:
    end = f"{ranks} ranks"
    ours = f"extents, {end}"
    direct, buffered = (f"posix file per process, {how}, {end}" for how in ("direct", "buffered"))
    independent, collective = (f"mpiio, one file, {how}, {end}" for how in ("independent", "collective, as it is"))
    unsynced = {name: without_sync(name) for name in (buffered, independent)}
    return [
        rate_ratio(f"one file / O_DIRECT file per process, {end}", "≥ 0.95", ours, direct),
        rate_ratio(f"one file / buffered file per process, {end}", "≥ 1.3", ours, buffered),
        against_best(ranks),
        rate_ratio(
            f"restore, verify=False / file per process, cold, {end}",
            "≥ 0.95",
            f"extents, restore, {end}",
            f"read: posix file per process, {end}",
        ),
        rate_ratio(f"MPI-IO: one file, collective / independent, {end}", "", collective, independent),
        rate_ratio(f"MPI-IO: one file, independent / buffered file per process, {end}", "", independent, buffered),
        Figure(
            f"the same without the time of fsync, {end}",
            "",
            lambda each: unsynced[buffered](each) / unsynced[independent](each),
            (independent, buffered),
        ),
    ]


def of_async(ranks: int) -> list[Figure]:
    variant = f"extents, save_async, {ranks} ranks"
    names = {"lost_ratio": "time the simulation loses to save_async / to save", "call_ratio": "of that, the call alone"}
    targets = {"lost_ratio": "≤ 0.2", "call_ratio": ""}
    return [
        Figure(f"{name}, {ranks} ranks", targets[key], lambda each, key=key: float(each[variant][key]), (variant,))
        for key, name in names.items()
    ]


def all_figures(_: Best) -> list[Figure]:
    half, twice = "extents, restore, saved by 4, read by 2", "extents, restore, saved by 2, read by 4"
    verified, theirs = "extents, restore and verify, 4 ranks", "read: posix file per process, 4 ranks"
    return [
        *(figure for ranks in RANKS for figure in of_ranks(ranks)),
        rate_ratio("restore, all of it verified first / file per process, cold, 4 ranks", "", verified, theirs),
        *(figure for ranks in (2, 4) for figure in of_async(ranks)),
        time_ratio("time of a restart on half the ranks / on the same", "≤ 1.3", half, "extents, restore, 4 ranks"),
        time_ratio("time of a restart on twice the ranks / on the same", "≤ 1.3", twice, "extents, restore, 2 ranks"),
    ]


def interval(values: list[float]) -> tuple[float, float]:
    """Returns the 95 % interval of the median, by drawing rounds with replacement; the same for the same rounds."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def write_intervals(folder: Path, rounds: list[Round]) -> None:
    lines = ["figure;target;median;low;high;rounds"]
    for figure in all_figures(str):
        values = [figure.value(each) for each in rounds if all(name in each for name in figure.variants)]
        if values:
            low, high = interval(values)
            middle = statistics.median(values)
            lines.append(f"{figure.name};{figure.target};{middle:.3f};{low:.3f};{high:.3f};{len(values)}")
    (folder / "intervals.csv").write_text("\n".join(lines) + "\n")


def write_who_wrote(folder: Path, rounds: list[Round]) -> None:
    """Writes, from the last round that has each variant, the bytes and the writes of each rank, and the hints."""
    lines = ["variant;writes of each rank;MB of each rank;hints in effect;asked for in vain"]
    last = {name: measured for each in rounds for name, measured in each.items() if "bytes_by_rank" in measured}
    for name, measured in last.items():
        writes = " ".join(map(str, measured["writes_by_rank"]))
        shares = " ".join(f"{count / 1e6:.0f}" for count in measured["bytes_by_rank"])
        lines.append(f"{name};{writes};{shares};{measured.get('hints', '')};{measured.get('ignored', '')}")
    (folder / "who_wrote.csv").write_text("\n".join(lines) + "\n")


def write_phases(folder: Path, rounds: list[Round]) -> None:
    """Writes the times of the longest rank over all rounds, as IOR reports them."""
    lines = ["variant;phase;max s;min s;mean s;sd s;rounds"]
    names = list(dict.fromkeys(name for each in rounds for name in each))
    for name in names:
        for phase in ("open_s", "write_s", "sync_s", "read_s", "close_s", "seconds"):
            values = [each[name][phase] for each in rounds if phase in each.get(name, {})]
            if not values:
                continue
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            numbers = (max(values), min(values), statistics.mean(values), spread)
            label = "all" if phase == "seconds" else phase.removesuffix("_s")
            lines.append(f"{name};{label};" + ";".join(f"{value:.4f}" for value in numbers) + f";{len(values)}")
    (folder / "phases.csv").write_text("\n".join(lines) + "\n")


def write_tables(folder: Path, rounds: list[Round]) -> list[str]:
    for write in (write_intervals, write_who_wrote, write_phases):
        write(folder, rounds)
    return paper.draw(folder, rounds)
