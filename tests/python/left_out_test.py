"""What cannot be read of a file of another program: every command names it, and says so by its exit code."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import thalweg as tw

PATH = "/detector/partner"


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Waveforms and times, and references to objects, which Thalweg does not read."""
    path = tmp_path_factory.mktemp("partial") / "partial.h5"
    with h5py.File(path, "w") as file:
        file["detector/timestamp"] = np.arange(20, dtype=np.uint64)
        file["detector/waveform"] = np.arange(20 * 16, dtype=np.int16).reshape(20, 16)
        file.create_dataset(PATH, (20,), h5py.ref_dtype)[:] = file["detector"].ref
    return path


COMMANDS = {
    "inspect": ["inspect", "{file}"],
    "convert": ["convert", "{file}", "{folder}/copy.root"],
    "plot": ["plot", "{file}", "--out", "{folder}/picture.png"],
    "replay": ["record", "--quiet", "--source", "replay", "--input", "{file}", "--out", "{folder}/replayed.h5"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_it_and_fails(command: str, partial: Path, tmp_path: Path, thalweg_command: Any) -> None:
    words = [word.format(file=partial, folder=tmp_path) for word in COMMANDS[command]]
    done = thalweg_command(*words)
    assert done.returncode == 1, done.stderr
    assert f"{partial}: {PATH} is left out (" in done.stderr
    answer = json.loads(thalweg_command(*words, "--json", *["--force"] * (command in ("convert", "replay"))).stdout)
    (problem,) = answer["problems"]
    assert PATH in (problem if isinstance(problem, str) else problem["path"])


@pytest.mark.parametrize("command", COMMANDS)
def test_it_may_be_missing_where_that_was_said(
    command: str, partial: Path, tmp_path: Path, thalweg_command: Any
) -> None:
    words = [word.format(file=partial, folder=tmp_path) for word in COMMANDS[command]]
    done = thalweg_command(*words, "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert f"{partial}: {PATH} is left out (" in done.stderr


def test_the_programming_interface_lists_it(partial: Path, tmp_path: Path) -> None:
    run = tw.open(partial)
    (problem,) = run.problems
    assert problem.path == PATH
    assert str(problem) == f"{PATH} is left out ({problem.why})"
    assert "1 left out" in repr(run)
    assert PATH not in str(run.metadata)
    assert np.array_equal(run["detector"].read("timestamp")["timestamp"], np.arange(20))
    report = tw.convert(partial, tmp_path / "copy.h5")
    assert report.problems == run.problems
    assert not report.is_whole
    assert problem.why in str(report)
    assert tw.open(tmp_path / "copy.h5").problems == ()


def test_a_whole_file_has_no_problems(tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "whole.h5"
    with h5py.File(path, "w") as file:
        file["detector/x"] = np.arange(20.0)
    done = thalweg_command("inspect", path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == []
    assert "left out" not in done.stderr
    assert tw.open(path).problems == ()
    assert tw.convert(path, tmp_path / "copy.h5").is_whole


def test_what_a_replay_may_miss_does_not_go_with_a_digitizer(tmp_path: Path, thalweg_command: Any) -> None:
    done = thalweg_command("record", "--allow-missing", "--out", tmp_path / "run.h5")
    assert done.returncode == 2
    assert "--allow-missing cannot be given with --source digitizer" in done.stderr


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """By several producers, so that lists lie in parts that virtual datasets show."""
    path = tmp_path / "run.h5"
    with tw.create(path, {"a/t": {"x": tw.float64, "hits": tw.list_(tw.int32)}, "empty": {"y": tw.int8}}) as out:
        for rows in (3000, 10, 700):
            hits = tw.Ragged.from_lengths(np.arange(rows) % 4, np.zeros((np.arange(rows) % 4).sum(), np.int32))
            with out.producer("a/t") as producer:
                producer.append(x=np.arange(rows) / 2, hits=hits)
    return path


def test_what_was_added_to_a_run_is_named(recorded: Path) -> None:
    with h5py.File(recorded, "a") as file:
        file["analysis/mean"] = np.arange(3)
        file["a/t/more"] = np.arange(10)
        file["a/t/gone"] = h5py.SoftLink("/nowhere")
        file["a/t/up"] = file["/"]
    run = tw.open(recorded)
    assert {name: len(table) for name, table in run.items()} == {"a/t": 3710, "empty": 0}
    assert [problem.path for problem in run.problems] == ["/a/t/gone", "/a/t/more", "/analysis/mean"]
    assert run.problems[1].why == "another program has added it to the run"


def test_a_run_that_another_program_has_changed_misses_nothing(recorded: Path) -> None:
    with h5py.File(recorded, "a") as file:
        file["a/t"].attrs["note"] = "seen"
    assert not tw.verify(recorded).is_sound
    run = tw.open(recorded)
    assert run.problems == ()
    assert len(run["a/t"].read()["hits"]) == 3710
