"""What `thalweg tune` says, and where."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg._tune.screen import Screen, Screened

TRY = [str(Path(sys.executable).with_name("thalweg")), "tune", "--pairs", "0", "--try", "sieve_buf_size=4MiB", "--"]
WRITES = """
import h5py, numpy as np
with h5py.File("out.h5", "w") as file:
    rows = file.create_dataset("x", (250, 1000), "f4")
    for i in range(250):
        rows[i, :500] = np.arange(500) + i
"""
SIGNATURE_ALONE = r"echo x >> ../runs; printf '\211HDF\r\n\032\n' > out.h5"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)


def test_the_value_with_the_fewest_calls_is_the_one_to_measure() -> None:
    effects = [Screened(["a=1"], ["x"], [], 500), Screened(["a=2"], ["y"], [], 4), Screened(["a=3"], [], ["other"], 1)]
    *_, last = Screen(0.5, is_tried=True, effects=effects).lines()
    assert last == "to measure the one with the fewest calls: thalweg tune --try a=2 -- COMMAND"


def test_what_is_said_may_go_to_a_file_of_the_folder() -> None:
    with open("tune.txt", "w") as told:
        done = subprocess.run([*TRY, sys.executable, "-c", WRITES], stdout=told, stderr=told, timeout=300, check=False)
    text = Path("tune.txt").read_text()
    assert done.returncode == 0, text
    assert "data: the same" in text
    assert sorted(os.listdir()) == ["out.h5", "tune.txt"]


def test_without_h5py_nothing_more_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("away").mkdir()
    Path("away/h5py.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(Path("away").resolve()))
    done = subprocess.run([*TRY, "sh", "-c", SIGNATURE_ALONE], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "which is not installed" in done.stderr) == (2, True), done.stderr
    assert Path("../runs").read_text() == "x\n"
