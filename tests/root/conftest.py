"""What the tests with ROOT share: its dictionaries, and scripts that run in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from root_process import SCRIPTS, InRoot, run_in_root


@pytest.fixture(scope="session")
def dictionaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with what ROOT has to know of the classes in `classes.h`, to write them and to read them as such."""
    folder = tmp_path_factory.mktemp("dictionaries")
    done = run_in_root(folder, "build_dictionaries", SCRIPTS / "classes.h", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture
def in_root(dictionaries: Path, tmp_path: Path) -> InRoot:
    """Runs a script: in_root("read", path, ...); what it prints is JSON. What ROOT says on stderr fails the test."""

    def run(script: str, *arguments: object) -> Any:
        done = run_in_root(tmp_path, script, dictionaries, *arguments)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)

    return run
