"""What happens to a job of derivations. All of it follows from a seed."""

import random
from dataclasses import dataclass

from kills.plan import delay

MOMENTS = {
    "start": 2,  # of a life: outputs are created or resumed, and workers try the functions
    "ranges": 4,  # a worker does one
    "commit": 4,  # a worker begins one
    "close": 2,
}
VICTIMS = {"worker": 6, "workers": 2, "job": 3, "everything": 3}


@dataclass(frozen=True)
class Strike:
    moment: str
    delay_s: float  # behind that
    victim: str  # "job": the process that gives out ranges and commits; the kernel ends its workers then


@dataclass(frozen=True)
class Plan:
    seed: int
    extension: str
    way: str  # functions, copies or loop: what fills the outputs
    order: str
    workers: tuple[int, ...]  # of each life; of later ones the last
    ranges_per_group: int
    clusters: int  # of all input files together
    files: int  # of the input
    lacks: bool  # every second file has no column MET_phi, and the job fills it
    pace_s: float  # that each range takes at least
    deaths: float  # how likely a worker dies right behind a commit
    strikes: tuple[Strike, ...]
    place: str = "disk"
    small_memory: str = ""
    carries: bool = False  # each file has another table, which the outputs get, too

    @property
    def is_ordered(self) -> bool:
        return self.order == "input"


def make_plan(seed: int) -> Plan:
    chance = random.Random(f"{seed}/derive")
    extension = [".root", ".h5"][seed % 2]
    way = chance.choice(["functions", "functions", "copies", "loop"] if extension == ".root" else ["functions", "loop"])
    order = chance.choice(["any", "any", "input"] if extension == ".root" else ["any"])
    workers = [chance.randint(1, 4) for _ in range(12)]
    if order == "any" and way != "copies":  # with others the ranges would change, too, where a job begins anew
        workers = workers[:1]
    clusters = chance.randint(10, 50)
    files = chance.choice([1, 1, 2, 3])
    return Plan(
        seed=seed,
        extension=extension,
        way=way,
        order=order,
        workers=tuple(workers),
        ranges_per_group=chance.choice([1, 3, 5]),
        clusters=clusters,
        files=files,
        lacks=files > 1 and way == "functions" and chance.random() < 0.8,
        pace_s=delay(chance, 0.002, 0.05),
        deaths=chance.choice([0, 0, 2 / clusters]),
        strikes=_random_strikes(chance),
        place=chance.choice(["disk", "memory"]),
        carries=chance.random() < 0.5,
    )


def _random_strikes(chance: random.Random) -> tuple[Strike, ...]:
    """Returns the moments in their order. Those of a close are the last: no ranges follow them."""
    strikes = [_random_strike(chance) for _ in range(chance.randint(8, 20))]
    return tuple(sorted(strikes, key=lambda strike: strike.moment == "close"))


def _random_strike(chance: random.Random) -> Strike:
    moment = chance.choices(list(MOMENTS), list(MOMENTS.values()))[0]
    victim = chance.choices(list(VICTIMS), list(VICTIMS.values()))[0]
    if moment == "start":  # a worker that dies at the first events ends the job, which reports it
        return Strike(moment, delay(chance, 0.001, 1), chance.choice(["job", "everything"]))
    if moment == "close":  # its workers have ended
        return Strike(moment, delay(chance, 1e-4, 0.05), chance.choice(["job", "everything"]))
    return Strike(moment, delay(chance, 1e-5, 0.005 if moment == "commit" else 0.3), victim)
