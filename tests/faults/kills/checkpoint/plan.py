"""What happens to jobs that save checkpoints. All of it follows from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

from kills.plan import delay

LAYOUTS = ("slabs", "grid", "parts")
VICTIMS = {"a rank": 4, "rank 0": 3, "all ranks": 5}


@dataclass(frozen=True)
class Strike:
    saves: int  # that have returned in this life before it
    moment: str  # of the first victim: "in" a save, or "between" two
    delay_s: float  # behind that
    victim: str
    number: int  # of the rank, modulo their number


@dataclass(frozen=True)
class Life:
    ranks: int
    how: str
    keep: int
    codec: str
    layout: str
    pause_s: float  # between two saves
    strike: Strike
    copy: str  # what the user appends to the name of a copy afterwards; "": the user copies nothing
    removes: int  # the number of an older one that the user removes afterwards; 0: none


@dataclass(frozen=True)
class Plan:
    seed: int
    rows: int
    columns: int
    lives: tuple[Life, ...]
    place: str = "disk"
    small_memory: str = ""


def make_plan(seed: int) -> Plan:
    chance = random.Random(f"{seed}/checkpoint")
    lives = tuple(_life(chance) for _ in range(chance.randint(3, 8)))
    rows, columns = chance.randint(8, 1500), chance.randint(8, 300)
    return Plan(seed, rows, columns, lives, chance.choice(["disk", "memory"]))


def _life(chance: random.Random) -> Life:
    strike = Strike(
        saves=chance.choice([0, 1, 1, 2, 4]),
        moment=chance.choice(["in", "in", "in", "between"]),
        delay_s=delay(chance, 1e-4, 0.05),
        victim=chance.choices(list(VICTIMS), list(VICTIMS.values()))[0],
        number=chance.randrange(12),
    )
    return Life(
        ranks=chance.randint(1, 4),
        how=chance.choice(["save", "save_async"]),
        keep=chance.choice([1, 2, 2, 3, 5]),
        codec=chance.choice(["none", "none", "bitshuffle+lz4"]),
        layout=chance.choice(LAYOUTS),
        pause_s=chance.choice([0.0, 0.002]),
        strike=strike,
        copy=chance.choice(["", "", "20261125", "1", "2", "3"]),
        removes=chance.choice([0, 0, 0, 1, 2]),
    )
