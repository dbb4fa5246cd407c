"""`thalweg watch` of runs that have waveforms and no energies: they are computed in slices of time."""

import json
import signal
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from recording import record, recording
from watching import Viewer, viewer, watched

import thalweg as tw
from thalweg import tdpac
from thalweg._features.held import pulses_of
from thalweg._watching.changes import Changes
from thalweg._watching.counting import Counting
from thalweg._watching.load import STEPS, Load
from thalweg._watching.slices import Slices, parts_of, slices_of
from thalweg.cli.watch import _with_pairs

CONFIG = """
isotope = "181Hf"
places = "line"
range = [-40, 40]
scale = [0.0237, 0.0237]
stop = [465, 525]  # with this gate, the peak of 482 keV is at 495
"""
FEATURES = "[features]\nbits = 10\nbaseline = 8\ngate = [-3, 60]\n"
CARD = ("--channels", 2, "--seed", 5, "--samples", 1200, "--isotope", "181Hf")
SLICE_PS = 10**10
REJECTED = 1 | 2 | 16 | 32


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "tdpac.toml").write_text(CONFIG + FEATURES)
    (folder / "plain.toml").write_text(CONFIG)
    (folder / "token").write_text("secret\n")
    record(folder / "samples.h5", *CARD, "--records", 4000)
    record(folder / "stored.h5", *CARD, "--records", 4000, "--features", folder / "tdpac.toml")
    return folder


Stretches = list[tuple[int, int]]


def expected(stored: Path, share: int | Stretches, config: str = CONFIG) -> tuple[np.ndarray, int]:
    """The spectra of pulses whose timestamps lie in the slices, and the number of these pulses.

    share: one of how many slices, or from which slice on one of how many.
    """
    counter = tdpac.SpectraCounter(tdpac.parse_config(config), ("ch0", "ch1"))
    pulses = 0
    with h5py.File(stored) as file:
        for number, name in enumerate(("ch0", "ch1")):
            of = {column: file[name][column][:] for column in ("timestamp", "energy", "time", "flags")}
            slices = of["timestamp"].astype(np.int64) // SLICE_PS
            kept = np.zeros(len(slices), bool)
            for begin, one_of in [(0, share)] if isinstance(share, int) else share:
                kept = np.where(slices >= begin, slices % one_of == 0, kept)
            pulses += int(kept.sum())
            kept &= (of["flags"] & REJECTED) == 0
            counter.add(number, of["time"][kept], of["energy"][kept])
    counter.pair()
    return counter.spectra().counts, pulses


def check(page: Viewer, counts: np.ndarray) -> None:
    pairs = page.blocks("pair")
    np.testing.assert_array_equal(pairs["ch0", "ch1"], counts[0, 1])
    np.testing.assert_array_equal(pairs["ch1", "ch0"], counts[1, 0])
    assert page.status["coincidences"] == counts.sum() > 20


@pytest.mark.parametrize(("slices", "one_of"), [("all", 1), ("1/2", 2)])
def test_energies_are_computed_in_slices_that_detectors_share(files: Path, slices: str, one_of: int) -> None:
    counts, pulses = expected(files / "stored.h5", one_of)
    run = files / "samples.h5"
    with watched(run, "--config", files / "tdpac.toml", "--slices", slices) as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        assert page.rows == {"ch0": 4000, "ch1": 4000}
        assert (pulses == 8000) == (one_of == 1)
        check(page, counts)
        energies = page.blocks("energies")
        assert 0.9 * pulses < sum(each.sum() for each in energies.values()) <= pulses
        assert page.layout[0]["unit"] == "ADC ns"
        said = page.status["computed"]
        assert "Energies and times of ch0, ch1 are not stored" in said
        assert f"({pulses:,} so far)" in said
        assert ("one of 2 slices of 10 ms" in said) == (one_of == 2)
    if one_of == 1:
        parsed = tdpac.load_config(files / "tdpac.toml")
        np.testing.assert_array_equal(tdpac.count(str(run), parsed, made=True).counts, counts)


def test_a_tenth_is_computed_until_the_load_is_known(files: Path) -> None:
    with watched(files / "samples.h5", "--config", files / "tdpac.toml") as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        pulses = expected(files / "stored.h5", 10)[1]
        share = "one of 10 slices of 10 ms at present, which follows the load"
        assert f"{share} ({pulses:,} so far)" in page.status["computed"]
        text = server.get("/metrics").body.decode()
        assert f"thalweg_watch_computed_pulses_total {pulses}.0" in text
        assert "thalweg_watch_computed_ratio 0.1" in text


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty seconds of a weak source, with samples and with features."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "tdpac.toml").write_text(CONFIG + FEATURES)
    (folder / "physics.toml").write_text("places = 'line'\nactivity = 600\n")
    card = ("--channels", 2, "--seed", 5, "--samples", 1200, "--physics", folder / "physics.toml", "--records", 12_000)
    record(folder / "samples.h5", *card)
    record(folder / "stored.h5", *card, "--features", folder / "tdpac.toml")
    return folder


