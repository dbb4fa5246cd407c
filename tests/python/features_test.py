"""Features of pulses: `record --features`, `thalweg tdpac --features`, and what they say of wrong requests."""

import json
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from features_reference import reference
from recording import THALWEG, metadata, record

import thalweg as tw
from thalweg import tdpac
from thalweg._features import held, settings
from thalweg._recording.metadata import check_metadata
from thalweg._recording.options import RecordOptions
from thalweg._recording.source import open_source
from thalweg._recording.source import settings as source_settings
from thalweg.tdpac.hits import columns_of

CONFIG = """
isotope = "181Hf"
places = "line"
range = [-40, 40]
[features]
bits = 10
baseline = 90
"""
CARD = ("--channels", 2, "--seed", 5)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("features") / "tdpac.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, config: Path) -> Path:
    path = tmp_path_factory.mktemp("whole") / "run.h5"
    record(path, *CARD, "--features", config, "--records", 400)
    return path


def columns(path: Path, table: str = "ch0") -> dict[str, np.ndarray]:
    with h5py.File(path) as file:
        return {name: file[table][name][:] for name in ("timestamp", "energy", "time", "flags")}


def test_features_are_those_that_numpy_finds_in_the_samples(whole: Path) -> None:
    with h5py.File(whole) as file:
        samples, t0 = file["ch0/waveform/values"][:], file["ch0/waveform/t0"][:].astype(float)
    found = columns(whole)
    alone = np.flatnonzero(found["flags"] == 0)
    assert len(alone) > 300
    since_ps = found["time"].astype(np.int64) - found["timestamp"].astype(np.int64)
    for row in alone:
        energy, time_ns = reference(samples[row], 0.1, baseline_ns=90)
        assert found["energy"][row] == pytest.approx(energy, rel=2e-3, abs=40)
        assert since_ps[row] == pytest.approx((time_ns + t0[row]) * 1e3, abs=12)


def test_times_are_those_of_the_emulated_gammas(whole: Path) -> None:
    """The timestamp is the truth: the light of LaBr3 crosses a tenth of its height 1.5 ns later."""
    found = columns(whole)
    alone = found["flags"] == 0
    late = found["time"][alone].astype(np.int64) - found["timestamp"][alone].astype(np.int64)
    assert np.median(late) == pytest.approx(1510, abs=25)
    kev = found["energy"][alone] * 0.021
    # Two of the least pulses that count; some have another pulse on their edge.
    assert np.quantile(np.abs(late - np.median(late))[kev > 100], 0.97) < 350
    assert 100 < np.quantile(kev, 0.3) < 160  # the peak of 133 keV


def test_samples_can_be_left_out_or_thinned(config: Path, tmp_path: Path) -> None:
    options = (*CARD, "--features", config, "--records", 2500, "--samples", 1200)
    runs = {}
    for kept, name in (("all", "all.h5"), ("1/2", "thinned.h5"), ("none", "none.root")):
        record(tmp_path / name, *options, "--waveforms", kept)
        runs[kept] = tw.open(tmp_path / name)
    features = {kept: run["ch1"].read(["timestamp", "energy", "time", "flags"]) for kept, run in runs.items()}
    for kept in ("1/2", "none"):
        for column in ("timestamp", "energy", "time", "flags"):
            np.testing.assert_array_equal(features[kept][column], features["all"][column])
    assert "waveform" not in runs["none"]["ch1"].schema
    thinned = runs["1/2"]["ch1"].read(["waveform"])["waveform"]["values"]
    slices = features["all"]["time"] // 10**10
    assert {0, 1, 2} <= set(slices.tolist())
    np.testing.assert_array_equal(thinned.lengths, np.where(slices % 2 == 0, 1200, 0))
    samples = runs["all"]["ch1"].read(["waveform"])["waveform"]["values"]
    np.testing.assert_array_equal(thinned.content, samples[slices % 2 == 0].ravel())
    for run in runs.values():
        assert json.loads(run.metadata["features"])["bits"] == 10


