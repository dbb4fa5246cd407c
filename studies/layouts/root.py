"""root.py [--rounds N] [--hits N]: the paper's own pattern in ROOT, in turn in every round; answers go into README.md.

What is varied is what the paper explains its numbers by: rows of events or of elements, a stopwatch around every fill,
a mutex around every flush, threads, and the size of clusters.
"""

import argparse
import csv
import itertools
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from harness.programs import IN_MEMORY, WORK, call  # noqa: E402 (studies are no package)
from harness.root import build_with_root  # noqa: E402

PROGRAM = WORK / "root_hits"
RAW = WORK / "raw" / "layouts"
BEGIN, END = "<!-- results in ROOT: written by root.py -->", "<!-- end of results in ROOT -->"
ZSTD_5 = 505
MIB = 1 << 20
THREADS = (1, 2, 4, 24, 128)
SMALL_CLUSTERS_MIB = 1  # compressed: so that every thread has some to flush
LARGER_MIB = (16, 256)


@dataclass(frozen=True)
class Case:
    rows: str
    threads: int
    pattern: str = "plain"  # "lock": a mutex around every flush; "paper": a stopwatch around every fill, too
    cluster_mib: int = SMALL_CLUSTERS_MIB

    def run(self, hits: int) -> dict[str, float]:
        path = IN_MEMORY / f"thalweg-study-hits-{os.getpid()}.root"
        stopwatch, lock = int(self.pattern == "paper"), int(self.pattern != "plain")
        words = [path, hits, self.threads, self.rows, stopwatch, lock, ZSTD_5, self.cluster_mib * MIB]
        try:
            found: dict[str, float] = json.loads(call([str(PROGRAM), *map(str, words)]))
        finally:
            path.unlink(missing_ok=True)
        return found


ROWS = ("event", "element")
CASES = [
    *(Case(*each) for each in itertools.product(ROWS, THREADS, ("plain", "lock", "paper"))),
    *(Case(rows, 4, pattern, size) for rows, pattern, size in itertools.product(ROWS, ("plain", "lock"), LARGER_MIB)),
]
Round = dict[Case, dict[str, float]]


def spread(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{statistics.median(found):.3g} ({found[0]:.3g} to {found[-1]:.3g})"


def ratio(rounds: list[Round], key: str, above: Case, below: Case) -> str:
    return spread(each[above][key] / each[below][key] for each in rounds)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    heads = list(heads)
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *map(list, rows))]


def element_to_event(rounds: list[Round], threads: int) -> list[str]:
    def compared(key: str, pattern: str) -> str:
        return ratio(rounds, key, Case("element", threads, pattern), Case("event", threads, pattern))

    return [
        str(threads),
        compared("seconds", "plain"),
        compared("cpu_s", "plain"),
        compared("seconds", "paper"),
        compared("stopwatch_s", "paper"),
    ]


def lock_to_plain(rounds: list[Round], threads: int, cluster_mib: int = SMALL_CLUSTERS_MIB) -> list[str]:
    return [
        ratio(rounds, "seconds", Case(rows, threads, "lock", cluster_mib), Case(rows, threads, "plain", cluster_mib))
        for rows in ROWS
    ]


def threads_to_one(rounds: list[Round], threads: int) -> list[str]:
    return [
        str(threads),
        ratio(rounds, "seconds", Case("element", threads), Case("element", 1)),
        ratio(rounds, "stopwatch_s", Case("element", threads, "paper"), Case("element", 1, "paper")),
    ]


def report(rounds: list[Round], hits: int) -> str:
    elements = ("threads", "wall time", "CPU", "wall time, with stopwatch and mutex", "sum of the stopwatches")
    lines = [
        f"Median and range of {len(rounds)} rounds, {hits:,} hits of 23 random floats, zstd-5, {os.cpu_count()} cores,",
        f"clusters of {SMALL_CLUSTERS_MIB} MiB compressed, unless said otherwise.",
        "",
        "Rows of elements / rows of events; the last column is what the paper counts:",
        "",
        *table(elements, (element_to_event(rounds, threads) for threads in THREADS)),
        "",
        "A mutex around every flush / none, wall time:",
        "",
        *table(
            ("threads", "rows of events", "rows of elements"),
            [
                *([str(threads), *lock_to_plain(rounds, threads)] for threads in THREADS),
                *([f"4, clusters of {size} MiB", *lock_to_plain(rounds, 4, size)] for size in LARGER_MIB),
            ],
        ),
        "",
        "Rows of elements, several threads / one:",
        "",
        *table(("threads", "wall time", "sum of the stopwatches"), (threads_to_one(rounds, each) for each in THREADS)),
    ]
    return "\n".join(lines)


def write_csv(rounds: list[Round], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        fields = list(Case.__dataclass_fields__)
        keys = list(next(iter(rounds[0].values())))
        writer.writerow(["round", *fields, *keys])
        for index, each in enumerate(rounds):
            for case, found in each.items():
                writer.writerow([index, *(getattr(case, name) for name in fields), *(found[key] for key in keys)])


def in_turn(cases: list[Case], index: int) -> list[Case]:
    """Each round begins elsewhere, so that no case always comes after the same one."""
    first = index * len(cases) // 3 % len(cases)
    return cases[first:] + cases[:first]


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hits", type=int, default=3_000_000)
    parser.add_argument("--readme", type=Path, default=HERE / "README.md")
    options = parser.parse_args()
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    build_with_root(HERE / "opponents" / "root_hits.cc", PROGRAM)
    rounds: list[Round] = []
    for index in range(options.rounds):
        rounds.append({})
        for case in in_turn(CASES, index):
            rounds[-1][case] = case.run(options.hits)
            say(f"round {index + 1}: {case}: {rounds[-1][case]['seconds']:.3f} s")
    RAW.mkdir(parents=True, exist_ok=True)
    write_csv(rounds, RAW / "root.csv")
    before, _, rest = options.readme.read_text().partition(BEGIN)
    options.readme.write_text(f"{before}{BEGIN}\n{report(rounds, options.hits)}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
