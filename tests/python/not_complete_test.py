"""What commands say of a run that is not complete: that more rows come, or what to do if none come any more."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from thalweg._reading.not_complete import not_complete

HIT = {"timestamp": tw.uint64(unit="ns"), "energy": tw.float32(unit="keV")}
CONFIG = "places = [[1, 0, 0], [0, 1, 0]]\nrange = [-20, 40]\nbin = 1\n"
TABLES = ("a", "b")

LEFT = """
import os, signal, sys
import not_complete_test
out = not_complete_test.begun(sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def begun(path: Path | str) -> tw.Writer:
    """Returns a run of two detectors that is not closed."""
    out = tw.create(path, dict.fromkeys(TABLES, HIT), tuning={"flush_interval": 0.02})
    rng = np.random.default_rng(5)
    for name in TABLES:
        with out.producer(name) as producer:
            times = np.sort(rng.integers(0, 10**9, 3000)).astype(np.uint64)
            energies = np.where(rng.random(3000) < 0.5, rng.normal(133, 4, 3000), rng.normal(482.2, 7, 3000))
            producer.append(timestamp=times, energy=energies.astype(np.float32))
    end = time.monotonic() + 60
    while out.status().producers:
        assert time.monotonic() < end
        time.sleep(0.01)
    return out


def analysed(run: Path, thalweg_command: Any, *words: str, config: str = CONFIG) -> subprocess.CompletedProcess[str]:
    configured = run.with_suffix(".toml")
    configured.write_text(config)
    return thalweg_command("tdpac", run, "--config", configured, *words)


def said_by_all(run: Path, thalweg_command: Any) -> list[str]:
    """What each command that reads the rows of a run says of it, on stdout."""
    said = []
    picture, copy = run.with_suffix(".png"), run.with_suffix(".root")
    for words in (["plot", run, "--out", picture], ["convert", run, copy, "--force"]):
        done = thalweg_command(*words)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    done = analysed(run, thalweg_command)
    assert done.returncode == 0, done.stderr
    said.append(done.stdout)
    return said


def test_more_rows_follow_while_it_is_written(tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "run.h5"
    with begun(path):
        shown = thalweg_command("inspect", path).stdout
        assert f"{path}: a run that is still open, 6,000 rows so far in the file, in" in shown
        for said in said_by_all(path, thalweg_command):
            assert f"{path} is still being written: more rows follow" in said
        picture = json.loads(thalweg_command("plot", path, "--out", tmp_path / "run.png", "--json").stdout)
        spectra = json.loads(analysed(path, thalweg_command, "--json").stdout)
        for notes in (picture["notes"], spectra["notes"]):
            assert any("is still being written" in note for note in notes)
        opened = tw.open(path)
    assert "was completed meanwhile" in not_complete(opened)
    assert not_complete(tw.open(path)) == ""
    for said in said_by_all(path, thalweg_command):
        assert "written" not in said
        assert "complete" not in said


def test_recover_completes_what_no_process_writes(tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "run.h5"
    done = subprocess.run([sys.executable, "-c", LEFT, path], cwd=Path(__file__).parent, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    first, *others = thalweg_command("inspect", path).stdout.splitlines()
    assert first.startswith(f"{path}: a run that is not complete and that no process writes any more, ")
    assert f"`thalweg recover {path}` completes it" in "\n".join(others)
    for said in said_by_all(path, thalweg_command):
        assert f"{path} is not complete, and no process writes it" in said
        assert f"`thalweg recover {path}` completes it." in said


def test_results_of_tdpac_have_units() -> None:
    pytest.importorskip("iminuit")
    from thalweg.tdpac.fitted import Fitted

    names = ("omega0", "omega0_2", "delta", "time_zero", "delay_3", "half_life", "log_area", "A22", "resolution")
    fitted = Fitted(
        "spectra", dict.fromkeys(names, 1.5), dict.fromkeys(names, 0.25), 10.0, 10, True, names, np.zeros((9, 9))
    )
    (said,) = fitted.sentences()
    for part in (
        "omega0 = (1.50 +- 0.25) rad/ns", "omega0_2 = (1.50 +- 0.25) rad/ns", "delta = 1.50 +- 0.25,",
        "time_zero = (1.50 +- 0.25) ps", "delay_3 = (1.50 +- 0.25) ps", "half_life = (1.50 +- 0.25) ns",
        "log_area = 1.50 +- 0.25,", "A22 = 1.50 +- 0.25,", "resolution = (1.50 +- 0.25) ps",
    ):  # fmt: skip
        assert part in said


def test_a_calibration_that_is_not_found_fails_the_command(tmp_path: Path, thalweg_command: Any) -> None:
    path = tmp_path / "run.h5"
    begun(path).close()
    wanted = CONFIG + '[calibration]\nhits = 1000\n[calibration.peaks]\n"133" = 133.0\n'
    done = analysed(path, thalweg_command, config=wanted + '"900" = 900.0\n')
    assert done.returncode == 1
    assert "the energies of a, b are not calibrated (the peaks are not found in them)" in done.stderr
    assert "The energies of a are not calibrated: the peaks 133 (133 keV), 900 (900 keV)" in done.stdout
    facts = json.loads(analysed(path, thalweg_command, "--json", config=wanted + '"900" = 900.0\n').stdout)
    assert len(facts["problems"]) == 1
    found = analysed(path, thalweg_command, config=f"scale = [1, 1]\n{wanted}")
    assert (found.returncode, found.stderr) == (0, ""), found.stdout
    assert "The energies of a are calibrated by 133 (133 keV)" in found.stdout