def test_pulses_during_a_record_are_flagged(tmp_path: Path, config: Path) -> None:
    (tmp_path / "physics.toml").write_text("activity = 400000\n")
    report = record(
        tmp_path / "run.h5", *CARD, "--features", config, "--records", 2000, "--physics", tmp_path / "physics.toml"
    )
    found = columns(tmp_path / "run.h5")
    # A share of 1 - exp(-rate x 100 ns) has another pulse in the gate, and others have one in the 845 ns behind it. In
    # the gate, those are missed that are too close, or small on the tail of a large one.
    rate = 400_000 / (1 - 0.42)
    expected = 1 - np.exp(-rate * 100e-9)
    assert 0.45 * expected < np.mean((found["flags"] & 2) != 0) < 1.1 * expected
    followed = np.exp(-rate * 100e-9) * (1 - np.exp(-rate * 845e-9))
    assert np.mean((found["flags"] & 4) != 0) == pytest.approx(followed, rel=0.2)
    counted = report["channels"]["ch0"]
    assert counted["piled_up_pulses"] == np.count_nonzero(found["flags"] & 2)
    assert counted["saturated_pulses"] == np.count_nonzero(found["flags"] & 1) > 0
    with h5py.File(tmp_path / "run.h5") as file:
        full = file["ch0/waveform/values"][:].max(axis=1) == 1023
    assert not (found["flags"][~full] & 1).any()
    assert (found["flags"][full] & 7).all()  # saturated itself, or the other one is


def test_held_runs_get_the_features_of_recorded_ones(whole: Path, config: Path, tmp_path: Path) -> None:
    record(tmp_path / "samples.h5", *CARD, "--records", 400)
    own = tdpac.load_config(config)
    stored = tdpac.count(str(whole), own)
    with pytest.raises(tw.UsageError, match="give --features if there are waveforms"):
        tdpac.count(str(tmp_path / "samples.h5"), own)
    made = tdpac.count(str(tmp_path / "samples.h5"), own, made=True)
    assert made.facts == stored.facts
    np.testing.assert_array_equal(made.counts, stored.counts)
    assert [each for each in made.remarks if "left out" in each] == [
        each for each in stored.remarks if "left out" in each
    ]
    run, read = tw.open(tmp_path / "samples.h5"), columns(whole, "ch1")
    of_table = tdpac.hits.columns_of(run["ch1"], own, run.metadata, True)
    assert of_table is not None
    of_table.rejected_flags = 0
    ((times, energies),) = of_table.read(run["ch1"])
    np.testing.assert_array_equal(times, read["time"])
    np.testing.assert_array_equal(energies, read["energy"])


def test_real_compass_pulses(real_data: Path, tmp_path: Path) -> None:
    """Stored energies are used, times come from the edge of the samples, as NumPy finds it."""
    text = 'places = "line"\nrange = [-1000, 1000]\nbin = 1\nstart = [1, 5000]\nstop = [1, 5000]\n'
    text += "[features]\nbits = 14\nbaseline = 60\nsmooth = 4\ngate = [-20, 400]\nreject = []\n"
    (tmp_path / "tdpac.toml").write_text(text)
    file = real_data / "compass.BIN"
    record(tmp_path / "run.h5", "--source", "replay", "--input", file, "--features", tmp_path / "tdpac.toml")
    run = tw.open(tmp_path / "run.h5")
    rows = run["ch0"].read()
    assert rows["energy"].dtype == np.uint16
    checked = 0
    for row in range(len(rows["energy"])):
        if rows["pulse_flags"][row]:
            continue
        samples = rows["waveform"]["values"][row]
        _, time_ns = reference(samples, 2.0, baseline_ns=60, gate_ns=(-20, 400), smooth_ns=4)
        since = int(rows["time"][row]) - int(rows["timestamp"][row])
        assert since == pytest.approx(time_ns * 1e3, abs=60)
        checked += 1
    assert checked > 30
    own = tdpac.load_config(tmp_path / "tdpac.toml")
    held = tdpac.count(str(file), own, made=True)
    stored = tdpac.count(str(tmp_path / "run.h5"), own)
    assert held.facts == stored.facts
    assert held.facts["coincidences"] > 0
    np.testing.assert_array_equal(held.counts, stored.counts)


