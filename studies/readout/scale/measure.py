"""Measures one part of this study, keeps what it found, and writes the tables of the page.

python studies/readout/scale/measure.py connections --rounds 5
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness import machine
from harness.programs import REPOSITORY, STUDIES, WORK, MissingError, call
from readout.scale import curves, farm, incast, model, results, tables

Variants = dict[str, farm.Variant]
PARTS: dict[str, Callable[[], Variants]] = {
    "connections": curves.connections,
    "curves": curves.curves,
    "incast": incast.cures,
    "model": model.points,
}
SECONDS = {"incast": 2.5}
MOST_S = 360.0  # of a part: then no other round begins
USUAL_S, QUICK_S = 1.5, 0.3


def build() -> None:
    definitions = ["-DTHALWEG_BENCH=ON", "-DTHALWEG_TESTS=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    call(["cmake", "-S", str(REPOSITORY), "-B", str(WORK), "-G", "Ninja", *definitions])
    call(["cmake", "--build", str(WORK), "--target", "readout_study"])


def measure(variants: Variants, rounds: int, seconds: float, most_s: float = MOST_S) -> results.Kept:
    """Measures all variants once in a round; each round begins elsewhere in the list."""
    names = list(variants)
    found: dict[str, list[farm.Told]] = {name: [] for name in names}
    missing: dict[str, str] = {}
    noises = []
    planned = rounds
    end = time.monotonic() + most_s
    for number in range(rounds):
        if time.monotonic() > end:
            rounds = number
            break
        first = number * len(names) // planned
        for name in names[first:] + names[:first]:
            begin = machine.Moment.now()
            try:
                found[name].append(variants[name](seconds))
            except (MissingError, farm.FarmError, subprocess.TimeoutExpired) as error:
                missing[f"{name}, round {number + 1}"] = " ".join(str(error).split())[:200]
                continue
            noises.append(machine.noise_since(begin))
            print(f"round {number + 1}, {name}", flush=True)
    return {
        "rounds": rounds,
        "noise": {key: statistics.median(each[key] for each in noises) for key in noises[0]} if noises else {},
        "missing": missing,
        "variants": {name: results.spreads(each) for name, each in found.items() if each},
    }


def stamp() -> dict[str, str]:
    facts = machine.describe(STUDIES, REPOSITORY)
    return {key: str(facts[key]) for key in ("date", "commit", "cores", "processor", "kernel")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, help="of each measurement")
    parser.add_argument("--only", default="", help="the variants whose names have this text")
    parser.add_argument("--quick", action="store_true", help="one short round, which is not kept: does all of it work?")
    options = parser.parse_args()
    if farm.PROGRAM_VARIABLE not in os.environ:
        build()
    for part in PARTS if options.part == "all" else [options.part]:
        variants = {name: each for name, each in PARTS[part]().items() if options.only in name}
        usual = options.seconds or SECONDS.get(part, USUAL_S)
        found = measure(variants, 1 if options.quick else options.rounds, QUICK_S if options.quick else usual)
        if not found["variants"]:
            print(f"nothing of '{part}' could be measured: {found['missing']}", file=sys.stderr)
            return 1
        if part == "model":
            found["model"] = model.modelled(found["variants"])
        if options.quick or options.only:
            print(tables.table(part, {part: {**stamp(), **found}}))
            continue
        kept = results.read()
        kept[part] = {**stamp(), **found}
        results.write(kept)
        tables.write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
