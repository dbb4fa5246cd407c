"""Detectors whose clocks are not the same have no coincidences: the page and `thalweg tdpac` say so."""

import re
from pathlib import Path

import numpy as np
import pytest
from recording import record
from watching import Viewer, viewer, watched

import thalweg as tw
from thalweg import tdpac

HIT = {"timestamp": tw.uint64(unit="ns"), "energy": tw.float32(unit="keV")}
CONFIG = "places = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\nrange = [-20, 40]\nbin = 1\n"
HOUR_S = 3600


class Detectors:
    """Which have a second of hits at a time, each with a clock of its own."""

    def __init__(self, out: tw.Writer, ahead_s: dict[str, int]) -> None:
        self._producers = {name: out.producer(name) for name in ahead_s}
        self._ahead_s = ahead_s
        self._rng = np.random.default_rng(3)
        self._passed_s = 0

    def second(self, *names: str, hits: int = 500) -> None:
        for name in names or self._producers:
            times = np.sort(self._rng.integers(0, 10**9, hits)) + (self._passed_s + self._ahead_s[name]) * 10**9
            energies = np.where(self._rng.random(hits) < 0.5, 133.0, 482.0)
            self._producers[name].append(timestamp=times.astype(np.uint64), energy=energies.astype(np.float32))
        self._passed_s += 1


def alarms(page: Viewer) -> dict[tuple[str, str], str]:
    return {(each["kind"], each["table"]): each["text"] for each in page.status["alarms"]}


def said(page: Viewer, detectors: Detectors, kind: str, table: str) -> str:
    """Lets hits come until there is such an alarm, and returns what it says."""

    def is_there() -> bool:
        detectors.second()
        return (kind, table) in alarms(page)

    page.until(is_there)
    return alarms(page)[kind, table]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "tdpac.toml"
    path.write_text(CONFIG)
    return path


@pytest.mark.parametrize(("ahead_s", "where"), [(HOUR_S, "ahead of"), (-HOUR_S, "behind")])
def test_a_clock_that_differs_is_told_from_silence(tmp_path: Path, config: Path, ahead_s: int, where: str) -> None:
    """The detector with another clock is named, and not those that agree; the one that has no hits any more is silent
    by the clock of the others."""
    path, begin = tmp_path / "run.h5", 2 * HOUR_S
    with tw.create(path, dict.fromkeys("abc", HIT), tuning={"flush_interval": 0.05}) as out:
        detectors = Detectors(out, {"a": begin, "b": begin + ahead_s, "c": begin})
        detectors.second()
        with watched(path, "--config", config, "--silence", "20s") as server, viewer(server) as page:
            text = said(page, detectors, "clock", "b")
            far = re.fullmatch(rf"the timestamps of b are ([\d,.]+) s {where} those of a, c, and hits come", text)
            assert far is not None, text
            assert abs(float(far[1].replace(",", "")) - HOUR_S) < 10
            assert {table for kind, table in alarms(page) if kind in ("clock", "silent")} == {"b"}
            assert 'thalweg_watch_alarms{kind="clock",table="b"} 1.0' in server.get("/metrics/").body.decode()
            for _ in range(30):
                detectors.second("a", "b")
            page.until(lambda: ("silent", "c") in alarms(page))
            silent = alarms(page)["silent", "c"]
            assert float(silent.split("for ")[1].split(" s")[0].replace(",", "")) < 2000, silent
            assert {table for kind, table in alarms(page) if kind == "silent"} == {"c"}


def test_detectors_without_a_common_time_are_a_problem(tmp_path: Path, config: Path, thalweg_command) -> None:
    path = tmp_path / "run.h5"
    with tw.create(path, dict.fromkeys("abc", HIT)) as out:
        detectors = Detectors(out, {"a": 0, "b": HOUR_S, "c": 0})
        for _ in range(3):
            detectors.second(hits=2000)
    done = thalweg_command("tdpac", path, "--config", config)
    assert done.returncode == 1
    assert "the hits of b have no coincidences (they have no time in common with those of the other" in done.stderr
    config.write_text(CONFIG + f"delays = [0, {HOUR_S * 10**12}, 0]\n")
    assert thalweg_command("tdpac", path, "--config", config).returncode == 0
    spectra = tdpac.count(str(path), tdpac.parse_config(CONFIG))
    assert spectra.apart == ["b"]
    assert spectra.counts[1, [0, 2]].sum() == spectra.counts[[0, 2], 1].sum() == 0


def test_hits_of_two_detectors_may_follow_each_other_within_the_range(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", dict.fromkeys("ab", HIT)) as out:
        out.producer("a").append(timestamp=np.array([1000], np.uint64), energy=np.array([133], np.float32))
        out.producer("b").append(timestamp=np.array([1010], np.uint64), energy=np.array([482], np.float32))
    spectra = tdpac.count(str(tmp_path / "run.h5"), tdpac.parse_config('places = "line"\nrange = [-20, 40]\nbin = 1\n'))
    assert (spectra.counts.sum(), spectra.apart) == (1, [])


def test_another_run_in_the_place_of_the_next_file_is_refused(tmp_path: Path, thalweg_command) -> None:
    """Two runs in a folder: a file has the name of the next one, and the rows of another run."""
    config = tmp_path / "tdpac.toml"
    config.write_text('isotope = "181Hf"\nplaces = "axes"\nrange = [-20, 40]\n')
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        options = ("--waveforms", "none", "--isotope", "181Hf", "--records", 20_000, "--max-file-size", "300kB")
        record(tmp_path / folder / "run.h5", *options)
    first, second = (tmp_path / "one" / f"run-0000{number}.h5" for number in (1, 2))
    (tmp_path / "other" / second.name).replace(second)
    done = thalweg_command("tdpac", first, "--config", config)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{second} is not the file in which {first} continues" in done.stderr
    rows = sum(map(len, tw.open(first).values()))
    with watched(first, "--config", config, code=1, said="another run") as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "failed")
        assert f"{second} is another run now" in alarms(page)["reading", ""]
        assert sum(page.rows.values()) == rows


def test_that_a_first_calibration_waits_for_hits_is_said(tmp_path: Path) -> None:
    config = tmp_path / "tdpac.toml"
    config.write_text(CONFIG + 'scale = [1, 1, 1]\n[calibration]\nhits = 1000\n[calibration.peaks]\n"133" = 133.0\n')
    path = tmp_path / "run.h5"
    with tw.create(path, dict.fromkeys("abc", HIT), tuning={"flush_interval": 0.05}) as out:
        detectors = Detectors(out, dict.fromkeys("abc", 0))
        detectors.second(hits=600)
        with watched(path, "--config", config) as server, viewer(server) as page:
            page.until(lambda: sum(page.rows.values()) == 1800)
            said = page.status["calibrating"]
            assert said.endswith("this waits for a (600 of 1,000 hits), b (600 of 1,000 hits), c (600 of 1,000 hits).")
            assert page.blocks("energies")["a"].sum() == 0
            detectors.second("a", "b", hits=600)
            page.until(lambda: sum(page.rows.values()) == 3000)
            page.until(lambda: page.status["calibrating"].endswith("this waits for c (600 of 1,000 hits)."))
            assert page.blocks("energies")["a"].sum() > 0
