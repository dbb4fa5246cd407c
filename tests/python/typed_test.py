"""A program of a user passes mypy's strict checks, and its results have the types that they should have."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "typed_program.py"


def mypy(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), str(program)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_a_program_of_a_user_is_typed(tmp_path: Path) -> None:
    checked = mypy(PROGRAM, tmp_path)
    assert checked.returncode == 0, checked.stdout
    ran = subprocess.run(
        [sys.executable, PROGRAM, tmp_path / "run.h5"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "3\n"), ran.stderr


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text("import thalweg as tw\nx: int = tw.open('run.h5')['t'].read()\ntw.open(3.5)\n")
    checked = mypy(program, tmp_path)
    assert checked.returncode == 1
    assert 'variable has type "int"' in checked.stdout
    assert "arg-type" in checked.stdout
