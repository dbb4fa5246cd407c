"""The judges that are not ours, in short: always the same seeds. `make judges SECONDS=600` plays others.

Each control is a writer that breaks its promise, and must be found.
"""

import dataclasses
import errno
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import cached_folder
import campaign
import controls
import cuts
import expected
import faulty_device
import judge
import mounted
import numpy as np
import pytest
from derivation import DERIVED_RANGE_BYTES, derivation, make_input
from judge import Verdict, wrong_rows
from promises import Promise, Said
from recordings import Choices, Recorder, blocks_of, choose

import thalweg as tw
from thalweg.checkpoint import save

Play = Callable[..., tuple[int, str]]
WHY_NOT = mounted.why_not(campaign.PROGRAMS)
needs_judges = pytest.mark.skipif(bool(WHY_NOT), reason=f"left out: {WHY_NOT}")


@pytest.fixture
def play(repository: Path) -> Play:
    def run(program: str, *words: object, before: tuple[str, ...] = ()) -> tuple[int, str]:
        command = [*before, sys.executable, repository / "tests/judges" / program, *map(str, words)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=repository, env=environment, timeout=550
        )
        return done.returncode, done.stdout + done.stderr

    return run


def count(said: str, what: str) -> int:
    found = re.search(rf"([\d,]+) {what}$", said, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else 0


@needs_judges
def test_power_cuts_break_no_promise(play: Play) -> None:
    code, said = play("campaign.py", "--judge", "cuts", "--seed", 0, "--rounds", 6, "--cuts", 40)
    assert code == 0, said
    assert count(said, "cuts") > 200
    for file_system in ("ext4", "xfs", "btrfs"):
        assert count(said, f"cuts: {file_system}") >= 60


@needs_judges
def test_a_call_that_fails_costs_nothing_that_is_not_said(play: Play) -> None:
    code, said = play("campaign.py", "--judge", "calls", "--seed", 0, "--rounds", 11)
    assert code == 0, said
    assert count(said, "calls that failed") > 100
    assert count(said, "calls that failed") + count(said, "calls that were not reached") > 150
    assert count(said, "calls left out: futex") > 100


@needs_judges
def test_a_device_that_fails_costs_nothing_that_was_promised(play: Play) -> None:
    code, said = play("campaign.py", "--judge", "devices", "--seed", 0, "--rounds", 4)
    assert code == 0, said
    assert count(said, "failing devices") == 4
    code, said = play("faulty_device.py", "--seed", 2481, "--rounds", 1)  # its recovery had promised too much
    assert code == 0, said
    assert "recovered at once" in said


@needs_judges
def test_caches_of_the_folder_cost_no_row_of_a_node(play: Play) -> None:
    code, said = play("campaign.py", "--judge", "caches", "--seed", 0, "--rounds", 10)
    assert code == 0, said
    assert count(said, "cached folders") == 10


@needs_judges
def test_a_copied_file_system_takes_no_memory_of_the_original(play: Play) -> None:
    code, said = play("copied_file_system.py")
    assert code == 0, said
    assert count(said, "copies of a file system") == 2
    assert count(said, "file systems mounted again") == 2


@needs_judges
@pytest.mark.parametrize("control", controls.CONTROLS)
def test_a_writer_that_breaks_its_promise_is_found(play: Play, control: str, repository: Path) -> None:
    if control == "eatmydata" and controls.why_not_eatmydata():
        pytest.skip(controls.why_not_eatmydata())
    code, said = play("cuts.py", "--subject", control, "--cuts", 20)
    assert code == 1, said
    assert re.search(r"^\d+:\w+: (?!the judge failed)", said, re.MULTILINE), said
    # The finding keeps its log, and a line repeats it.
    repeat = re.search(r"to repeat: python tests/judges/(cuts\.py --kept (\S+) .*)", said)
    assert repeat, said
    kept = repository / repeat[2]
    assert {each.name for each in kept.iterdir()} >= {"log", "said", "choices"}
    code, again = play(*repeat[1].split())
    assert code == 1, again
    assert re.search(r"^\d+:\w+: (?!the judge failed)", again, re.MULTILINE), again


def test_what_cannot_be_mounted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(mounted, "FUSE", Path("/nowhere/fuse"))
    assert mounted.why_not() == "/nowhere/fuse cannot be opened"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root" in mounted.why_not()


@needs_judges
def test_a_root_that_may_not_mount_gets_no_answer_that_looks_like_one(play: Play) -> None:
    code, said = play("campaign.py", "--rounds", 1, before=("setpriv", "--bounding-set", "-sys_admin"))
    assert code == 2
    assert re.fullmatch(r"the judges are left out: .*unshare: Operation not permitted\n", said)


CHOICES = Choices("records")


def found(producer: int, *rows: int) -> expected.Found:
    numbers, producers = np.array(rows, np.uint64), np.full(len(rows), producer, np.uint64)
    return expected.Found(producers, numbers, *expected.values(producers, numbers))


def test_the_judge_finds_rows_that_are_missing_doubled_or_invented() -> None:
    promise = Promise(rows={1: 3}, tried={1: 5})
    assert wrong_rows(found(1, 0, 1, 2, 3), promise, CHOICES) == []
    assert "3 were promised" in wrong_rows(found(1, 0, 1), promise, CHOICES)[0]
    assert "no prefix" in wrong_rows(found(1, 0, 1, 2, 2), promise, CHOICES)[0]
    assert "5 were given" in wrong_rows(found(1, *range(6)), promise, CHOICES)[0]
    assert wrong_rows(found(1, 0, 1, 2, 4), promise, CHOICES, may_have_gaps=True) == []
    assert "3 were promised" in wrong_rows(found(1, 0, 1, 4), promise, CHOICES, may_have_gaps=True)[0]


def test_the_judge_finds_values_that_are_wrong() -> None:
    wrong = found(1, 0, 1, 2)
    assert wrong.w is not None
    wrong.x[1] += 1
    wrong.w[2, 5] ^= 1
    assert wrong.wrong_values() == ["x is wrong in 1 of 3 rows", "w is wrong in 1 of 3 rows"]


def test_the_judge_finds_units_that_are_missing_or_there_in_part() -> None:
    units = Choices("units")
    promise = Promise(units={7}, tried_units={7, 8}, dropped_units={8})
    assert wrong_rows(found(7, *range(expected.rows_of_unit(7))), promise, units) == []
    assert "in part" in wrong_rows(found(7, 0, 1), promise, units)[0]
    assert "dropped" in " ".join(wrong_rows(found(8, *range(expected.rows_of_unit(8))), promise, units))


def test_file_systems_are_excused_for_little() -> None:
    torn = OSError(errno.EUCLEAN, "damaged")
    assert cuts.is_excused(torn, "torn", "btrfs")
    assert not cuts.is_excused(torn, "torn", "ext4")
    assert not cuts.is_excused(torn, "some", "btrfs")
    checksum = OSError(errno.EBADMSG, "bad message")
    assert cuts.is_excused(checksum, "torn", "ext4")
    assert not cuts.is_excused(checksum, "some", "ext4")
    assert not cuts.is_excused(checksum, "torn", "xfs")
    assert not cuts.is_excused(OSError(errno.EBUSY, "busy"), "torn", "btrfs")
    writes, reads = (faulty_device.Fault(f"EIO on {what}", "5%", 0, 1, "xfs") for what in ("write", "read"))
    assert faulty_device.is_excused(writes, Promise(is_created=True))
    assert not faulty_device.is_excused(reads, Promise(is_created=True))
    assert not faulty_device.is_excused(writes, Promise(rows={0: 3}))


def test_a_file_that_is_gone_is_found_if_a_node_has_written_it(tmp_path: Path) -> None:
    plan, error, rows = cached_folder.choose(0), {"error": "UsageError"}, {"rows": 400, "whole": True}
    assert cached_folder.judge(plan, tmp_path, [error, error]) == []
    (wrong,) = cached_folder.judge(plan, tmp_path, [error, rows])
    assert "does not open" in wrong


def test_signs_of_life_are_left_only_if_names_are_cached(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    beats = tmp_path / "run.h5.parts/beats-0002"
    beats.parent.mkdir()
    beats.touch()
    assert cached_folder.left_behind(tmp_path, path, cached_folder.Cache(10, 10, 1)) == []
    assert cached_folder.left_behind(tmp_path, path, cached_folder.Cache(10)) == [
        "run.h5.parts",
        "run.h5.parts/beats-0002",
    ]


def test_a_judge_that_finds_much_is_heard() -> None:
    verdict = cuts.in_child(lambda: Verdict(3, wrong=["é" * 100_000] * 1000))
    assert verdict.rows == 3
    assert [len(each) < 1100 for each in verdict.wrong] == [True] * 9
    assert verdict.wrong[-1] == "and 992 sentences more"


@pytest.mark.parametrize("control", ["h5py", "swmr", "uproot"])
def test_the_file_of_a_control_reads_right_if_nothing_is_cut(tmp_path: Path, control: str) -> None:
    """So what the judge finds in a file that was cut is the cut."""
    choices = dataclasses.replace(choose(0, control), seconds=0.3)
    said = tmp_path / "said"
    recorder = Recorder(choices, tmp_path, said, said)
    write = controls.write_with_uproot if control == "uproot" else controls.write_with_h5py
    write(recorder)
    promise = Said(said).at(faulty_device.END)
    assert promise.rows[0] > 0
    verdict = judge.judge(tmp_path, choices, promise, random.Random(0))
    assert verdict.wrong == []
    assert verdict.rows >= promise.rows[0]
    with recorder.path.open("r+b") as file:
        file.truncate(recorder.path.stat().st_size // 2)
    assert judge.judge(tmp_path, choices, promise, random.Random(0)).wrong


def checkpoints(path: Path) -> Promise:
    for step in range(2):
        save(path, blocks_of(step), attributes={"step": step})
    return Promise(saved=1)


def derived(path: Path) -> Promise:
    make_input(path.parent.parent / "input.root")
    tw.derive(*derivation(path), workers=1, range_bytes=DERIVED_RANGE_BYTES).run()
    return Promise(is_created=True, is_closed=True)


def rotated(path: Path) -> Promise:
    with tw.create(path.with_name(f"{path.stem}-0001{path.suffix}"), expected.schema(), codec="none") as out:
        out.producer("events").append(**expected.rows(1, 0, 5))
    return Promise(is_created=True, rows={1: 5}, tried={1: 5})


@pytest.mark.parametrize(
    ("subject", "make", "left"),
    [
        ("checkpoints", checkpoints, "run.h5.2"),
        ("derive", derived, "run.h5.journal"),
        ("rotation", rotated, "run-0001.h5.parts"),
    ],
)
def test_the_judge_finds_what_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subject: str, make: Callable[[Path], Promise], left: str
) -> None:
    monkeypatch.setattr(mounted, "shared_memory", list)
    folder, choices = tmp_path / "folder", Choices(subject)
    folder.mkdir()
    promise = make(folder / choices.file)
    assert judge.judge(folder, choices, promise, random.Random(0)).wrong == []
    (folder / left).touch()
    if subject == "checkpoints":
        promise = Promise()
    assert judge.judge(folder, choices, promise, random.Random(0)).wrong == [f"left behind: ['{left}']"]


def test_a_promise_holds_from_the_length_that_the_log_had(tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.write_text(
        "\n".join(
            [
                '{"what": "created", "node": 1, "log": 10}',
                '{"what": "trying", "node": 1, "producer": 4, "rows": 2}',
                '{"what": "appended", "node": 1, "producer": 4, "rows": 2, "at": 1.0}',
                '{"what": "durable", "node": 1, "log": 30, "rows_at": 1.5, "units_at": 1.5}',
                '{"what": "appended", "node": 1, "producer": 4, "rows": 3, "at": 1.6}',
                '{"what": "closed", "node": 1, "log": 50}',
            ]
        )
    )
    assert [Said(said).at(length).is_created for length in (9, 10)] == [False, True]
    assert [Said(said).at(length).rows for length in (29, 30, 50)] == [{}, {4: 2}, {4: 3}]
