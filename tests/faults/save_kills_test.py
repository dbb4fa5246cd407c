"""Jobs that save checkpoints are killed, in short: always the same rounds. THALWEG_KILLS_S makes it last so many
seconds, with any. And the judge finds what is wrong with the files.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kill_games import LIMIT_S, kills_in, play_game
from kills.checkpoint import job
from kills.checkpoint.judge import judge
from kills.checkpoint.plan import Plan, make_plan
from kills.checkpoint.round import Round
from kills.judge import WrongError

from thalweg.checkpoint import Block, save


@pytest.mark.timeout(LIMIT_S)
def test_whatever_is_killed_a_checkpoint_is_whole_and_no_copy_is_lost(repository: Path, tmp_path: Path) -> None:
    printed = play_game("checkpoint", 4, repository, tmp_path)
    assert kills_in(printed) > 10
    kinds = re.findall(r"\d   ([a-z0-9 ]+), (in|between) a (save|save_async)$", printed, re.MULTILINE)
    assert {"a rank", "rank 0", "all ranks"} <= {victim for victim, _, _ in kinds}
    assert {"save", "save_async"} <= {how for _, _, how in kinds}


def test_a_rank_that_is_left_must_end_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = job.run

    def run_in_silence(*given: Any) -> None:
        with contextlib.suppress(Exception):
            run(*given)

    monkeypatch.setattr(job, "run", run_in_silence)
    plan = make_plan(1)
    life = dataclasses.replace(
        plan.lives[0], ranks=3, strike=dataclasses.replace(plan.lives[0].strike, victim="a rank")
    )
    round_ = Round(dataclasses.replace(plan, lives=(life,)), tmp_path)
    try:
        with pytest.raises(WrongError, match=r"rank \d', 'rank \d'\] ended without an error"):
            round_.play()
    finally:
        round_.end()


PLAN = Plan(seed=0, rows=100, columns=10, lives=make_plan(1).lives)


def save_step(path: Path, step: float, attribute: int | None = None) -> None:
    psi = np.full((PLAN.rows, PLAN.columns), float(step))
    psi[-1] = step if attribute is None else attribute
    blocks = {"psi": Block(psi, psi.shape, (0, 0)), "step": Block(np.full(1, step), (1,), (0,))}
    save(path, blocks, attributes={"step": int(step)}, keep=3)


@pytest.fixture
def psi(tmp_path: Path) -> Path:
    path = tmp_path / "psi.h5"
    for step in (4, 5, 6):
        save_step(path, step)
    shutil.copy(path, f"{path}.20261125")
    look(path)
    return path


def look(path: Path, saved: tuple[int, ...] = (4, 5, 6), begun: int = 6) -> int:
    return judge(PLAN, path, saved=list(saved), begun=begun, copies={"psi.h5.20261125": 6}, keep=3)[0]


def test_the_judge_finds_a_step_that_is_lost_or_was_never_saved(psi: Path) -> None:
    with pytest.raises(WrongError, match=r"is of step 6; saved: .*7"):
        look(psi, (4, 5, 6, 7), begun=7)
    with pytest.raises(WrongError, match="is of step 6"):
        look(psi, (4, 5), begun=5)
    psi.unlink()
    with pytest.raises(WrongError, match=r"step 6 was saved, and psi\.h5 is not there"):
        look(psi)


def test_the_judge_finds_two_steps_in_one_file(psi: Path) -> None:
    save_step(psi, 7, attribute=6)
    with pytest.raises(WrongError, match="mixes steps"):
        look(psi, (4, 5, 6, 7), begun=7)


def test_the_judge_finds_an_older_one_that_is_lost(psi: Path) -> None:
    Path(f"{psi}.1").unlink()
    with pytest.raises(WrongError, match="step 5 was saved before 6"):
        look(psi)
    os.rename(f"{psi}.2", f"{psi}.1")
    shutil.copy(psi, f"{psi}.2")
    with pytest.raises(WrongError, match="not in their order"):
        look(psi)


def test_the_judge_finds_a_copy_that_is_changed(psi: Path) -> None:
    shutil.copy(f"{psi}.1", f"{psi}.20261125")
    with pytest.raises(WrongError, match=r"psi\.h5\.20261125 is no longer of step 6"):
        look(psi)


# Calls by which four saves change names and make them durable, and at which of them the saves are killed.
_MOMENTS = {"rename": (4, 7, 9, 12), "link": (2,), "fsync": (3,), "fdatasync": (6,), "unlink": (3,)}
_ALL_MOMENTS = {call: range(1, 40) for call in _MOMENTS}
_SAVER = """
import sys
import numpy as np
from thalweg.checkpoint import Block, save

for step in (1, 2, 3, 4):
    psi = np.full((100, 10), float(step))
    blocks = {"psi": Block(psi, psi.shape, (0, 0)), "step": Block(np.full(1, step), (1,), (0,))}
    save(sys.argv[1], blocks, attributes={"step": step}, keep=int(sys.argv[2]))
    print(step, flush=True)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("keep", [1, 3])
@pytest.mark.parametrize("call", _MOMENTS)
def test_a_save_is_killed_at_calls_that_change_names(call: str, keep: int, tmp_path: Path, long_mode: bool) -> None:
    moments = (_ALL_MOMENTS if long_mode else _MOMENTS)[call]
    if keep == 1 and not long_mode:
        moments = moments[::2]
    kills = 0
    for moment in moments:
        folder = tmp_path / str(moment)
        folder.mkdir()
        path = folder / "psi.h5"
        strace = ["strace", "-f", "-o", "/dev/null", f"--trace={call}", f"--inject={call}:signal=KILL:when={moment}"]
        words = [*strace, sys.executable, "-c", _SAVER, str(path), str(keep)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
        assert done.returncode in (-9, 137), done.stderr
        kills += 1
        saved = [int(line) for line in done.stdout.split()]
        there = judge(PLAN, path, saved=saved, begun=len(saved) + 1, copies={}, keep=keep)
        save_step(path, 9)
        assert judge(PLAN, path, saved=sorted({*there, 9}), begun=9, copies={}, keep=keep)[0] == 9
        assert not [each.name for each in folder.iterdir() if each.name.endswith(".saving")]
    assert kills or (keep, call) == (1, "link")  # nothing is handed on there
