"""Where creators, writers and aggregators run: pairs share a cache, aggregators do not share one, and the system has a
core of its own where there is one left."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg._errors import UsageError


@dataclass(frozen=True)
class Plan:
    """Ranks by number: creators first, then the writer of each. With `is_split` unset each rank does both."""

    core_of_rank: list[int]
    creators: list[int]
    writers: list[int]
    aggregators: list[int]
    system: list[int]
    """Cores for interrupts and all other processes."""
    warnings: list[str]


def make_plan(
    clusters: list[list[int]],
    cores_of_threads: list[list[int]],
    ranks: int,
    aggregators: int = 1,
    *,
    split: bool = True,
) -> Plan:
    """`clusters`: processors; `cores_of_threads`: processors that are one core. Each rank has a core of its own where
    there are enough, then a processor of its own, then it shares one."""
    if ranks < (2 if split else 1) or (split and ranks % 2):
        raise UsageError(f"{ranks} ranks cannot be planned: give an even number, a creator and a writer each")
    writers_count = ranks // 2 if split else ranks
    if not 1 <= aggregators <= writers_count:
        raise UsageError(f"{aggregators} aggregators cannot be chosen of {writers_count} writers")
    together = 2 if split else 1
    ordered = [sorted(each) for each in clusters if each]
    warnings = []
    total = sum(map(len, ordered))
    core_of = {thread: number for number, each in enumerate(cores_of_threads) for thread in each}
    core_count = len({core_of.get(thread, -1 - thread) for each in ordered for thread in each})
    system: list[int] = []
    if core_count > ranks:
        lowest = min(min(each) for each in ordered)  # interrupts come there
        system = sorted(next((each for each in cores_of_threads if lowest in each), [lowest]))
        ordered = [[core for core in each if core not in system] for each in ordered]
        ordered = [each for each in ordered if each]
    else:
        warnings.append(f"no core is left for the system ({core_count} cores, {ranks} ranks)")
    if total < ranks:
        warnings.append(
            f"ranks share processors ({total} processors, {ranks} ranks): what is measured is how they wait"
        )
    places = _deal(_by_turn(ordered, cores_of_threads), writers_count, together, warnings)
    firsts, lasts = [each[0] for each in places], [each[-1] for each in places]
    creators, writers = list(range(writers_count)), list(range(writers_count))
    if split:
        writers = [rank + writers_count for rank in creators]
    return Plan([*firsts, *lasts] if split else firsts, creators, writers, writers[:aggregators], system, warnings)


Turns = list[list[list[int]]]
"""Processors by turn and cluster: first one of each core, then the second one of each, ..."""


def _by_turn(clusters: list[list[int]], cores_of_threads: list[list[int]]) -> Turns:
    turn = {thread: each.index(thread) for each in cores_of_threads for thread in each}
    last = max(turn.get(thread, 0) for each in clusters for thread in each)
    return [[[core for core in each if turn.get(core, 0) == now] for each in clusters] for now in range(last + 1)]


def _deal(turns: Turns, groups: int, together: int, warnings: list[str]) -> list[list[int]]:
    """A group after the other to the next cluster: the first groups are in different clusters."""
    count = len(turns[0])
    rest: list[list[int]] = [[] for _ in range(count)]
    places: list[list[int]] = []
    following = list(turns)
    number = 0
    while len(places) < groups:
        able = [i for i in range(count) if len(rest[i]) >= together]
        left = sorted(core for each in rest for core in each)
        if able:
            chosen = min(able, key=lambda i: (i - number) % count)
            places.append([rest[chosen].pop(0) for _ in range(together)])
            number = chosen + 1
        elif following:  # more processors, of cores that are used already
            for mine, more in zip(rest, following.pop(0), strict=True):
                mine += more
        elif len(left) >= together:
            warnings.append(f"processors {', '.join(map(str, left[:together]))} are a pair that shares no cache")
            places.append(left[:together])
            rest = [[core for core in each if core not in places[-1]] for each in rest]
        else:  # once more: processors are shared from here on
            following = list(turns)
            if sum(map(len, turns[0])) < together:
                following = [[[core for core in each for _ in range(together)] for each in turn] for turn in turns]
    return places


def as_mpich(plan: Plan) -> str:
    """Words for mpiexec."""
    return f"-bind-to user:{','.join(map(str, plan.core_of_rank))}"


def as_open_mpi(plan: Plan, host: str) -> str:
    """A rankfile."""
    return "".join(f"rank {rank}={host} slot={core}\n" for rank, core in enumerate(plan.core_of_rank))


def as_slurm(plan: Plan) -> str:
    """Words for srun, on one node."""
    return f"--cpu-bind=map_cpu:{','.join(map(str, plan.core_of_rank))}"


def as_readout(plan: Plan) -> str:
    """What `thalweg readout` takes as --pinning: what a creator does is building, what a writer does is serving."""
    build = ",".join(str(plan.core_of_rank[rank]) for rank in plan.creators)
    serve = ",".join(str(plan.core_of_rank[rank]) for rank in plan.writers)
    return f"build={build},serve={serve}"
