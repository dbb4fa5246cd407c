"""Clusters are found in matrices of machines that are not here, and plans hold what they promise. Measuring needs two
cores, which prove nothing about clusters."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tracing import MPI_RUN, THALWEG

from thalweg._base.errors import DataError, UsageError
from thalweg._topology.clusters import agrees, levels, nearest
from thalweg._topology.command import Findings, find_plan
from thalweg._topology.matrix import STEADY, Matrix, measure, of_json
from thalweg._topology.picture import draw_latencies
from thalweg._topology.plan import RankPlan, as_mpich, as_open_mpi, as_readout, as_slurm, make_plan

# The workstation of the study of aggregators: 64 cores in 8 complexes; medians as it drew them.
INSIDE_NS, BETWEEN_NS, THREAD_NS = 22.0, 95.0, 7.0
PAPER = "pack:1 l3:8 core:8 pu:1"


def synthetic(groups: list[list[int]], noise: float, seed: int, threads: int = 1) -> Matrix:
    """Cores of a group are near, and `threads` in a row nearer; noise is relative, and some are disturbed."""
    count = sum(map(len, groups))
    which = np.empty(count, int)
    for number, members in enumerate(groups):
        which[members] = number
    distance = np.where(which[:, None] == which[None, :], INSIDE_NS, BETWEEN_NS)
    core = np.arange(count) // threads
    distance = np.where(core[:, None] == core[None, :], THREAD_NS, distance) if threads > 1 else distance
    random = np.random.default_rng(seed)
    factor = random.lognormal(0, noise, (count, count))
    factor *= np.where(random.random((count, count)) < 0.01, 3.0, 1.0)
    noisy = distance * np.triu(factor, 1)
    noisy += noisy.T
    ones = np.ones((count, count))
    return Matrix(list(range(count)), noisy, noisy * 0.95, ones, ones.astype(int))


EIGHT = [list(range(8 * i, 8 * i + 8)) for i in range(8)]


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.15])
@pytest.mark.parametrize("seed", range(10))
def test_the_complexes_of_the_paper_are_found(noise: float, seed: int) -> None:
    found = levels(synthetic(EIGHT, noise, seed).median)
    assert [level.clusters for level in found] == [EIGHT]
    assert found[0].inside_ns == pytest.approx(INSIDE_NS, rel=0.1)
    assert found[0].between_ns == pytest.approx(BETWEEN_NS, rel=0.1)
    assert agrees(found, EIGHT)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_whose_cores_are_not_in_a_row_are_found(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(64).tolist()
    shuffled = sorted(sorted(order[8 * i : 8 * i + 8]) for i in range(8))
    found = levels(synthetic(shuffled, 0.1, seed).median)
    assert [level.clusters for level in found] == [shuffled]
    assert agrees(found, EIGHT) is False


def test_threads_of_a_core_are_a_level_of_their_own() -> None:
    pairs = [[2 * i, 2 * i + 1] for i in range(16)]
    groups = [list(range(16)), list(range(16, 32))]
    found = levels(synthetic(groups, 0.05, 1, threads=2).median)
    assert [level.clusters for level in found] == [pairs, groups]
    assert nearest(found, [], 32) == groups


def test_complexes_that_are_linked_are_a_level_of_their_own() -> None:
    """As the paper's picture shows it: two neighbours each are nearer to each other than to the rest."""
    matrix = synthetic(EIGHT, 0.05, 2)
    linked = [sorted(EIGHT[2 * i] + EIGHT[2 * i + 1]) for i in range(4)]
    for members in linked:
        block = np.ix_(members, members)
        far = matrix.median[block] > 2 * INSIDE_NS
        matrix.median[block] = np.where(far, matrix.median[block] * 0.6, matrix.median[block])
    found = levels(matrix.median)
    assert [level.clusters for level in found] == [EIGHT, linked]
    assert agrees(found, EIGHT)


