"""The study of libfabric: a quick round measures all that it can, and the page has the results."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))

from harness.programs import MissingError  # noqa: E402
from readout.fabric import measure as fabric  # noqa: E402
from readout.scale import results  # noqa: E402


@pytest.fixture(scope="module")
def quick() -> results.Kept:
    try:
        fabric.build()
    except MissingError as error:
        pytest.skip(str(error))
    command = [sys.executable, str(STUDIES / "readout" / "fabric" / "measure.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


@pytest.mark.parametrize("wire", ["TCP socket", "Unix socket", "libfabric, tcp"])
def test_responses_are_measured(quick: results.Kept, wire: str) -> None:
    found = quick["cost"]["variants"][wire]
    assert found["responses"][0] > 0
    assert found["wrong"] == [0, 0, 0]
    assert 1 < found["server_ns"][0] < 100_000
    assert 1 < found["client_ns"][0] < 100_000
    assert found["idle_cores"][0] < 0.5, "its server polls"


@pytest.mark.parametrize("wire", ["TCP socket", "Unix socket", "libfabric, tcp"])
def test_set_up_is_measured(quick: results.Kept, wire: str) -> None:
    found = quick["setup"]["variants"][f"{wire}: 10 connections"]
    assert found["connections"][0] == 10
    assert found["both_us"][0] == pytest.approx(found["setup_server_us"][0] + found["setup_client_us"][0], rel=0.01)
    assert found["setup_server_us"][0] > 0


def test_what_is_not_measured_has_a_reason(quick: results.Kept) -> None:
    for part, variants in (("cost", 6), ("setup", 6)):
        assert len(quick[part]["variants"]) + len(quick[part]["missing"]) == variants


def test_a_variant_that_failed_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = tmp_path / "tries"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho again >> {tries}\necho no such provider >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(fabric, "PROGRAM", program)
    run = fabric.variant("tcp", 10, 0)
    for _ in range(2):
        with pytest.raises(MissingError, match="no such provider"):
            run(0.1)
    assert tries.read_text() == "again\n"


def test_the_page_has_the_results() -> None:
    page = fabric.PAGE.read_text()
    kept = results.read(fabric.RESULTS)
    assert fabric.with_tables(page, kept) == page, "run `python studies/readout/fabric/measure.py`"
