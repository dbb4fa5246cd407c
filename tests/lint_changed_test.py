"""Which files `tools/lint_changed.py` takes for changed, in clones of any depth, and what it says of the rest."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import lint_changed

Commit = Callable[[str], None]


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commit:
    """Changes a file of a new repository, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    git("init")

    def change(name: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.read_text() + "x\n" if path.exists() else "x\n")
        git("add", ".")
        git("commit", "-m", name)

    return change


def changed() -> list[str]:
    found = lint_changed.base()
    assert found
    return lint_changed.sources((lint_changed.git("diff", "--name-only", found[0]) or "").split("\n"))


def test_a_branch_is_compared_with_where_it_left_main(commit: Commit) -> None:
    commit("thalweg/base/a.cc")
    git("checkout", "-b", "mine")
    for name in ("thalweg/base/b.cc", "thalweg/base/b.test.cc", "thalweg/base/test_b.cc", "thalweg/base/a.h", "x.cc"):
        commit(name)
    assert lint_changed.base() == (lint_changed.git("rev-parse", "main"), "since this branch left main")
    assert changed() == ["thalweg/base/a.cc", "thalweg/base/b.cc"]


def test_main_is_compared_with_its_last_commits(commit: Commit) -> None:
    for i in range(lint_changed.LAST_COMMITS + 2):
        commit(f"thalweg/base/a{i}.cc")
    assert len(changed()) == lint_changed.LAST_COMMITS


@pytest.mark.parametrize(("depth", "files"), [(1, None), (2, ["thalweg/base/c.cc"]), (9, ["b", "c"])])
def test_a_shallow_clone_is_compared_with_what_it_has(
    commit: Commit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int, files: list[str] | None
) -> None:
    for name in "abc":
        commit(f"thalweg/base/{name}.cc")
    git("clone", "--depth", str(depth), f"file://{tmp_path}", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    if files is None:
        assert lint_changed.base() is None
    else:
        assert changed() == [name if "/" in name else f"thalweg/base/{name}.cc" for name in files]


def test_files_that_there_is_no_time_for_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint_changed.check(["thalweg/base/a.cc"], 0) == ([], [], ["thalweg/base/a.cc"])
    assert capsys.readouterr().out == ""


def test_faults_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "clang-tidy"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ncase "$*" in *bad.cc) echo wrong; exit 1 ;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    assert lint_changed.check(["bad.cc", "good.cc"], 60) == (["bad.cc", "good.cc"], ["bad.cc"], [])
