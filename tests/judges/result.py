"""What a play of a judge has tried and found, and where it works."""

import argparse
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mounted


@dataclass
class Result:
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)  # sentences, each with a line that repeats the play


def work_folder() -> Path:
    """Returns the place for a folder in memory. It is not in /dev/shm, which a restarted machine has empty."""
    return Path(f"/run/thalweg-judges-{os.getpid()}")


def show(result: Result) -> int:
    """Prints the result, and returns the exit code."""
    for name, count in sorted(result.counts.items()):
        print(f"{count:>12,} {name}")
    print("\n".join(result.wrong))
    return 1 if result.wrong else 0


def add(total: Result, result: Result) -> None:
    total.counts.update(result.counts)
    total.wrong += result.wrong


def play_rounds(description: str, play: Callable[[int], Result]) -> int:
    """Is the command of a judge whose play follows from a seed alone: plays rounds, prints, returns the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    mounted.have_own_mounts()
    total = Result()
    for seed in range(given.seed, given.seed + given.rounds):
        add(total, play(seed))
    return show(total)
