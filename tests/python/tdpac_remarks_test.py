"""`thalweg tdpac` says what is odd about the detectors of a run."""

import json
import subprocess
from pathlib import Path

import numpy as np
from recording import THALWEG

import thalweg as tw
from thalweg import tdpac
from thalweg.tdpac.fitted import with_error

CONFIG = "places = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]]\nrange = [-20, 40]\nbin = 1\n"
HIT = {"timestamp": tw.uint64(unit="ns"), "energy": tw.float32(unit="keV")}
SECONDS = 40


def hits(rng: np.random.Generator, count: int, until_s: float, peaks: tuple[float, float]) -> dict[str, np.ndarray]:
    times = np.sort(rng.integers(0, int(until_s * 1e9), count)).astype(np.uint64)
    of_start = rng.normal(np.where(times < 20e9, *peaks), 4)
    energies = np.where(rng.random(count) < 0.5, of_start, rng.normal(482, 7, count))
    return {"timestamp": times, "energy": energies.astype(np.float32)}


def test_odd_detectors_are_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    given = {
        "good": hits(rng, 30_000, SECONDS, (133, 133)),
        "drifts": hits(rng, 300_000, SECONDS, (133, 138)),
        "ends": hits(rng, 10_000, 15, (133, 133)),
        "without": hits(rng, 30_000, SECONDS, (300, 300)),
        "empty": hits(rng, 0, SECONDS, (133, 133)),
    }
    with tw.create(tmp_path / "run.h5", dict.fromkeys(given, HIT)) as out:
        for name, rows in given.items():
            out.producer(name).append(**rows)
    spectra = tdpac.count(str(tmp_path / "run.h5"), tdpac.parse_config(CONFIG))
    said = {name: [each for each in spectra.remarks if name in each] for name in given}
    assert said["good"] == []
    (flood, drift) = said["drifts"]
    assert "times the rate of the other detectors" in flood
    assert "The peak in the start window of drifts (123.2 to 142.8) is at 13" in drift
    assert said["ends"] == ["ends has no hits in the last 25 s of the run."]
    assert said["without"] == [
        "There is no peak in the start window of without (123.2 to 142.8): set the window, or scale."
    ]
    assert said["empty"] == ["empty has no hits."]
    (tmp_path / "tdpac.toml").write_text(CONFIG)
    words = [
        THALWEG,
        "tdpac",
        tmp_path / "run.h5",
        "--config",
        tmp_path / "tdpac.toml",
        "--json",
        "--out",
        tmp_path / "s.h5",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["notes"][: len(spectra.remarks)] == spectra.remarks
    assert tdpac.Spectra.load(str(tmp_path / "s.h5")).remarks == spectra.remarks


def test_energies_in_another_unit_are_a_problem(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    with tw.create(tmp_path / "run.h5", {"ch0": HIT, "ch1": HIT}) as out:
        for name in ("ch0", "ch1"):
            rows = hits(rng, 1000, SECONDS, (133, 133))
            out.producer(name).append(timestamp=rows["timestamp"], energy=rows["energy"] * 7)
    (tmp_path / "tdpac.toml").write_text("places = [[1, 0, 0], [0, 1, 0]]\nrange = [-20, 40]\nbin = 1\n")
    words = [THALWEG, "tdpac", tmp_path / "run.h5", "--config", tmp_path / "tdpac.toml", "--plot", tmp_path / "s.png"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 1
    assert "2,000 hits and no starts and no stops (no energy is in a window): give [calibration]" in done.stderr
    assert "Warning" not in done.stderr


def test_a_value_has_the_digits_of_its_error() -> None:
    given = {(0.0888549, 5.8): "0.1 +- 5.8", (297.1234, 0.0351): "297.123 +- 0.035", (12345.6, 1234): "12,346 +- 1,234"}
    assert {each: with_error(*each) for each in given} == given
    assert with_error(0.5, 0) == "0.5 +- 0"


def test_a_wrong_isotope_is_a_problem(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    with tw.create(tmp_path / "run.h5", {"ch0": HIT, "ch1": HIT}) as out:
        for name in ("ch0", "ch1"):
            is_peak = rng.random(30_000) < 0.2
            energies = np.where(is_peak, rng.normal(133, 4, 30_000), rng.uniform(50, 600, 30_000))
            times = np.sort(rng.integers(0, 10**10, 30_000)).astype(np.uint64)
            out.producer(name).append(timestamp=times, energy=energies.astype(np.float32))
    config = 'isotope = "{}"\nplaces = "line"\nrange = [-20, 40]\nbin = 1\n'
    wrong = tdpac.analyse(str(tmp_path / "run.h5"), tdpac.parse_config(config.format("111In")))
    (problem,) = wrong.problems
    assert problem.startswith("no window of any detector has a peak (start 1")
    assert ": is the isotope right?" in problem
    assert tdpac.analyse(str(tmp_path / "run.h5"), tdpac.parse_config(config.format("181Hf"))).problems == []
