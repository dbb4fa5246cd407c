"""The campaign of jobs of derivations that are killed, in short: always the same rounds, as `kills_test.py` has them of
recordings. THALWEG_KILLS_S makes it last so many seconds, with any. And the judge finds what is wrong with an output.
"""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from kill_games import LIMIT_S, kills_in, play_game
from kills.derive import job
from kills.derive.judge import judge
from kills.derive.plan import Plan, make_plan
from kills.judge import WrongError

import thalweg as tw


@pytest.mark.timeout(LIMIT_S)
def test_whatever_is_killed_the_outputs_are_the_same(repository: Path, tmp_path: Path) -> None:
    printed = play_game("derive", 8, repository, tmp_path)
    assert kills_in(printed) > 20
    kinds = re.findall(r"\d   ([a-z ]+), ([a-z]+)$", printed, re.MULTILINE)
    assert {"ranges", "commit", "resume"} <= {moment for _, moment in kinds}
    assert {"worker", "job", "everything"} <= {victim for victim, _ in kinds}


Jobs = tuple[Plan, Path, Path]


@pytest.fixture(
    scope="module",
    params=[(".root", "functions", "any", 2), (".h5", "loop", "any", 1), (".root", "copies", "input", 3)],
)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """A job that ran twice without kills. The tests change what the second one has written."""
    extension, way, order, files = request.param
    changes = {"extension": extension, "way": way, "order": order, "workers": (2,), "clusters": 6, "pace_s": 0.0}
    plan = dataclasses.replace(make_plan(1), **changes, files=files, lacks=way == "functions")
    inputs = tmp_path_factory.mktemp("input")
    job.write_inputs(plan, inputs)
    calm, killed = tmp_path_factory.mktemp("calm"), tmp_path_factory.mktemp("killed")
    for folder in (calm, killed):
        derive(plan, inputs, folder)
    judge(plan, calm, killed)
    return plan, calm, killed


def derive(plan: Plan, inputs: Path, folder: Path) -> None:
    train, options = job.outputs(plan, folder)
    options |= {"ranges_per_group": 2} if plan.is_ordered else {}
    options |= {"missing": {"MET_phi": job.PHI}} if plan.lacks else {}
    tw.derive(job.sources(plan, inputs), train, workers=2, order=plan.order, range_bytes=1, force=True, **options).run()


def inputs_of(done: Jobs) -> Path:
    plan, calm, _ = done
    known = json.loads(tw.open(calm / f"lite{plan.extension}").metadata["derive.plan"])["inputs"]
    return Path(known[0]["path"]).parent


def test_the_judge_finds_rows_that_are_missing(
    done: Jobs, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plan, calm, killed = done
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    inputs = tmp_path_factory.mktemp("fewer")
    fewer = dataclasses.replace(plan, clusters=plan.clusters - 1)
    job.write_inputs(fewer, inputs)
    derive(fewer, inputs, tmp_path)
    with pytest.raises(WrongError, match="not those of an undisturbed job"):
        judge(plan, calm, tmp_path)


def test_the_judge_finds_values_that_are_wrong_in_both(done: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, calm, killed = done
    right = job.expected(plan)
    right["lite"] = right["lite"][:-1]
    monkeypatch.setattr("kills.derive.judge.expected", lambda _: right)
    with pytest.raises(WrongError, match=r"lite.*not those that the input gives"):
        judge(plan, calm, killed)


def test_the_judge_finds_sums_that_are_others(done: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Returns the sums of each range, and of all."""
    plan, calm, _ = done
    monkeypatch.setattr("kills.derive.job.sums", lambda of: {"weight": float(np.sum(of.weight)) * 1.001})
    monkeypatch.setattr("kills.derive.job.WEIGHT", 1.001)
    derive(plan, inputs_of(done), tmp_path)
    with pytest.raises(WrongError, match="sums of ranges are not those"):
        judge(plan, calm, tmp_path)
    monkeypatch.setattr("kills.derive.judge.read_units", lambda _: [])
    with pytest.raises(WrongError, match=r"sums are .* of an undisturbed job"):
        judge(plan, calm, tmp_path)


def test_the_judge_finds_what_is_left_behind(done: Jobs, tmp_path: Path) -> None:
    plan, calm, killed = done
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    (tmp_path / f"lite{plan.extension}.journal").touch()
    with pytest.raises(WrongError, match="left behind"):
        judge(plan, calm, tmp_path)