@pytest.mark.parametrize("count", [2, 3, 16])
@pytest.mark.parametrize("seed", range(5))
def test_a_machine_of_one_complex_has_no_clusters(count: int, seed: int) -> None:
    one = [list(range(count))]
    matrix = synthetic(one, 0.03, seed)
    matrix.median[matrix.median > 2 * INSIDE_NS] /= 3.0  # without what was disturbed
    found = levels(matrix.median)
    assert found == []
    assert agrees(found, one) is None
    assert agrees(found, [[i] for i in range(count)]) is (None if count == 2 else False)
    assert nearest(found, one, count) == one


def of_paper() -> Findings:
    return find_plan(synthetic(EIGHT, 0.1, 3), PAPER)


def test_what_was_measured_is_held_against_the_description() -> None:
    findings = of_paper()
    assert findings.agrees
    assert any(re.match(r"8 clusters: 2[123] ns inside them, 9\d ns between them", line) for line in findings.lines())
    assert any("the system describes the same: 8 groups" in line for line in findings.lines())
    other = find_plan(synthetic(EIGHT, 0.1, 3), "pack:1 l3:4 core:16 pu:1")
    assert other.agrees is False
    assert any("the system describes something else (4 groups" in line for line in other.lines())
    assert other.clusters() == EIGHT


def cluster_of(core: int) -> int:
    return core // 8


