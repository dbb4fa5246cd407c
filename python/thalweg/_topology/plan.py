"""Plans where creators, writers and aggregators run: a creator and its writer share a cache, aggregators do not share
one, and the system gets a core of its own if one is left."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg._base.errors import UsageError


@dataclass(frozen=True)
class RankPlan:
    """A plan by rank numbers: first the creators, then the writer of each. Without a split, each rank is both."""

    core_of_rank: list[int]
    creators: list[int]
    writers: list[int]
    aggregators: list[int]
    system: list[int]
    """The processors for interrupts and all other processes."""
    warnings: list[str]


def make_plan(
    clusters: list[list[int]],
    cores_of_threads: list[list[int]],
    ranks: int,
    aggregators: int = 1,
    *,
    split: bool = True,
) -> RankPlan:
    """Returns a plan for clusters of processors; `cores_of_threads` has the processors of each core.

    Each rank gets a core of its own if there are enough cores, else a processor of its own, else it shares one. Raises
    UsageError if the numbers of ranks and aggregators do not fit."""
    if ranks < (2 if split else 1) or (split and ranks % 2):
        raise UsageError(
            f"{ranks} ranks cannot be planned (half of them create, half write): give an even number, or --all-ranks"
        )
    writers_count = ranks // 2 if split else ranks
    if not 1 <= aggregators <= writers_count:
        raise UsageError(
            f"{aggregators} aggregators cannot be chosen among {writers_count} writers: give 1 to {writers_count}"
        )
    together = 2 if split else 1
    ordered = [sorted(each) for each in clusters if each]
    warnings = []
    total = sum(map(len, ordered))
    core_of = {thread: number for number, each in enumerate(cores_of_threads) for thread in each}
    core_count = len({core_of.get(thread, -1 - thread) for each in ordered for thread in each})
    system: list[int] = []
    if core_count > ranks:
        lowest = min(min(each) for each in ordered)  # interrupts usually go to this processor
        system = sorted(next((each for each in cores_of_threads if lowest in each), [lowest]))
        ordered = [[core for core in each if core not in system] for each in ordered]
        ordered = [each for each in ordered if each]
    else:
        warnings.append(f"no core is left for the system ({core_count} cores, {ranks} ranks)")
    if total < ranks:
        warnings.append(f"ranks share processors ({total} processors, {ranks} ranks), so that they wait for each other")
    places = _deal(_by_turn(ordered, cores_of_threads), writers_count, together, warnings)
    firsts, lasts = [each[0] for each in places], [each[-1] for each in places]
    creators, writers = list(range(writers_count)), list(range(writers_count))
    if split:
        writers = [rank + writers_count for rank in creators]
    return RankPlan([*firsts, *lasts] if split else firsts, creators, writers, writers[:aggregators], system, warnings)


Turns = list[list[list[int]]]
"""Processors by turn and cluster: the first turn has one processor of each core, the second turn the next ones, ..."""


def _by_turn(clusters: list[list[int]], cores_of_threads: list[list[int]]) -> Turns:
    turn = {thread: each.index(thread) for each in cores_of_threads for thread in each}
    last = max(turn.get(thread, 0) for each in clusters for thread in each)
    return [[[core for core in each if turn.get(core, 0) == now] for each in clusters] for now in range(last + 1)]


def _deal(turns: Turns, groups: int, together: int, warnings: list[str]) -> list[list[int]]:
    """Assigns each group to the next cluster, so that the first groups are in different clusters."""
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
        elif following:  # take more processors, of cores that are used already
            for mine, more in zip(rest, following.pop(0), strict=True):
                mine += more
        elif len(left) >= together:
            warnings.append(f"the pair on processors {', '.join(map(str, left[:together]))} shares no cache")
            places.append(left[:together])
            rest = [[core for core in each if core not in places[-1]] for each in rest]
        else:  # begin again: from here on ranks share processors
            following = list(turns)
            if sum(map(len, turns[0])) < together:
                following = [[[core for core in each for _ in range(together)] for each in turn] for turn in turns]
    return places


def as_mpich(plan: RankPlan) -> str:
    """Returns the option for mpiexec of MPICH."""
    return f"-bind-to user:{','.join(map(str, plan.core_of_rank))}"


def as_open_mpi(plan: RankPlan, host: str) -> str:
    """Returns a rankfile of Open MPI."""
    return "".join(f"rank {rank}={host} slot={core}\n" for rank, core in enumerate(plan.core_of_rank))


def as_slurm(plan: RankPlan) -> str:
    """Returns the option for srun, on one node."""
    return f"--cpu-bind=map_cpu:{','.join(map(str, plan.core_of_rank))}"


def as_readout(plan: RankPlan) -> str:
    """Returns the text for --pinning of `thalweg readout`: creators build, writers serve."""
    build = ",".join(str(plan.core_of_rank[rank]) for rank in plan.creators)
    serve = ",".join(str(plan.core_of_rank[rank]) for rank in plan.writers)
    return f"build={build},serve={serve}"