def test_all_pulses_of_a_weak_source_are_computed(slow: Path) -> None:
    shown = ("--config", slow / "tdpac.toml", "--priority", "normal")
    with watched(slow / "samples.h5", *shown) as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        stretches = page.status["slices"]
        counts, pulses = expected(slow / "stored.h5", stretches)
        check(page, counts)
        assert len(stretches) > 1
        assert stretches[0][1] == 10
        assert any("features are computed of" in line for line in page.status["log"])
        assert page.status["computed_pulses"] == pulses > expected(slow / "stored.h5", 10)[1]


class SlowMachine:
    """Time that passes only when features are computed."""

    def __init__(self, seconds_a_pulse: float) -> None:
        self.now = 0.0
        self._seconds_a_pulse = seconds_a_pulse

    def monotonic(self) -> float:
        return self.now

    def pulses_of(self, rows: Any, settings: Any, begin: Any) -> Any:
        pulses = pulses_of(rows, settings, begin)
        self.now += self._seconds_a_pulse * len(pulses.energies)
        return pulses


def test_less_is_computed_on_a_slow_machine(slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = SlowMachine(seconds_a_pulse=0.02)
    monkeypatch.setattr("thalweg._watching.detectors.time", machine)
    monkeypatch.setattr("thalweg._watching.counting.time", machine)
    monkeypatch.setattr("thalweg.tdpac.hits.pulses_of", machine.pulses_of)
    asked = _with_pairs(str(slow / "samples.h5"), slow / "tdpac.toml", "auto")
    shown = Counting(asked, Changes())
    shown.look(lambda: shown.follow_load() and None)
    pairs = shown.pairs
    assert pairs is not None
    stretches = pairs.newest_slices()
    assert stretches is not None
    assert [one_of for _, one_of in stretches] == [10, 1000]
    counts, pulses = expected(slow / "stored.h5", stretches)
    assert pairs.computed_pulses == pulses
    np.testing.assert_array_equal(pairs.spectra().counts, counts)
    again = Counting(asked, Changes())  # another pass has the same slices
    again.look(lambda: None)
    assert again.pairs is not None
    np.testing.assert_array_equal(again.pairs.spectra().counts, counts)


def test_the_share_is_what_the_load_leaves() -> None:
    def wanted(one_of: int, load: float, is_behind: bool = False) -> int:
        of_pass = Load(SLICE_PS)
        assert of_pass.wanted(one_of, 3.0, 10**12, is_behind) == one_of
        assert of_pass.wanted(one_of, 3.0 + load, 10**12 + 10**11, is_behind) == one_of  # too short
        seconds = 100
        return of_pass.wanted(one_of, 3.0 + load * seconds, (1 + seconds) * 10**12, is_behind)

    assert wanted(10, 0.4) == 10
    assert wanted(10, 0.6) == 20
    assert wanted(10, 3.0) == 100
    assert wanted(10, 0.01) == 1
    assert wanted(10, 0.07) == 5
    assert wanted(10, 0.07, is_behind=True) == 10
    assert wanted(10, 0.2, is_behind=True) == 20
    assert wanted(1000, 1e9) == 1000
    assert wanted(1, 0.0) == 1
    for one_of in STEPS:  # the share does not go to and fro
        for load in np.linspace(0.0, 2.0, 201):
            then = wanted(one_of, load)
            assert then == one_of or wanted(then, load * one_of / then) == then


def test_slices_change_behind_all_that_was_asked_for() -> None:
    slices = slices_of("auto")
    times = np.arange(-5, 95, dtype=np.int64) * SLICE_PS
    np.testing.assert_array_equal(slices.have(times), times // SLICE_PS % 10 == 0)
    assert not slices.follow(0.0, 0, False)
    assert slices.follow(0.0, 10**12, False)
    assert slices.one_of == 1
    np.testing.assert_array_equal(slices.have(times), times // SLICE_PS % 10 == 0)
    assert slices.have(np.array([95, 96, 1000], np.int64) * SLICE_PS).all()
    assert slices.stretches(1) == [(95, 1)]
    fixed = slices_of("1/7")
    assert not fixed.follow(1e9, 10**15, False)
    assert fixed.one_of == 7


def test_features_that_are_stored_are_all_used(files: Path) -> None:
    run = files / "stored.h5"
    with watched(run, "--config", files / "tdpac.toml") as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        check(page, expected(run, 1)[0])
        assert page.status["computed"] == ""
        assert "thalweg_watch_computed" not in server.get("/metrics").body.decode()


def test_detectors_with_energies_count_in_the_slices_of_the_others(tmp_path: Path) -> None:
    """Else pairs of two such detectors had more coincidences than all others. Rows come in any order."""
    config, card = tmp_path / "tdpac.toml", ("--channels", 3, *CARD[2:], "--records", 3000)
    of_three = CONFIG.replace("[0.0237, 0.0237]", "[0.0237, 0.0237, 0.0237]").replace("places", "# places")
    config.write_text(of_three + FEATURES)
    record(tmp_path / "samples.h5", *card)
    record(tmp_path / "stored.h5", *card, "--features", config)
    counter = tdpac.SpectraCounter(tdpac.parse_config(of_three), ("ch0", "ch1", "ch2"))
    hit, computed = {"timestamp": tw.uint64(unit="ps"), "energy": tw.float32}, []
    with (
        tw.open(tmp_path / "samples.h5") as samples,
        tw.open(tmp_path / "stored.h5") as stored,
        tw.create(tmp_path / "run.h5", {"ch0": dict(samples["ch0"].schema), "ch1": hit, "ch2": hit}) as out,
    ):
        order = np.random.default_rng(7).permutation(3000)
        rows = samples["ch0"].read()
        waveform = {name: rows["waveform"][name][order] for name in ("t0", "dt", "values")}
        out.producer("ch0").append(timestamp=rows["timestamp"][order], waveform=waveform)
        for number, name in enumerate(("ch0", "ch1", "ch2")):
            of = stored[name].read(["timestamp", "energy", "time", "flags"])
            alone = (of["flags"] & REJECTED) == 0
            if number > 0:
                out.producer(name).append(timestamp=of["time"][alone], energy=of["energy"][alone])
            in_slices = of["timestamp" if number == 0 else "time"] // SLICE_PS % 2 == 0
            assert 500 < in_slices.sum() < 2500
            computed.append(int(in_slices.sum()))
            counter.add(number, of["time"][alone & in_slices], of["energy"][alone & in_slices])
    counter.pair()
    with watched(tmp_path / "run.h5", "--config", config, "--slices", "1/2") as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        for (first, second), counts in page.blocks("pair").items():
            np.testing.assert_array_equal(counts, counter.spectra().counts[int(first[2]), int(second[2])])
        assert page.blocks("pair")["ch1", "ch2"].sum() > 20
        assert "Energies and times of ch0 are not stored" in page.status["computed"]
        assert f"({computed[0]:,} so far)" in page.status["computed"]


def test_a_run_that_is_taken_is_computed_and_counted_again(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    options = (*CARD, "--rate", "1000/s", "--duration", "120s", "--set", "flush_interval=0.1s")
    window = {"kind": "start", "table": "ch0", "from": 105 / 0.0237, "to": 165 / 0.0237}
    with recording(out, *options) as recorder:
        shown = ("--config", files / "tdpac.toml", "--slices", "1/3", "--token-file", files / "token")
        with watched(out, *shown) as server, viewer(server, Authorization="Bearer secret") as page:
            page.until(lambda: sum(page.rows.values()) > 100)
            assert page.status["state"] != "read to its end"
            page.socket.send(json.dumps({"apply": window}).encode())
            page.until(lambda: page.status["applied"] != [] and sum(page.rows.values()) > 4000)
            recorder.signal(signal.SIGINT)
            report = recorder.report()
            page.until(lambda: page.status["state"] == "read to its end")
            assert sum(page.rows.values()) == report["rows"]
            live = {pair: counts.copy() for pair, counts in page.blocks("pair").items()}
            assert page.status["alarms"] == []
    parsed = tdpac.load_config(files / "tdpac.toml")
    counter = tdpac.SpectraCounter(tdpac.parse_config(CONFIG + "start = [105, 165]\n"), ("ch0", "ch1"))
    with tw.open(out) as run:
        for number, name in enumerate(("ch0", "ch1")):
            columns = tdpac.hits.columns_of(run[name], parsed, run.metadata, True)
            assert columns is not None
            times = run[name].read(["timestamp"])["timestamp"]
            for hits in columns.read(run[name], times // SLICE_PS % 3 == 0):
                counter.add(number, *hits)
    counter.pair()
    np.testing.assert_array_equal(live["ch0", "ch1"], counter.spectra().counts[0, 1])
    assert counter.spectra().counts[0, 1].sum() > 10


def test_what_is_missing_or_wrong_is_said(files: Path, thalweg_command: Any) -> None:
    run = files / "samples.h5"
    for words, said in (
        ([run, "--config", files / "plain.toml"], "add [features]"),
        ([run, "--config", files / "tdpac.toml", "--slices", "10"], "--slices is '10'"),
        ([run, "--config", files / "tdpac.toml", "--slices", "1/0"], "--slices is '1/0'"),
        ([run, "--slices", "all"], "give --config FILE.toml"),
    ):
        done = thalweg_command("watch", *words)
        assert done.returncode == 2
        assert said in done.stderr


def test_parts_have_all_rows_that_are_kept(files: Path) -> None:
    rng = np.random.default_rng(4)
    with tw.open(files / "samples.h5") as run:
        table = run["ch0"]
        for share in (0.0, 0.001, 0.02, 0.5, 1.0):
            kept = rng.random(len(table)) < share
            found = [
                np.flatnonzero(mask) + int(np.flatnonzero(table.read(["timestamp"])["timestamp"] == first)[0])
                for part, mask in parts_of(table, kept)
                for first in [part.read(["timestamp"])["timestamp"][0]]
            ]
            np.testing.assert_array_equal(np.concatenate([np.zeros(0, int), *found]), np.flatnonzero(kept))
    times = np.arange(-100, 100, 5) * (SLICE_PS // 10)
    np.testing.assert_array_equal(Slices(3).have(times), times // SLICE_PS % 3 == 0)