def test_real_lh5_pulses(real_data: Path) -> None:
    """Pulses of a SiPM: where one is found, the samples rise above half the threshold, and elsewhere they do not."""
    features = settings.parse_features({"bits": 16, "threshold": 30, "smooth": 32, "gate": [-100, 1000]}, "test")
    found = 0
    with tw.open(real_data / "spms.h5") as run:
        for table in ("ch0/raw", "ch5/raw"):
            held.check_samples(run[table], features)
            rows = run[table].read(["waveform"])
            pulses = held.pulses_of(rows, features)
            for row, samples in enumerate(rows["waveform"]["values"].astype(float)):
                rises = np.convolve(samples - np.median(samples[:300]), np.ones(8) / 8, "valid")
                if pulses.flags[row] & 16:
                    assert rises.max() < 45
                    assert np.isnan(pulses.energies[row])
                    continue
                found += 1
                since_ns = pulses.since_ps[row] * 1e-3 - rows["waveform"]["t0"][row]
                at = round(since_ns / rows["waveform"]["dt"][row])
                assert rises[at : at + 40].max() > 15
    assert found > 5


@pytest.mark.parametrize("t0", [np.nan, np.inf, 1e300])
def test_a_record_that_begins_at_no_time_is_an_error(t0: float, config: Path, tmp_path: Path) -> None:
    samples = np.full((40, 1000), 100, np.uint16)
    samples[:, 300:400] = 600
    begins = np.full(40, -90.0)
    begins[30] = t0
    waveform = [{"t0": begins[row], "dt": 0.5, "values": samples[row]} for row in range(40)]
    kind = tw.struct({"t0": tw.float64(unit="ns"), "dt": tw.float64(unit="ns"), "values": tw.array(tw.uint16, (1000,))})
    schema = {"timestamp": tw.uint64(unit="ns"), "waveform": kind}
    with tw.create(tmp_path / "held.h5", {"ch0": schema, "ch1": schema}) as out:
        for table in ("ch0", "ch1"):
            producer = out.producer(table)
            for row in range(40):
                producer.append(timestamp=(row + 1) * 1_000_000, waveform=waveform[row])
    with tw.open(tmp_path / "held.h5") as run, pytest.raises(tw.DataError, match=r"waveform/t0' is .* in row 30"):
        held.pulses_of(run["ch0"].read(), tdpac.load_config(config).features)
    words = ["--source", "replay", "--input", tmp_path / "held.h5", "--features", config, "--waveforms", "none"]
    done = subprocess.run(
        [*map(str, [THALWEG, "record", "--out", tmp_path / "run.h5", *words])],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1
    assert "'waveform/t0' is no time of a record" in done.stderr


def test_a_compass_file_that_cannot_be_read_is_an_error(config: Path, tmp_path: Path) -> None:
    (tmp_path / "loop.BIN").symlink_to(tmp_path / "loop.BIN")
    with pytest.raises(tw.Error, match=r"cannot read .*loop\.BIN"):
        tdpac.count(str(tmp_path / "loop.BIN"), tdpac.load_config(config), made=True)


WRONG = [
    ("[feature]\nbits = 10", "there is no 'feature' (did you mean 'features'?)"),
    ("[features]\nbit = 10", "there is no 'bit' (did you mean 'bits'?)"),
    ("[features]\npolarity = 'negative'", "has no 'bits'"),
    ("[features]\nbits = 10\npolarity = 'negativ'", "did you mean 'negative'"),
    ("[features]\nbits = 10.5", "give a whole number from 1 to 16"),
    ("[features]\nbits = 10\ngate = [5, -5]", "the earlier one first"),
    ("[features]\nbits = 10\nreject = ['piledup']", "did you mean 'piled-up'"),
    ("[features]\nbits = 10\nwaveform = 'wave'", "no table has a column 'wave'"),
    ("timestamp = 'clock'\n[features]\nbits = 10", "column 'clock' does not exist"),
    ("isotope = '181Hf'", "add [features]"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_wrong_settings_are_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "tdpac.toml").write_text(text)
    with pytest.raises(tw.UsageError) as refused:
        open_source(source_settings(RecordOptions(features=str(tmp_path / "tdpac.toml"))))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"waveforms": "1/10"}, "give --features FILE.toml, too"),
        ({"source": "raw", "waveforms": "none"}, "give --features FILE.toml, too"),
        ({"waveforms": "some"}, "give all, none, or for example 1/10"),
        ({"waveforms": "1/0"}, "give all, none, or for example 1/10"),
        ({"features": "missing.toml"}, "cannot read missing.toml"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], said: str) -> None:
    with pytest.raises(tw.UsageError) as refused:
        source_settings(RecordOptions(**options))
    assert said in str(refused.value)


