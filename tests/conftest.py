"""What all Python tests share: where things are, and how hard the slow ones try."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

REPOSITORY = Path(__file__).parent.parent

# A shell makes what it runs in the background ignore Ctrl-C, and the programs of the tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run: a test that fails here fails on every machine, however busy it is.
hypothesis.settings.register_profile(
    "thalweg",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("thalweg")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="try the randomised tests many more times")


@pytest.fixture(scope="session")
def long_mode(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long"))


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real detector files, which are not part of the repository (THALWEG_DATA names another)."""
    folder = Path(os.environ.get("THALWEG_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real detector files at {folder}; set THALWEG_DATA")
    return folder


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def thalweg_command() -> Command:
    """Runs the installed command: thalweg_command("inspect", path); output as text, the exit code is not checked."""
    executable = Path(sys.executable).with_name("thalweg")
    if not executable.exists():
        pytest.fail(f"{executable} is not there: run `make build`")

    def run(*arguments: object, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        words = [str(executable), *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)

    return run


@pytest.fixture(scope="session")
def stock_tool() -> Callable[[str], str]:
    """The path of a program that is not ours, such as h5dump."""

    def find(name: str) -> str:
        return shutil.which(name) or pytest.skip(f"{name} is not installed")

    return find
