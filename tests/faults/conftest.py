"""Where the driver is, and on what file systems runs are written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import Driver


@pytest.fixture(scope="session")
def driver(repository: Path) -> Driver:
    build = Path(os.environ.get("THALWEG_BUILD", repository / "build" / "default"))
    program = build / "tests" / "faults" / "fault_driver"
    if not program.exists():
        pytest.fail(f"{program} is not there: run `make test` (THALWEG_BUILD names another build directory)")
    return Driver(program)


@pytest.fixture(params=["disk", "tmpfs"])
def folder(request: pytest.FixtureRequest, repository: Path) -> Iterator[Path]:
    parent = {"disk": repository / "build", "tmpfs": Path("/dev/shm")}[request.param]
    path = Path(tempfile.mkdtemp(prefix="faults-", dir=parent))
    yield path
    shutil.rmtree(path, ignore_errors=True)
