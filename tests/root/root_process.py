"""ROOT, in processes of its own: where something is not to its taste it aborts, or writes to stderr and goes on."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent.parent
ROOT_FOLDER = REPOSITORY / "build/root"
SCRIPTS = Path(__file__).parent / "scripts"

InRoot = Callable[..., Any]


def run_in_root(folder: Path, script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    python = ROOT_FOLDER / "bin/python"
    if not python.exists():
        pytest.fail(f"there is no {python}: run `make test-root`")
    # The package warns that it is an alpha version; nothing else is kept back.
    words = [python, "-B", "-W", "ignore::UserWarning:ROOT", SCRIPTS / f"{script}.py", *arguments]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=500, check=False, cwd=folder)
