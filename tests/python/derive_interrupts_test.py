"""Ctrl-C once stops a job cleanly, and twice at once; both can be resumed, and give what an undisturbed job gives."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import awkward as ak
import pytest
from derive_cases import sorted_rows, write_input

import thalweg as tw


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def start(inputs: Path, folder: Path) -> subprocess.Popen[str]:
    words = [sys.executable, str(Path(__file__).with_name("derive_program.py")), str(inputs), str(folder)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(job: subprocess.Popen[str]) -> None:
    _, errors = job.communicate(timeout=300)
    assert job.returncode == 0, errors


def facts(folder: Path) -> list[Any]:
    """Summaries of all ranges, and what is made of them, of both outputs."""
    runs = [tw.open(folder / f"{name}.root") for name in ("muons", "lite")]
    return [({unit.key: unit.summary for unit in run.units}, run.metadata["derive.result"]) for run in runs]


def test_ctrl_c_once_stops_cleanly_and_twice_at_once(inputs: Path, tmp_path: Path) -> None:
    alone, folder = tmp_path / "alone", tmp_path / "interrupted"
    alone.mkdir()
    folder.mkdir()
    finished(start(inputs, alone))
    for interrupts in (1, 2):
        job = start(inputs, folder)
        assert job.stdout
        assert job.stdout.readline() == "ranges are being done\n"
        for _ in range(interrupts):
            job.send_signal(signal.SIGINT)
            time.sleep(0.4)  # two that come together are one
        _, errors = job.communicate(timeout=120)
        assert job.returncode != 0
        assert "KeyboardInterrupt" in errors
        assert "resume=True" in errors
        assert (folder / "lite.root.journal").exists()
    finished(start(inputs, folder))
    assert facts(folder) == facts(alone)
    for name in ("muons.root", "lite.root"):
        assert ak.array_equal(sorted_rows(folder / name), sorted_rows(alone / name), dtype_exact=True)
