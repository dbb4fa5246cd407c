"""study.py [OPTIONS]: measures every number of aggregators, and writes the answers into README.md beside it.

A measurement is kept as soon as it is made: run it again with --resume after an interruption.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[1])  # the folder of all studies, which are no package

from aggregator_numbers.cells import CELLS, LAWS, NUMBERS, RANKS, UNEVEN, WRITES  # noqa: E402
from aggregator_numbers.figures import ratio_of, to_best  # noqa: E402
from aggregator_numbers.running import REPOSITORY, Bed, bed  # noqa: E402
from aggregator_numbers.table import with_results  # noqa: E402
from harness import machine  # noqa: E402
from harness.programs import WORK  # noqa: E402

HERE = Path(__file__).resolve().parent
SUMMARY = HERE / "results" / "summary.json"
UNEVEN_LAWS = ("four servers", "no server is shared")
DYNAMIC = {"OMPI_MCA_fcoll": "dynamic"}
"""The component of Open MPI in which an aggregator writes what the ranks of its group have, and nothing else."""

Entry = dict[str, Any]


class Log:
    """What is measured, one line each."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if resume and path.exists() else []
        self.entries: dict[str, Entry] = {entry["key"]: entry for entry in map(json.loads, lines)}
        if not lines:
            path.write_text("")

    def once(self, key: str, measure: Callable[[], Any]) -> Any:
        if key not in self.entries:
            load = os.getloadavg()[0]
            self.entries[key] = {"key": key, "load": load, "found": measure()}
            with self._path.open("a") as file:
                file.write(json.dumps(self.entries[key]) + "\n")
        return self.entries[key]["found"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4, help="launches of each number (default: %(default)s)")
    parser.add_argument("--files", type=int, default=3, help="files that a launch writes (default: %(default)s)")
    parser.add_argument("--only", default="", help="only cells whose names have this")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no round after so many")
    parser.add_argument("--resume", action="store_true", help="go on with what was interrupted")
    parser.add_argument("--draw", action="store_true", help="measure nothing: write README.md again")
    parser.add_argument("--log", type=Path, default=WORK / "raw" / "aggregator_numbers" / "measurements.jsonl")
    parser.add_argument("--out", type=Path, default=SUMMARY, help="where results go (default: in its folder)")
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def prepare(bed: Bed, log: Log) -> None:
    """Measures k of each storage, and asks how many aggregators the writes need."""
    for law in LAWS:
        k = log.once(f"k, {law}", lambda law=law: bed.k(law))
        say(f"{law}: k {k['k']:,}")
        for name, writes in WRITES.items():
            log.once(f"advice, {law}, {name}", lambda law=law, w=writes, k=k: bed.advice(law, w, k["k"]))
    for law in UNEVEN_LAWS:
        k = log.once(f"k, {law}", dict)["k"]
        for name, writes in UNEVEN.items():
            # Views that begin anew are no neighbours for Open MPI, so that its groups, and not ours, are the question.
            with_groups = groups_by_open_mpi(k)
            by_groups = log.once(
                f"groups, {law}, {name}", lambda w=writes, e=with_groups: as_items(bed.bytes_by_rank("OMPIO", w, e))
            )
            number = with_number(k, len(by_groups))
            log.once(f"number, {law}, {name}", lambda w=writes, e=number: as_items(bed.bytes_by_rank("OMPIO", w, e)))


def as_items(found: dict[int, int]) -> list[tuple[int, int]]:
    return sorted(found.items())


def groups_by_open_mpi(k: int) -> dict[str, str]:
    return DYNAMIC | {"OMPI_MCA_io_ompio_grouping_option": "1", "OMPI_MCA_io_ompio_bytes_per_agg": str(k)}


def with_number(k: int, number: int) -> dict[str, str]:
    return DYNAMIC | {
        "OMPI_MCA_io_ompio_num_aggregators": str(number),
        "OMPI_MCA_io_ompio_bytes_per_agg": str(k),
    }


