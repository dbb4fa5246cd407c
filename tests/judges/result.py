"""What a play of a judge has tried and found, and where it works."""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


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
