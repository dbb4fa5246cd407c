"""Fixtures: the driver, the file systems on which runs are written, and readouts that end with their test."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults import Driver
from hosts import Host, MakeHost
from readout_programs import Make, Readout, card_name


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


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes readouts; programs of theirs that still run at the end of the test are killed."""
    made: list[Readout] = []

    def one(**options: object) -> Readout:
        made.append(Readout(tmp_path, card_name(), **options))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for readout in made:
        readout.close()


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[MakeHost]:
    """Makes hosts; programs of theirs that still run at the end of the test are killed."""
    made: list[Host] = []

    def one(**options: object) -> Host:
        made.append(Host(tmp_path, card_name(), **options))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for host in made:
        host.close()