def tasks(bed: Bed, log: Log, options: argparse.Namespace, index: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields what one round measures, with its name."""
    files: int = options.files
    for cell in CELLS:
        for number in NUMBERS:
            yield (
                f"round {index}, {cell}, {number}",
                lambda c=cell, n=number: bed.seconds(c.library, c.law, WRITES[c.writes], n, files),
            )
    for law in UNEVEN_LAWS:
        k = log.entries[f"k, {law}"]["found"]["k"]
        for name, writes in UNEVEN.items():
            number = len(log.entries[f"groups, {law}, {name}"]["found"])
            for way, extra in (("groups", groups_by_open_mpi(k)), ("number", with_number(k, number))):
                yield (
                    f"round {index}, uneven, {law}, {name}, {way}",
                    lambda law=law, w=writes, e=extra: bed.seconds("OMPIO", law, w, 0, files, e),
                )


def measure(options: argparse.Namespace) -> Log:
    log = Log(options.log, resume=options.resume)
    begin = time.monotonic()
    with bed() as made:
        prepare(made, log)
        for index in range(options.rounds):
            due = [(key, task) for key, task in tasks(made, log, options, index) if options.only in key]
            for key, task in random.Random(index).sample(due, len(due)):
                if (time.monotonic() - begin) / 60 > options.minutes:
                    say("the time is over: go on with --resume")
                    return log
                log.once(key, task)
            say(f"round {index + 1} of {options.rounds} after {(time.monotonic() - begin) / 60:.1f} minutes")
    return log


def of_rounds(log: Log, rest: str) -> list[float]:
    """Returns the seconds of all files of one way, of all rounds."""
    entries = (entry for key, entry in log.entries.items() if key.partition(", ")[2] == rest)
    return [seconds for entry in entries for seconds in entry["found"]]


def summarise(log: Log) -> dict[str, Any]:
    loads = [entry["load"] for key, entry in log.entries.items() if key.startswith("round ")]
    found: dict[str, Any] = {
        "machine": machine.describe(HERE, REPOSITORY),
        "noise": {"load": statistics.median(loads), "least": min(loads), "most": max(loads)},
        "k": {law: log.entries[f"k, {law}"]["found"] for law in LAWS},
        "advice": {
            key.partition(", ")[2]: entry["found"] for key, entry in log.entries.items() if key.startswith("advice, ")
        },
        "cells": {},
        "uneven": {},
    }
    files: list[int] = []
    for cell in CELLS:
        seconds = {number: of_rounds(log, f"{cell}, {number}") for number in NUMBERS}
        if all(seconds.values()):
            files += map(len, seconds.values())
            found["cells"][str(cell)] = _cell(seconds, found["advice"][f"{cell.law}, {cell.writes}"])
    found["files_of_a_number"] = [min(files, default=0), max(files, default=0)]
    for law in UNEVEN_LAWS:
        for name in UNEVEN:
            both = [of_rounds(log, f"uneven, {law}, {name}, {way}") for way in ("number", "groups")]
            if all(both):
                found["uneven"][f"{law}, {name}"] = _uneven(log, f"{law}, {name}", *both)
    return found


def _cell(seconds: dict[int, list[float]], advice: dict[str, Any]) -> dict[str, Any]:
    compared = to_best(seconds)
    return {
        "authors": advice["aggregators"],
        "by_volume": advice["all_bytes_by_k"],
        "best": compared.best,
        "seconds": {number: statistics.median(each) for number, each in seconds.items()},
        "ratios": {number: rounded(vars(each)) for number, each in compared.ratios.items()},
    }


def _uneven(log: Log, name: str, number_s: list[float], groups_s: list[float]) -> dict[str, Any]:
    by_groups = log.entries[f"groups, {name}"]["found"]
    by_number = log.entries[f"number, {name}"]["found"]
    starts = [*(rank for rank, _ in by_groups), RANKS]
    return {
        "groups": [list(range(begin, end)) for begin, end in pairwise(starts)],
        "most_of_groups": max(moved for _, moved in by_groups),
        "most_of_number": max(moved for _, moved in by_number),
        "number_to_groups": rounded(vars(ratio_of(number_s, groups_s))),
    }


def rounded(values: dict[str, float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values.values()]


def as_text(summary: dict[str, Any]) -> str:
    """One line for each entry."""
    parts = []
    for name, value in summary.items():
        if isinstance(value, dict):
            lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
            parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    options = arguments()
    if not options.draw:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(as_text(summarise(measure(options))))
    readme = HERE / "README.md"
    if options.out == SUMMARY:
        readme.write_text(with_results(readme.read_text(), json.loads(SUMMARY.read_text())))


if __name__ == "__main__":
    main()