@pytest.mark.parametrize("ranks", [4, 8, 12, 48])
def test_a_creator_and_its_writer_share_a_cache_and_aggregators_do_not(ranks: int) -> None:
    wanted = min(ranks // 2, 6)
    plan = of_paper().plan(ranks, wanted, split=True)
    assert len(set(plan.core_of_rank)) == ranks
    pairs = zip(plan.creators, plan.writers, strict=True)
    assert all(cluster_of(plan.core_of_rank[a]) == cluster_of(plan.core_of_rank[b]) for a, b in pairs)
    assert len({cluster_of(plan.core_of_rank[rank]) for rank in plan.aggregators}) == wanted
    assert plan.aggregators == plan.writers[:wanted]  # those that *:N chooses
    assert plan.system == [0]
    assert 0 not in plan.core_of_rank
    assert plan.warnings == []


def test_ranks_that_do_both_are_spread_over_clusters() -> None:
    plan = of_paper().plan(8, 4, split=False)
    assert {cluster_of(core) for core in plan.core_of_rank} == set(range(8))
    assert (plan.creators, plan.writers) == (list(range(8)), list(range(8)))


def test_a_core_with_two_threads_is_used_once_while_there_are_others() -> None:
    cores = [[2 * i, 2 * i + 1] for i in range(8)]
    plan = make_plan([list(range(8)), list(range(8, 16))], cores, 6)
    assert len({core // 2 for core in plan.core_of_rank}) == 6
    assert plan.warnings == []
    assert plan.system == [0, 1]


def test_too_many_ranks_share_cores_and_that_is_said() -> None:
    plan = make_plan([[0, 1]], [[0], [1]], 4)
    assert sorted(plan.core_of_rank) == [0, 0, 1, 1]
    assert plan.system == []
    assert [warning.partition(" (")[0] for warning in plan.warnings] == [
        "no core is left for the system",
        "ranks share processors",
    ]
    alone = make_plan([[0], [1], [2]], [[0], [1], [2]], 2)
    assert any("shares no cache" in each for each in alone.warnings)


@pytest.mark.parametrize(("ranks", "aggregators"), [(3, 1), (0, 1), (4, 3), (4, 0)])
def test_plans_that_cannot_be_are_refused(ranks: int, aggregators: int) -> None:
    with pytest.raises(UsageError):
        make_plan(EIGHT, [[i] for i in range(64)], ranks, aggregators)


def test_plans_as_launchers_read_them() -> None:
    plan = RankPlan([3, 5, 4, 6], [0, 1], [2, 3], [2], [0], [])
    assert as_mpich(plan) == "-bind-to user:3,5,4,6"
    assert as_open_mpi(plan, "node") == "".join(
        f"rank {rank}=node slot={core}\n" for rank, core in enumerate((3, 5, 4, 6))
    )
    assert as_slurm(plan) == "--cpu-bind=map_cpu:3,5,4,6"
    assert as_readout(plan) == "build=3,5,serve=4,6"


def test_a_pair_is_measured_until_it_is_steady() -> None:
    calls = 0

    def one(_first: int, _second: int, rounds: int) -> list[float]:
        nonlocal calls
        calls += 1
        return [50.0] * rounds if calls == 3 else [40.0, *([50.0, 500.0] * rounds)][:rounds]

    matrix = measure([0, 1], 20, 10, one)
    assert calls == 3
    assert (matrix.median[0, 1], matrix.minimum[1, 0], matrix.spread[0, 1], matrix.attempts[0, 1]) == (50, 40, 1, 3)
    assert matrix.unsteady == []
    calls = 10
    matrix = measure([0, 1], 20, 4, one)
    assert (calls, matrix.unsteady) == (14, [(0, 1)])
    assert "never steady" in " ".join(find_plan(matrix).lines())


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_this_machine(tmp_path: Path) -> None:
    saved, picture = tmp_path / "m.json", tmp_path / "m.png"
    words = [THALWEG, "topology", "--rounds", "20", "--attempts", "2", "--cores"]
    cores = sorted(os.sched_getaffinity(0))[:2]
    words += [",".join(map(str, cores)), "--save", saved, "--picture", picture, "--json", "--ranks", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["matrix"]["cores"] == cores
    assert 1 < facts["matrix"]["minimum_ns"][0][1] <= facts["matrix"]["median_ns"][0][1]
    assert sorted(facts["plan"]["core_of_rank"]) == cores
    assert set(facts["machine"]) == {"smt", "governor", "host"}
    assert of_json(str(saved)).cores == cores
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_plan_of_another_machine_is_written_for_launchers(tmp_path: Path) -> None:
    saved = tmp_path / "m.json"
    saved.write_text(synthetic(EIGHT, 0.1, 3).to_json())
    words = [THALWEG, "topology", "--matrix", saved, "--machine", PAPER, "--ranks", "8", "--aggregators", "2"]
    done = subprocess.run([*words, "--format", "openmpi"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["rank"] * 8
    assert "8 clusters" in done.stderr
    assert "aggregators: ranks 4, 5" in done.stderr


@pytest.mark.skipif(MPI_RUN is None, reason="there is no MPICH: `tools/system-packages bench` installs it")
def test_mpich_puts_ranks_where_the_plan_says() -> None:
    cores = sorted(os.sched_getaffinity(0))[-2:]
    plan = RankPlan([cores[-1], cores[0]], [0], [1], [1], [], [])
    script = "echo $PMI_RANK $(taskset -cp $$ | sed 's/.*: //')"
    words = [str(MPI_RUN), *as_mpich(plan).split(), "-n", "2", "bash", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split("\n"))[1:] == [f"0 {cores[-1]}", f"1 {cores[0]}"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "pbs"), "there is no format 'pbs'"),
        (("--cores", "1-x"), "1-x is not a list of cores"),
        (("--cores", "0"), "need two cores"),
        (("--cores", "0,8000"), "8000"),
        (("--matrix", "missing.json"), "missing.json cannot be read"),
        (("--machine", PAPER), "without --matrix"),
        (("--rounds", "1"), "is too few"),
    ],
)
def test_wrong_requests_are_refused(words: tuple[str, ...], said: str) -> None:
    done = subprocess.run([THALWEG, "topology", *words], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cores": [0, 1], "median_ns": [[0]]}'])
def test_what_is_no_matrix_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(DataError):
        of_json(str(tmp_path / "m.json"))


def test_the_picture_of_many_cores_is_drawn(tmp_path: Path) -> None:
    matrix = synthetic(EIGHT, 0.1, 3)
    draw_latencies(matrix, str(tmp_path / "m.png"))
    assert (tmp_path / "m.png").stat().st_size > 10_000
    assert STEADY == 1.1
