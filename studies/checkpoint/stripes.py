"""stripes.py BUILD: one file over 1, 2, 4 and 8 stripes, which the paper's figures 2 and 3 vary; needs root.

A stripe is a loop device of a limited rate, as a server of a parallel file system has one, and btrfs puts files over
them (RAID0). Its unit is 64 KiB and nothing else, so what the unit does is told by a model. BUILD has the programs of
this study. Writes results/stripes.csv and stripes.png.
"""

import argparse
import contextlib
import csv
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).with_name("results")
RANKS, RANK_BYTES = 4, 32_000_000
RATE = 150_000_000  # bytes a second of a stripe
COUNTS = (1, 2, 4, 8)
UNITS = tuple(2**power << 10 for power in range(6, 18, 2))  # 64 KiB to 64 MiB
THROTTLE = Path("/sys/fs/cgroup/blkio/thalweg-stripes")
WAYS = {
    "extents": ("ours_mpich", "save"),
    "MPI-IO, independent": ("strategies_mpich", "mpiio-independent", "save"),
    "MPI-IO, collective": ("strategies_mpich", "mpiio-collective", "save"),
    "O_DIRECT file per process": ("strategies_mpich", "posix-direct", "save"),
}


def call(*words: object) -> str:
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def striped(count: int, folder: Path) -> Iterator[Path]:
    """Makes a file system over `count` devices. Processes in the control group get RATE from each."""
    devices: list[str] = []
    place = folder / "mounted"
    place.mkdir()
    try:
        for number in range(count):
            image = folder / f"image{number}"
            call("truncate", "--size", "1G", image)
            devices.append(call("losetup", "--find", "--show", "--direct-io=on", image).strip())
            identity = Path(f"/sys/block/{Path(devices[-1]).name}/dev").read_text().strip()
            (THROTTLE / "blkio.throttle.write_bps_device").write_text(f"{identity} {RATE}")
        call("mkfs.btrfs", "--quiet", "--force", "--data", "raid0" if count > 1 else "single", "-m", "single", *devices)
        call("mount", devices[0], place)
        yield place
    finally:
        if place.is_mount():
            call("umount", place)
        for device in devices:
            call("losetup", "--detach", device)


def enter() -> None:
    (THROTTLE / "cgroup.procs").write_text(str(os.getpid()))


def seconds_of(programs: Path, way: tuple[str, ...], place: Path) -> float:
    for path in place.iterdir():
        path.unlink()
    os.sync()
    program, *words = way
    line = ["mpiexec.mpich", "-n", RANKS, programs / f"checkpoint_{program}", *words, place / "target.h5", RANK_BYTES]
    done = subprocess.run(list(map(str, line)), check=True, capture_output=True, text=True, preexec_fn=enter)
    return float(json.loads(done.stdout)["seconds"])


def measure(programs: Path, rounds: int) -> dict[tuple[str, int], list[float]]:
    found: dict[tuple[str, int], list[float]] = {}
    THROTTLE.mkdir(exist_ok=True)
    try:
        for _ in range(rounds):
            for count in COUNTS:
                with tempfile.TemporaryDirectory(dir=programs) as folder, striped(count, Path(folder)) as place:
                    for name, way in WAYS.items():
                        found.setdefault((name, count), []).append(seconds_of(programs, way, place))
    finally:
        THROTTLE.rmdir()
    return found


def modelled_s(count: int, unit: int, in_flight: int, ranks: int = RANKS, rank_bytes: int = RANK_BYTES) -> float:
    """Each rank has so many bytes in flight, one behind the other; a stripe gives its rate in equal shares to all
    pieces of `unit` that wait for it; nothing else takes time."""
    step_s = 0.002
    at = [0.0] * ranks  # bytes that a rank has written
    elapsed = 0.0
    while min(at) < rank_bytes:
        waiting: list[list[int]] = [[] for _ in range(count)]
        for rank in range(ranks):
            begin = rank * rank_bytes + int(at[rank])
            end = min(begin + in_flight, (rank + 1) * rank_bytes)
            for piece in range(begin // unit, -(-end // unit)):
                waiting[piece % count].append(rank)
        for queue in waiting:
            for rank in queue:
                at[rank] = min(rank_bytes, at[rank] + RATE * step_s / len(queue))
        elapsed += step_s
    return elapsed


def draw(found: dict[tuple[str, int], list[float]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
    whole_mb = RANKS * RANK_BYTES / 1e6
    for name in WAYS:
        values = [sorted(whole_mb / each for each in found[name, count]) for count in COUNTS]
        middle = [statistics.median(each) for each in values]
        spread = [[m - v[0] for m, v in zip(middle, values, strict=True)]]
        spread += [[v[-1] - m for m, v in zip(middle, values, strict=True)]]
        left.errorbar(COUNTS, middle, yerr=spread, marker="o", capsize=3, label=name)
    left.plot(COUNTS, [count * RATE / 1e6 for count in COUNTS], color="0.5", ls="--", label="what the stripes have")
    left.set(xlabel="stripes (64 KiB units)", ylabel="MB/s, durable", xticks=COUNTS, ylim=(0, None))
    left.set_title(
        f"Measured: {RANKS} ranks with {RANK_BYTES // 10**6} MB each, {RATE // 10**6} MB/s a stripe", fontsize=10
    )
    left.legend(fontsize=8)
    for count in COUNTS[1:]:
        rates = [whole_mb / modelled_s(count, unit, 8 << 20) for unit in UNITS]
        right.plot([unit / 2**20 for unit in UNITS], rates, marker=".", label=f"{count} stripes")
    right.set(xscale="log", xlabel="unit, MiB", ylabel="MB/s", ylim=(0, None))
    right.set_title("Model: the unit, with 8 MiB of each rank in flight", fontsize=10)
    right.legend(fontsize=8)
    figure.savefig(RESULTS / "stripes.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = measure(options.build / "studies" / "checkpoint" / "programs", options.rounds)
    with (RESULTS / "stripes.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["way", "stripes", "median s", "min s", "max s", "rounds"])
        for (name, count), values in found.items():
            middle = statistics.median(values)
            writer.writerow([name, count, f"{middle:.3f}", f"{min(values):.3f}", f"{max(values):.3f}", len(values)])
    draw(found)


if __name__ == "__main__":
    main()
