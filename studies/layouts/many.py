"""many.py [--rounds N] [--events N]: 1 to 128 producers, clusters of 1 to 256 MiB; answers go into README.md.

Many events, and few values in each, so that what a layout costs is its rows.
"""

import argparse
import csv
import os
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import thalweg

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)

from harness.programs import IN_MEMORY, WORK  # noqa: E402 (studies are no package)
from layouts import generate, write  # noqa: E402
from layouts.children import in_child  # noqa: E402
from layouts.settings import Case, Settings  # noqa: E402

RAW = WORK / "raw" / "layouts"
BEGIN, END = "<!-- results of many: written by many.py -->", "<!-- end of results of many -->"
ROWS = {"event": "aos_event_per_product", "element": "aos_element_per_product"}
PRODUCERS = (1, 2, 4, 24, 128)
CLUSTERS_MIB = (1, 4, 16, 64, 256)
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    rows: str
    mode: str
    producers: int
    cluster_mib: int = 0  # 0: as by default


RUNS = [Run(rows, mode, count) for rows in ROWS for mode in ("threads", "processes") for count in PRODUCERS]
RUNS += [Run(rows, "threads", 4, size) for rows in ROWS for size in CLUSTERS_MIB]
Round = dict[Run, dict[str, Any]]


def measure(run: Run, data: generate.Data, settings: Settings) -> dict[str, Any]:
    path = IN_MEMORY / f"thalweg-study-many-{os.getpid()}.root"
    # A cluster is in memory until it ends.
    tuning = {"cluster_bytes": run.cluster_mib * MIB, "memory_bytes": 3 << 30} if run.cluster_mib else None

    def create(path: Path, plan: Any, _: Settings) -> Any:
        return thalweg.create(path, plan.schema, force=True, metadata=plan.metadata(), tuning=tuning)

    def work() -> dict[str, Any]:
        write.create_file = create
        return write.write(path, Case("uniform", ROWS[run.rows], run.mode, run.producers), data, settings)

    try:
        found: dict[str, Any] = in_child(work)
    finally:
        path.unlink(missing_ok=True)
    return found


def spread(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{statistics.median(found):.3g} ({found[0]:.3g} to {found[-1]:.3g})"


def ratio(rounds: list[Round], key: str, above: Run, below: Run) -> str:
    return spread(each[above][key] / each[below][key] for each in rounds)


def report(rounds: list[Round], settings: Settings) -> str:
    each = f"{settings.events:,} events with {settings.hits} hits and {settings.wires} wires each"
    lines = [
        f"Median and range of {len(rounds)} rounds, {each}, {os.cpu_count()} cores, load {os.getloadavg()[2]:.0f}.",
        "",
        "Rows of elements / rows of events:",
        "",
        "| producers | threads: wall time | threads: CPU | processes: wall time | processes: CPU |",
        "| --- | --- | --- | --- | --- |",
    ]
    for count in PRODUCERS:
        cells = [
            ratio(rounds, key, Run("element", mode, count), Run("event", mode, count))
            for mode in ("threads", "processes")
            for key in ("seconds", "cpu_s")
        ]
        lines.append(f"| {count} | {' | '.join(cells)} |")
    lines += [
        "",
        "Four threads, by the size of clusters (uncompressed):",
        "",
        "| clusters | rows of elements / of events, CPU | size of the file / by default, rows of events |",
        "| --- | --- | --- |",
    ]
    for size in CLUSTERS_MIB:
        cpu = ratio(rounds, "cpu_s", Run("element", "threads", 4, size), Run("event", "threads", 4, size))
        file = ratio(rounds, "file_bytes", Run("event", "threads", 4, size), Run("event", "threads", 4))
        lines.append(f"| {size} MiB | {cpu} | {file} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--readme", type=Path, default=HERE / "README.md")
    options = parser.parse_args()
    settings = Settings(events=options.events, hits=20, wires=2, rois=2, data=("uniform",))
    data = generate.make(settings, "uniform")
    rounds: list[Round] = []
    for index in range(options.rounds):
        first = index * len(RUNS) // options.rounds
        rounds.append({})
        for run in RUNS[first:] + RUNS[:first]:
            rounds[-1][run] = measure(run, data, settings)
            print(f"round {index + 1}: {run}: {rounds[-1][run]['seconds']:.3f} s", flush=True)
    RAW.mkdir(parents=True, exist_ok=True)
    with (RAW / "many.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        keys = list(next(iter(rounds[0].values())))
        writer.writerow(["round", *Run.__dataclass_fields__, *keys])
        for index, each in enumerate(rounds):
            for run, found in each.items():
                writer.writerow([index, run.rows, run.mode, run.producers, run.cluster_mib, *map(found.get, keys)])
    before, _, rest = options.readme.read_text().partition(BEGIN)
    options.readme.write_text(f"{before}{BEGIN}\n{report(rounds, settings)}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
