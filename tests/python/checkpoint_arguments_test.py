"""Ranks that give something wrong: all ranks raise the same error, and none waits for another one."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_ranks import on_ranks

import thalweg as tw
from thalweg.checkpoint import Block, restore, save, save_async

_SHAPE = (4, 3)


class Unreadable:
    def __fspath__(self) -> str:
        raise RuntimeError("this path is not ready")


def block(rank: int, **given: Any) -> Block:
    whole = {"array": np.full((2, 3), float(rank)), "global_shape": _SHAPE, "start": (2 * rank, 0)} | given
    return Block(**whole)


# What the rank gives that is wrong, and what all ranks are told.
_SAVE: dict[str, tuple[Callable[[int], dict[str, Any]], str]] = {
    "keep=-1": (lambda _: {"keep": -1}, "keep=-1 is not possible"),
    "keep=2.5": (lambda _: {"keep": 2.5}, "keep=2.5 is not possible"),
    "keep=None": (lambda _: {"keep": None}, "keep=None is not possible"),
    "keep=2**80": (lambda _: {"keep": 2**80}, "is not possible"),
    "keep=5": (lambda _: {"keep": 5}, "and rank 1 says keep="),
    "path=None": (lambda _: {"path": None}, "TypeError"),
    "path=7": (lambda _: {"path": 7}, "TypeError"),
    "a path that raises": (lambda _: {"path": Unreadable()}, "this path is not ready"),
    "path with a surrogate": (lambda _: {"path": "\ud800.h5"}, "is no text in UTF-8"),
    "path with a zero": (lambda _: {"path": "a\0b.h5"}, "names no file"),
    "no path": (lambda _: {"path": ""}, "names no file"),
    "another path": (lambda _: {"path": "other.h5"}, "do not name the same file"),
    "a name that is no text": (lambda rank: {"blocks": {5: block(rank)}}, "rank {}: "),
    "names of two types": (lambda rank: {"blocks": {5: block(rank), "psi": block(rank)}}, "rank {}: "),
    "a surrogate in a name": (lambda rank: {"blocks": {"\ud800": block(rank)}}, "rank {}: "),
    "a shape above 2^64": (lambda rank: {"blocks": {"psi": block(rank, global_shape=(2**70, 3))}}, "rank {}: "),
    "a start that is text": (lambda rank: {"blocks": {"psi": block(rank, start=("x", 0))}}, "rank {}: "),
    "a shape that is a number": (lambda rank: {"blocks": {"psi": block(rank, global_shape=4)}}, "rank {}: "),
    "blocks=None": (lambda _: {"blocks": None}, "rank {}: "),
    "codec=None": (lambda _: {"codec": None}, "rank {}: "),
    "codec=7": (lambda _: {"codec": {"psi": 7}}, "rank {}: "),
    "attributes=7": (lambda _: {"attributes": 7}, "rank {}: "),
    "attributes with a surrogate": (lambda _: {"attributes": {"x": "\ud800"}}, "rank {}: "),
}
_ASYNC: dict[str, tuple[Callable[[int], dict[str, Any]], str]] = {
    "memory=-1": (lambda _: {"memory": -1}, "memory=-1 is not possible"),
    "memory=2**70": (lambda _: {"memory": 2**70}, "is not possible"),
    "memory='1 GiB'": (lambda _: {"memory": "1 GiB"}, "is not possible"),
}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("checkpoint_ranks._PATIENCE_S", 15)


def save_wrongly(comm: Any, wrong_rank: int, case: str, how: str) -> None:
    given: dict[str, Any] = {"path": "psi.h5", "blocks": {"psi": block(comm.Get_rank())}}
    if comm.Get_rank() == wrong_rank:
        given |= (_SAVE | _ASYNC)[case][0](comm.Get_rank())
    path, blocks = given.pop("path"), given.pop("blocks")
    if how == "save":
        save(path, blocks, comm, **given)
    else:
        save_async(path, blocks, comm, **given).wait()


def check_answers(answers: list[Any], told: str, wrong_rank: int) -> None:
    assert len(set(answers)) == 1, answers
    assert answers[0].startswith("UsageError: "), answers
    assert told.format(wrong_rank) in answers[0]
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("wrong_rank", [0, 1])
@pytest.mark.parametrize("case", _SAVE)
def test_what_one_rank_gives_wrong_to_save_all_ranks_are_told(case: str, wrong_rank: int) -> None:
    check_answers(on_ranks(2, save_wrongly, wrong_rank, case, "save"), _SAVE[case][1], wrong_rank)


@pytest.mark.parametrize("case", _ASYNC)
def test_what_one_rank_gives_wrong_to_save_async_all_ranks_are_told(case: str) -> None:
    check_answers(on_ranks(2, save_wrongly, 1, case, "save_async"), _ASYNC[case][1], 1)


def restore_wrongly(comm: Any, wrong_rank: int, wrong: dict[str, Any]) -> str:
    given: dict[str, Any] = {"path": "psi.h5"} | (wrong if comm.Get_rank() == wrong_rank else {})
    return restore(given.pop("path"), comm, **given).path


@pytest.mark.parametrize("wrong_rank", [0, 1])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"path": None}, "TypeError"),
        ({"path": Unreadable()}, "this path is not ready"),
        ({"path": "\ud800"}, "is no text in UTF-8"),
        ({"path": "other.h5"}, "do not name the same file"),
        ({"threads": -1}, "threads=-1 is not possible"),
        ({"threads": 2**40}, "is not possible"),
        ({"threads": None}, "threads=None is not possible"),
        ({"verify": np.array([1, 2])}, "rank {}: "),
    ],
)
def test_what_one_rank_gives_wrong_to_restore_all_ranks_are_told(
    wrong: dict[str, Any], told: str, wrong_rank: int
) -> None:
    for path in ("psi.h5", "other.h5"):
        save(path, {"psi": Block(np.ones(3), (3,), (0,))})
    answers = on_ranks(2, restore_wrongly, wrong_rank, wrong)
    assert len(set(answers)) == 1, answers
    assert answers[0].startswith("UsageError: "), answers
    assert told.format(wrong_rank) in answers[0]


def spell_differently(comm: Any) -> str:
    rank = comm.Get_rank()
    path = os.path.abspath("psi.h5") if rank else "./psi.h5"
    save(path, {"psi": block(rank)}, comm)
    return restore(path, comm).path


def test_ranks_may_spell_a_path_differently() -> None:
    assert on_ranks(2, spell_differently) == ["./psi.h5"] * 2


def save_after_one_in_the_background(comm: Any) -> list[str]:
    rank = comm.Get_rank()
    saving = save_async("psi.h5", {"psi": block(rank)}, comm)  # over these pipes, ranks complete it together
    told = []
    for path in (None, "other.h5", "psi.h5"):
        try:
            save("psi.h5" if rank == 0 else path, {"psi": block(rank)}, comm, attributes={"step": 2})
        except Exception as error:
            told.append(f"{type(error).__name__}: {error}"[:40])
    return [*told, f"{saving.wait().bytes} bytes"]


def test_a_save_that_is_under_way_is_completed_whatever_a_rank_gives() -> None:
    answers = on_ranks(2, save_after_one_in_the_background)
    assert answers[0] == answers[1]
    assert len(answers[0]) == 3, answers
    assert answers[0][-1] == "96 bytes"
    assert restore("psi.h5").attributes["step"] == 2
    assert "step" not in restore("psi.h5.1").attributes


class Failing:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __fspath__(self) -> str:
        raise self.error


def save_what_fails(comm: Any, error: Exception) -> int | None:
    rank = comm.Get_rank()
    try:
        save(Failing(error) if rank == 1 else "psi.h5", {"psi": block(rank)}, comm)
    except tw.SystemError as failed:
        return failed.errno
    return None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemoryError(), errno.ENOMEM),
        (OSError(errno.ESTALE, "Stale file handle"), errno.ESTALE),
        (tw.SystemError(errno.EIO, "the device fails"), errno.EIO),
    ],
)
def test_what_the_machine_refuses_is_no_wrong_request(error: Exception, code: int) -> None:
    assert on_ranks(2, save_what_fails, error) == [code, code]