def test_a_wrong_name_is_said_before_there_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "tdpac.toml").write_text("[features]\nbits = 10\nsmoth = 2\n")
    words = [THALWEG, "record", "--out", tmp_path / "run.h5", "--features", tmp_path / "tdpac.toml"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert "there is no 'smoth' (did you mean 'smooth'?)" in done.stderr
    assert not (tmp_path / "run.h5").exists()


def test_the_metadata_say_how_features_were_made(whole: Path) -> None:
    found: dict[str, Any] = json.loads(metadata(whole)["features"])
    assert found["baseline_ns"] == 90
    assert found["gate_ns"] == [-5, 100]
    assert json.loads(json.loads(metadata(whole)["source_settings"])["features"]) == found
    with pytest.raises(tw.UsageError, match="the recorder itself writes 'features'"):
        check_metadata(RecordOptions(meta=["features=mine"]))


@pytest.mark.parametrize(("unit", "is_used"), [("ns", True), ("ps", True), ("", False), ("V", False)])
def test_a_beginning_beside_the_samples_is_used_or_said_not_to_be(unit: str, is_used: bool, tmp_path: Path) -> None:
    samples = np.full((40, 1000), 100, np.uint16)
    samples[:, 300:400] = 600
    begin_ns = np.linspace(-90, -89, 40)
    stored = begin_ns * (1000 if unit == "ps" else 1)
    wave, begin = tw.array(tw.uint16, (1000,)), tw.float64(unit=unit) if unit else tw.float64
    schema = {"timestamp": tw.uint64(unit="ns"), "waveform": wave, "t0": begin}
    times = np.arange(1, 41, dtype=np.uint64) * 1_000_000
    with tw.create(tmp_path / "held.h5", {"ch0": schema, "ch1": schema}) as out:
        for table in ("ch0", "ch1"):
            out.producer(table).append(timestamp=times, waveform=samples, t0=stored)
    config = tdpac.parse_config('places = "line"\nrange = [-20, 40]\n[features]\nbits = 10\nsample-period = 0.5\n')
    with tw.open(tmp_path / "held.h5") as run:
        columns = columns_of(run["ch0"], config, {}, made=True)
        found = np.concatenate([hits[0] for hits in columns.read(run["ch0"])]) - times.astype(np.int64) * 1000
    spread = (begin_ns - begin_ns[0]) * 1000
    np.testing.assert_allclose(found - found[0], spread if is_used else 0, atol=1)
    remarks = tdpac.count(str(tmp_path / "held.h5"), config, made=True).remarks
    assert any("The column t0 of ch1 is not used, because it has" in each for each in remarks) != is_used
