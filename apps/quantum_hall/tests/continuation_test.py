"""Runs that are stopped and continued end with what they would have ended with."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Hall = Callable[..., dict[str, Any]]
Line = Callable[[int], list[str]]

SYSTEM = ("--size", "13x12", "--flux", "1/12", "--disorder", 0.3, "--random-states", 2, "--moments", 32)
PROGRAMS = {
    "dos": ("dos", *SYSTEM),
    "moments": ("moments", *SYSTEM, "--double-moments", 20),
    "hall": ("hall", *SYSTEM, "--energies", "0.5,-1"),
    "evolve": ("evolve", *SYSTEM, "--steps", 3, "--energies", "0.3,1", "--print-states"),
}
LONG_RUN = ("evolve", "--size", "48x48", "--flux", "1/48", "--steps", "1000000", "--time-step", "0.1")
UNFINISHED = 3


def in_pieces(start: Any, words: tuple[object, ...], path: Path, ranks: list[int]) -> dict[str, Any]:
    """One job after the other, each with no time but for one piece of work; the ranks of each job in turn."""
    for job in range(100):
        again = ["--continue"] if job else []
        result = start(*words, "--checkpoint", path, "--wall-time", 0, *again, ranks=ranks[job % len(ranks)])
        assert result.returncode in (0, UNFINISHED), result.stderr
        printed: dict[str, Any] = json.loads(result.stdout)
        assert printed["complete"] is (result.returncode == 0)
        if printed["complete"]:
            assert job > 0
            return printed
        assert printed["stopped"] == "the wall time is over"
        assert printed["vectors_done"] * words.count("evolve") * 3 + printed["steps_done"] <= job + 1
    pytest.fail("it never ends")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_run_in_pieces_ends_with_the_same_bits(start: Any, hall: Hall, tmp_path: Path, program: str) -> None:
    words = PROGRAMS[program]
    assert in_pieces(start, words, tmp_path / "state.h5", [0]) == hall(*words)


def test_ranks_that_stay_the_same_give_the_same_bits(start: Any, hall: Hall, tmp_path: Path) -> None:
    words = PROGRAMS["evolve"]
    assert in_pieces(start, words, tmp_path / "state.h5", [3]) == hall(*words, ranks=3)


def test_other_ranks_give_the_same_states(start: Any, hall: Hall, tmp_path: Path) -> None:
    words = PROGRAMS["evolve"]
    found, expected = in_pieces(start, words, tmp_path / "evolve.h5", [2, 1, 5, 3]), hall(*words)
    assert found["psi"] == expected["psi"]
    assert found["xi"] == expected["xi"]
    assert found["mean_square_displacement"] == pytest.approx(expected["mean_square_displacement"], rel=1e-12)
    words = PROGRAMS["moments"]
    found, expected = in_pieces(start, words, tmp_path / "moments.h5", [3, 2]), hall(*words)
    assert np.abs(np.subtract(found["moments"], expected["moments"])).max() <= 1e-12


def test_the_file_holds_what_is_needed_to_go_on_and_no_more(start: Any, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "state.h5"
    words = (*PROGRAMS["evolve"], "--checkpoint", path, "--wall-time", 0)
    started = start(*words)
    for _ in range(2):
        with h5py.File(path) as file:
            assert file["psi"].shape == (12, 13, 2)
            assert file["psi"].dtype == np.complex128
            assert np.linalg.norm(file["psi"][:]) ** 2 == pytest.approx(12 * 13 * 2)
            assert file["xi"].shape == (12, 13, 2)
        started = start(*words, "--continue")
    assert json.loads(started.stdout)["vectors_done"] == 1
    with h5py.File(path) as file:  # between two vectors
        assert "psi" not in file
        assert file["results/displacements"].shape == (3,)
        assert file["results/moments"].shape == (3 * 32,)


def run_until_saved(path: Path, program: list[str]) -> subprocess.Popen[str]:
    """A run that is far from its end, and has saved."""
    words = [*program, *LONG_RUN, "--checkpoint", str(path), "--checkpoint-every", "0"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True)
    end = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing was saved"
        time.sleep(0.01)
    return process


def test_sigterm_saves_and_ends(line: Line, start: Any, tmp_path: Path) -> None:
    path = tmp_path / "state.h5"
    process = run_until_saved(path, line(0))
    process.terminate()
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == UNFINISHED, stderr
    printed = json.loads(stdout)
    assert printed["stopped"] == "a signal asked for it"
    again = start(*LONG_RUN, "--checkpoint", path, "--continue", "--wall-time", 0)
    assert json.loads(again.stdout)["steps_done"] == printed["steps_done"] + 1


def test_a_second_sigterm_ends_at_once_and_leaves_a_checkpoint(line: Line, start: Any, tmp_path: Path) -> None:
    path = tmp_path / "state.h5"
    process = run_until_saved(path, line(0))
    os.kill(process.pid, signal.SIGSTOP)  # so that both come before it can end
    process.terminate()
    os.kill(process.pid, signal.SIGCONT)
    end = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < end:
        process.terminate()
    process.communicate()
    assert process.returncode in (-signal.SIGTERM, UNFINISHED)
    again = start(*LONG_RUN, "--checkpoint", path, "--continue", "--wall-time", 0)
    assert again.returncode == UNFINISHED, again.stderr


@pytest.fixture
def saved(start: Any, tmp_path: Path) -> Path:
    path = tmp_path / "state.h5"
    for again in ([], ["--continue"]):
        words = (*PROGRAMS["evolve"], "--checkpoint", path, "--wall-time", 0, *again)
        assert start(*words).returncode == UNFINISHED
    return path


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(start: Any, hall: Hall, saved: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(saved) as file:
        place = file["psi"].id.get_offset()
    with saved.open("r+b") as file:
        file.seek(place)
        file.write(bytes(64))
    words = PROGRAMS["evolve"]
    result = start(*words, "--checkpoint", saved, "--continue")
    assert result.returncode == 0
    assert str(saved) in result.stderr
    assert "psi" in result.stderr
    assert json.loads(result.stdout)["psi"] == hall(*words)["psi"]


def test_another_run_is_refused(start: Any, saved: Path) -> None:
    words = ("evolve", *SYSTEM, "--moments", 64, "--steps", 3, "--energies", "0.3,1")
    result = start(*words, "--checkpoint", saved, "--continue")
    assert result.returncode == 2
    assert "is the checkpoint of another run (moment_count 32 there and 64 here)" in result.stderr
    result = start("dos", *SYSTEM, "--checkpoint", saved, "--continue")
    assert result.returncode == 2
    assert 'program "evolve" there and "dos" here' in result.stderr


def test_a_checkpoint_is_not_replaced_by_a_new_run(start: Any, saved: Path) -> None:
    before = saved.read_bytes()
    result = start(*PROGRAMS["evolve"], "--checkpoint", saved)
    assert result.returncode == 2
    assert "add --continue to go on with it, or remove it" in result.stderr
    assert saved.read_bytes() == before


def test_a_checkpoint_that_is_not_there_is_an_error(start: Any, tmp_path: Path) -> None:
    result = start(*PROGRAMS["dos"], "--checkpoint", tmp_path / "none.h5", "--continue")
    assert result.returncode == 1
    assert "none.h5" in result.stderr


def test_a_file_of_another_program_is_refused(start: Any, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["psi"] = np.zeros((12, 13, 2), np.complex128)
    result = start(*PROGRAMS["evolve"], "--checkpoint", path, "--continue")
    assert result.returncode in (1, 2)
    assert "other.h5" in result.stderr


def test_a_checkpoint_of_another_program_is_refused(build: Path, start: Any, tmp_path: Path) -> None:
    path = tmp_path / "weather.h5"
    subprocess.run(["cmake", "--build", build, "--target", "another-program"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([build / "another-program", path], check=True)
    result = start(*PROGRAMS["evolve"], "--checkpoint", path, "--continue")
    assert result.returncode == 2
    assert f"{path} is no checkpoint of quantum-hall (it has no attribute 'quantum_hall')" in result.stderr


def test_words_that_need_a_file_say_so(start: Any) -> None:
    for words in (["--continue"], ["--wall-time", 10], ["--checkpoint-every", 10]):
        result = start("dos", *words)
        assert result.returncode == 2
        assert "do not go without --checkpoint" in result.stderr


def ranks_of(path: Path) -> list[int]:
    """Processes that were started with this checkpoint, but for mpiexec and what it has started to start them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"quantum-hall-mpi") and bytes(path) in words:
                found.append(int(folder.name))
    return found


def test_a_signal_to_one_rank_ends_all(line: Line, tmp_path: Path) -> None:
    path = tmp_path / "state.h5"
    process = run_until_saved(path, line(2))
    os.kill(ranks_of(path)[0], signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == UNFINISHED, stderr
    assert json.loads(stdout)["stopped"] == "a signal asked for it"
