"""What happens in a round. All of it follows from a seed."""

import random
from dataclasses import dataclass, replace

from kills.knobs import random_tuning
from kills.values import Column, random_column

STRIKES = ["producer", "producers", "copy", "look"]
ENDS = ["everything", "committer", "close", "rotation", "closed", "deleted"]


@dataclass(frozen=True)
class Worker:
    """A process that appends plain rows, or work units, or both."""

    has_plain_rows: bool
    has_units: bool
    batch_rows: int
    pace_s: float  # between two batches
    finishes: bool  # otherwise it just ends, with its producers open


@dataclass(frozen=True)
class Strike:
    what: str
    delay_s: float


@dataclass(frozen=True)
class Life:
    """A life of a run: from its creation or resumption to the death of all its processes."""

    workers: tuple[Worker, ...]
    strikes: tuple[Strike, ...]
    end: Strike
    survivors_see_it: bool  # workers whose committer was killed must notice it themselves
    drops_memory: bool
    files: str  # left, copied or moved
    goes_on: bool  # resumed instead of recovered
    stops_s: tuple[float, ...]  # the duration of each recovery or resumption before it is killed


@dataclass(frozen=True)
class Plan:
    seed: int
    extension: str
    place: str  # disk or memory: where the files are
    small_memory: str  # the size of a /dev/shm of its own; empty: the machine's
    tables: dict[str, tuple[Column, ...]]
    tuning: dict[str, str]
    max_bytes: int  # 0: no rotation
    keys: int
    has_text_keys: bool
    keys_per_group: int  # 0: the run is not ordered
    creations_s: tuple[float, ...]  # the duration of each creation before it is killed
    lives: tuple[Life, ...]

    @property
    def columns(self) -> int:
        return sum(map(len, self.tables.values()))


def delay(chance: random.Random, least_s: float, most_s: float) -> float:
    """Draws a number; all orders of magnitude are equally likely."""
    return float(least_s * (most_s / least_s) ** chance.random())


def make_plan(seed: int, most_columns: int = 1000) -> Plan:
    chance = random.Random(seed)
    extension = [".h5", ".root"][seed % 2]
    tables = _random_tables(chance, most_columns)
    small_memory = f"{int(2 ** chance.uniform(6, 14))}k" if chance.random() < 0.15 else ""
    place = "disk" if small_memory else chance.choice(["disk", "memory"])
    is_rotating = chance.random() < 0.35
    lives: list[Life] = []
    while not lives or lives[-1].goes_on:
        lives.append(_random_life(chance, is_rotating, may_go_on=len(lives) < 4))
    plan = Plan(
        seed=seed,
        extension=extension,
        place=place,
        small_memory=small_memory,
        tables=tables,
        tuning=random_tuning(chance, extension, place),
        max_bytes=int(2 ** chance.uniform(14, 21)) if is_rotating else 0,
        keys=int(2 ** chance.uniform(3, 9)),
        has_text_keys=chance.random() < 0.3,
        keys_per_group=0,
        creations_s=tuple(delay(chance, 1e-4, 0.05) for _ in range(chance.choice([0, 0, 0, 1, 2]))),
        lives=tuple(lives),
    )
    order = random.Random(f"{seed}/order")  # drawn separately, so that other plans stay unchanged
    return _ordered(plan, order.choice([1, 3, 10])) if extension == ".root" and order.random() < 0.3 else plan


def _ordered(plan: Plan, keys_per_group: int) -> Plan:
    """Makes a plan ordered by key, where rows outside of units are not possible."""

    def with_units_alone(life: Life) -> Life:
        workers = (replace(worker, has_plain_rows=False, has_units=True) for worker in life.workers)
        return replace(life, workers=tuple(workers))

    lives = tuple(with_units_alone(life) for life in plan.lives)
    keys = -(-plan.keys // keys_per_group) * keys_per_group  # whole groups
    return replace(plan, keys=keys, has_text_keys=False, keys_per_group=keys_per_group, lives=lives)


def _random_tables(chance: random.Random, most_columns: int) -> dict[str, tuple[Column, ...]]:
    columns = int(most_columns ** chance.random())
    count = min(columns, chance.choice([1, 1, 2, 3]))
    tables = {}
    for table in range(count):
        mine = columns // count + (table < columns % count)
        tables[f"t{table}"] = tuple(random_column(chance, index, columns > 60) for index in range(mine))
    return tables


def _random_life(chance: random.Random, is_rotating: bool, may_go_on: bool) -> Life:
    ends = ENDS[:5] if is_rotating else [end for end in ENDS if end != "rotation"]
    weights = {"everything": 5, "committer": 3, "close": 4, "rotation": 8, "closed": 2, "deleted": 1}
    end = chance.choices(ends, [weights[name] for name in ends])[0]
    strikes = [Strike(chance.choices(STRIKES, [6, 3, 1, 1])[0], delay(chance, 0.001, 0.2)) for _ in range(4)]
    workers = tuple(_random_worker(chance) for _ in range(chance.randint(1, 4)))
    return Life(
        workers=workers,
        strikes=tuple(strikes[: chance.randint(0, 4)]),
        end=Strike(end, delay(chance, 1e-4, 0.05 if end in ("close", "rotation") else 0.3)),
        survivors_see_it=chance.random() < 0.4,
        drops_memory=chance.random() < 0.2,
        files=chance.choices(["left", "copied", "moved"], [6, 2, 2])[0],
        goes_on=may_go_on and end not in ("closed", "deleted") and chance.random() < 0.6,
        stops_s=tuple(delay(chance, 1e-4, 0.05) for _ in range(chance.choice([0, 1, 2, 3]))),
    )


def _random_worker(chance: random.Random) -> Worker:
    plain, units = chance.choice([(True, False), (False, True), (True, True)])
    return Worker(plain, units, chance.choice([1, 7, 60, 400]), delay(chance, 2e-4, 0.01), chance.random() < 0.8)
