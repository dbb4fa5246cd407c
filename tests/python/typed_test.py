"""A program of a user passes mypy's strict checks, and its results have the types that they should have. Those of
README and tutorial pass mypy and pyright."""

import json
import re
import shutil
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


DOCUMENTS = ("README.md", "docs/index.md", "docs/tutorial.md")
OTHERS = re.compile(r"^\s*(import|from|with) (h5py|uproot|awkward|multiprocessing)|uproot\.|h5py\.", re.MULTILINE)


@pytest.fixture
def programs(repository: Path, tmp_path: Path) -> list[Path]:
    found = []
    for document in DOCUMENTS:
        text = (repository / document).read_text()
        for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)):
            found.append(tmp_path / f"{Path(document).stem.lower()}_{number}.py")
            found[-1].write_text(block)
    assert len(found) > 12
    return found


def test_the_programs_of_the_tutorial_pass_mypy(programs: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    options = ["--ignore-missing-imports", "--check-untyped-defs", "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, *map(str, programs)]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_programs_of_the_tutorial_pass_pyright(programs: list[Path], tmp_path: Path) -> None:
    pyright = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    settings = {"typeCheckingMode": "standard", "reportMissingImports": False, "reportMissingModuleSource": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    ours = [program for program in programs if not OTHERS.search(program.read_text())]  # h5py's types are h5py's
    assert len(ours) > 6
    command = [pyright, "--pythonpath", sys.executable, *map(str, [PROGRAM, *ours])]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert checked.returncode == 0, checked.stdout
