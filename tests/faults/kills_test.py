"""The campaign of kills, in short: always the same rounds. THALWEG_KILLS_S makes it last so many seconds, with any.

And the judge finds what is wrong with a file. Jobs of derivations have derive_kills_test.py.
"""

import dataclasses
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from kill_games import LIMIT_S, kills_in, play_game
from kills import campaign, judge, rows
from kills.plan import Life, Plan, Strike, Worker, make_plan
from kills.round import Round
from kills.values import Column


@pytest.mark.timeout(LIMIT_S)
def test_nothing_is_lost(repository: Path, tmp_path: Path) -> None:
    printed = play_game("record", 24, repository, tmp_path, "--columns", "200")
    assert kills_in(printed) > 20
    kinds = re.findall(r"\d   ([a-z ]+)$", printed, re.MULTILINE)
    assert {"close", "committer", "creation", "everything", "producer", "recover", "resume"} <= set(kinds)


COLUMNS = (
    Column("number", "scalar", "int32", (), 0, 7, is_calm=False),
    Column("trace", "array", "uint16", (5,), 0, 8, is_calm=True),
    Column("hits", "list", "float32", (), 6, 9, is_calm=False),
    Column("name", "text", "uint8", (), 6, 10, is_calm=False),
)
WORKERS = (Worker(True, False, 60, 0.001, True), Worker(False, True, 60, 0.001, True))
LIFE = Life(WORKERS, (), Strike("everything", 0.2), False, False, "left", goes_on=False, stops_s=())


def plan_of(extension: str) -> Plan:
    plan = make_plan(4 if extension == ".h5" else 5)
    tables = {"t0": COLUMNS, "t1": COLUMNS[:1]}
    simple = {
        "place": "disk",
        "small_memory": "",
        "tables": tables,
        "max_bytes": 0,
        "creations_s": (),
        "lives": (LIFE,),
    }
    return dataclasses.replace(plan, **simple)


# No other work runs in this process: its threads, if it has any, wait.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@pytest.fixture(params=[".h5", ".root"])
def played(request: pytest.FixtureRequest, tmp_path: Path) -> Round:
    """A round in which everything was right. The tests change what was reported."""
    round_ = Round(plan_of(request.param), tmp_path)
    round_.play()
    return round_


def judged_again(played: Round) -> None:
    played.context.judge(played.reports, played.context.files(), judge.COMPLETE)


def test_the_judge_finds_rows_that_are_missing(played: Round) -> None:
    stream = next(iter(played.reports.streams.values()))
    stream.safe = stream.said + 1000
    with pytest.raises(judge.WrongError, match="rows are lost"):
        judged_again(played)


def test_the_judge_finds_rows_that_were_never_appended(played: Round) -> None:
    for stream in played.reports.streams.values():
        stream.tried = stream.safe = 0
    with pytest.raises(judge.WrongError, match="and 0 were tried"):
        judged_again(played)


def test_the_judge_finds_units_that_are_missing_or_should_not_be_there(played: Round) -> None:
    (attempt,) = next(each for each in played.reports.attempts.values() if len(each) == 1).values()
    attempt.state = "dropped" if attempt.state == "committed" else "committed"
    with pytest.raises(judge.WrongError, match="unit"):
        judged_again(played)


def test_the_judge_finds_an_order_that_is_wrong() -> None:
    plan = dataclasses.replace(plan_of(".root"), keys_per_group=3)

    def check(listed: list[int], *keys: list[int]) -> None:
        writers = [np.array([rows.unit_writer(key, 7) for key in each], np.uint64) for each in keys]
        judge.check_order(plan, listed, writers, Path("run.root"))

    check([0, 1, 2, 6, 7, 8], [0, 0, 2, 7], [])
    with pytest.raises(judge.WrongError, match="not listed in the order"):
        check([0, 2, 1], [], [])
    with pytest.raises(judge.WrongError, match=r"parts of groups are there: \[7\] are not"):
        check([0, 1, 2, 6, 8], [], [])
    with pytest.raises(judge.WrongError, match=r"table t1: rows behind \[1\] are not in the order"):
        check([0, 1, 2], [0, 1, 2], [0, 2, 1])


def test_the_judge_finds_values_that_are_wrong(played: Round) -> None:
    """The judge takes them for values of another column."""
    columns = [dataclasses.replace(column, seed=column.seed + 1) for column in COLUMNS]
    for index, column in enumerate(columns):
        tables = played.plan.tables | {"t0": (*COLUMNS[:index], column, *COLUMNS[index + 1 :])}
        played.context.plan = dataclasses.replace(played.plan, tables=tables)
        with pytest.raises(judge.WrongError, match=f"t0/{column.name}"):
            judged_again(played)
        played.context.forgive_failures()


class Talkative:
    """A round that finds more than fits into a pipe."""

    def __init__(self, *_: object) -> None:
        self.counts = Counter({"told": 1})

    def play(self) -> None:
        raise judge.WrongError("é" * 1_000_000)

    def end(self) -> None: ...

    def save_reports(self, path: Path) -> None: ...


@pytest.mark.timeout(60)
def test_a_round_that_finds_much_does_not_end_the_campaign(tmp_path: Path) -> None:
    game = campaign.Game("any", lambda seed: SimpleNamespace(seed=seed, place="disk", small_memory=""), Talkative)
    played = campaign.Campaign(campaign.Options(game, tmp_path, first_seed=1, rounds=2, seconds=0, jobs=1))
    played.run()
    assert played.total["told"] == 2
    assert sorted(played.findings) == [1, 2]
    assert "WrongError: ééé" in played.findings[1]
    assert (tmp_path / "seed-1/found.txt").stat().st_size > 1_000_000
