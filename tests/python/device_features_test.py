"""`record --features` with devices of users: their processes make features of the samples that they have."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_sources import PULSER, compiled
from recording import THALWEG, metadata, record
from watching import viewer, watched

import thalweg as tw
from thalweg import tdpac
from thalweg._features.held import pulses_of
from thalweg._features.settings import load_features

CONFIG = """
isotope = "181Hf"
places = "line"
range = [-40, 40]
scale = [0.0237, 0.0237]
[features]
bits = 10
baseline = 8
gate = [-3, 60]
"""
CARD = ("--channels", 2, "--seed", 5, "--samples", 1200, "--isotope", "181Hf", "--records", 2500)
MADE = ("energy", "time", "flags")
DEVICE = "device_stand_ins:Replayed"
SLICE_PS = 10**10


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "tdpac.toml").write_text(CONFIG)
    record(folder / "samples.h5", *CARD)
    record(folder / "stored.h5", *CARD, "--features", folder / "tdpac.toml")
    return folder


@pytest.fixture(autouse=True)
def _find_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def words(files: Path, *more: object, device: str = DEVICE) -> tuple[object, ...]:
    settings = ("--setting", f"path={files / 'samples.h5'}")
    return "--source", device, *settings, "--features", files / "tdpac.toml", *more


def check_features(run: Path, stored: Path, prefix: str = "") -> None:
    with tw.open(run) as found, tw.open(stored) as expected:
        for name in expected:
            columns = found[prefix + name].read(["timestamp", *MADE])
            order = np.argsort(columns["timestamp"], kind="stable")  # rows of two processes have no order
            for column in ("timestamp", *MADE):
                np.testing.assert_array_equal(columns[column][order], expected[name].read([column])[column])


@pytest.mark.parametrize(("lanes", "name"), [(1, "run.h5"), (2, "run.root")])
def test_a_device_has_the_features_of_an_emulated_one(files: Path, tmp_path: Path, lanes: int, name: str) -> None:
    report = record(tmp_path / name, *words(files, "--setting", f"lanes={lanes}"))
    assert report["rows"] == 5000
    check_features(tmp_path / name, files / "stored.h5")
    with tw.open(tmp_path / name) as run, tw.open(files / "samples.h5") as samples:
        for table in samples:
            kept, own = run[table].read(["waveform"])["waveform"], samples[table].read(["waveform"])["waveform"]
            np.testing.assert_array_equal(kept["values"], own["values"])
        of_file, expected = metadata(tmp_path / name), metadata(files / "stored.h5")
        assert json.loads(of_file["features"]) == json.loads(expected["features"])
        counted = report["channels"]
        for table in samples:
            flags = run[table].read(["flags"])["flags"]
            assert counted[table]["piled_up_pulses"] == np.count_nonzero(flags & 2) > 0
            assert counted[table]["saturated_pulses"] == np.count_nonzero(flags & 1)
    # What is written is a run with features to the analysis.
    config = tdpac.load_config(files / "tdpac.toml")
    counts = tdpac.count(str(tmp_path / name), config).counts
    np.testing.assert_array_equal(counts, tdpac.count(str(files / "stored.h5"), config).counts)
    assert counts.sum() > 100


@pytest.mark.parametrize("source", ["device", "digitizer"])
def test_many_rows_without_a_pulse_are_said(files: Path, tmp_path: Path, source: str) -> None:
    config = tmp_path / "high.toml"
    config.write_text(CONFIG + "threshold = 300\n")
    of_source = words(files) if source == "device" else ("--features", config, *CARD)
    report = record(tmp_path / "run.h5", *of_source, "--features", config)
    with tw.open(tmp_path / "run.h5") as run:
        without = {name: np.count_nonzero(run[name].read(["flags"])["flags"] & 16) for name in ("ch0", "ch1")}
    assert min(without.values()) > 250
    assert report["notes"] == [
        f"{count:,} of 2,500 rows of {name} have no pulse above the threshold (300 ADC), and no energy: lower "
        "threshold in [features]"
        for name, count in without.items()
    ]
    again = subprocess.run(
        [THALWEG, "record", "--quiet", "--out", tmp_path / "again.h5", *map(str, of_source), "--features", config],
        capture_output=True,
        text=True,
        check=True,
    )
    assert " ".join(report["notes"][0].split()) in " ".join(again.stdout.split())
    config.write_text(CONFIG)  # a hundredth of 10 bits
    assert record(tmp_path / "low.h5", *of_source, "--features", config)["notes"] == []


def test_rows_without_a_pulse_are_said_of_devices_that_are_tried(tmp_path: Path, thalweg_command: Any) -> None:
    (tmp_path / "high.toml").write_text(CONFIG + "threshold = 900\n")
    options = {"source": "digitizer", "channels": 1, "samples": 1200, "rate": "1kHz"}
    options["features"] = str(tmp_path / "high.toml")
    (tmp_path / "run.toml").write_text("".join(f"{name} = {json.dumps(each)}\n" for name, each in options.items()))
    (note,) = json.loads(thalweg_command("devices", "--config", tmp_path / "run.toml", "--json").stdout)["notes"]
    assert note.endswith(
        "rows of ch0 have no pulse above the threshold (900 ADC), and no energy: lower threshold in [features]"
    )


def test_times_before_a_start_marker_are_negative(files: Path, tmp_path: Path) -> None:
    with tw.open(files / "stored.h5") as run:
        marker_ps = int(np.median(run["ch0"].read(["timestamp"])["timestamp"]))
        expected = {name: run[name].read(["timestamp", *MADE]) for name in run}
    own = words(files, "--setting", f"marker_ps={marker_ps}", "--waveforms", "1/2")
    record(tmp_path / "run.h5", *own)
    with tw.open(tmp_path / "run.h5") as run:
        for name in expected:
            found = run[name].read()
            assert (found["timestamp"] < 0).sum() > 500
            for column in ("timestamp", "time"):
                assert found[column].dtype == np.int64
                np.testing.assert_array_equal(found[column] + marker_ps, expected[name][column].astype(np.int64))
            np.testing.assert_array_equal(found["energy"], expected[name]["energy"])
            kept = found["time"] // SLICE_PS % 2 == 0
            assert 0 < (kept & (found["time"] < 0)).sum() < (found["time"] < 0).sum()
            np.testing.assert_array_equal(found["waveform"]["values"].lengths, np.where(kept, 1200, 0))
    # The marker changes no coincidence: neither of two hits before it, nor of one on each side.
    config = tdpac.load_config(files / "tdpac.toml")
    spectra = tdpac.count(str(tmp_path / "run.h5"), config)
    of_all = tdpac.count(str(files / "stored.h5"), config)
    np.testing.assert_array_equal(spectra.counts, of_all.counts)
    assert spectra.remarks == of_all.remarks
    with watched(tmp_path / "run.h5", "--config", files / "tdpac.toml") as server, viewer(server) as page:
        page.until(lambda: page.status["state"] == "read to its end")
        np.testing.assert_array_equal(page.blocks("pair")["ch0", "ch1"], spectra.counts[0, 1])
        assert not {"silent", "flooding"} & {kind for kind, _ in page.kinds()}
        for table in (each for each in page.status["tables"] if each["name"] in expected):
            assert table["rate"] is None or table["rate"] > 0
            assert 0 <= table["behind_s"] < 1
    check_samples_alike(files, tmp_path / "run.h5")


def check_samples_alike(files: Path, run: Path) -> None:
    """Features that are made of samples have the same times."""
    config = tdpac.load_config(files / "tdpac.toml")
    with tw.open(run) as signed:
        rows = signed["ch0"].read()
        kept = rows["waveform"]["values"].lengths > 0
        assert np.isfinite(rows["energy"][kept]).any()
        assert config.features is not None
        since = pulses_of({"waveform": rows["waveform"]}, config.features).since_ps
        np.testing.assert_array_equal(rows["timestamp"][kept] + since[kept], rows["time"][kept])


def test_samples_of_a_device_are_left_out_or_thinned(files: Path, tmp_path: Path) -> None:
    record(tmp_path / "none.h5", *words(files, "--waveforms", "none"))
    record(tmp_path / "half.h5", *words(files, "--waveforms", "1/2"))
    for name in ("none.h5", "half.h5"):
        check_features(tmp_path / name, files / "stored.h5")
    with tw.open(tmp_path / "none.h5") as run:
        assert list(run["ch0"].schema) == ["timestamp", *MADE]
    with tw.open(tmp_path / "half.h5") as run:
        read = run["ch1"].read()
        kept = read["time"] // SLICE_PS % 2 == 0
        assert 500 < kept.sum() < 2400
        np.testing.assert_array_equal(read["waveform"]["values"].lengths, np.where(kept, 1200, 0))
    assert json.loads(metadata(tmp_path / "half.h5")["source_settings"])["waveforms"].startswith("1/2, in slices of 10")


def test_a_device_that_is_lost_and_opened_again_goes_on(files: Path, tmp_path: Path) -> None:
    lost = ("--setting", f"notes={tmp_path}", "--setting", "lost_after=1000")
    report = record(tmp_path / "run.h5", *words(files, *lost), code=1)
    assert report["rows"] == 5000
    check_features(tmp_path / "run.h5", files / "stored.h5")
    with tw.open(tmp_path / "run.h5") as run:
        flags = run["ch0"].read(["flags"])["flags"]
    # A lost process has counted until a quarter of a second before it was lost.
    assert report["channels"]["ch0"]["piled_up_pulses"] <= np.count_nonzero(flags & 2)


def test_devices_without_samples_stay_as_they_are(files: Path, tmp_path: Path) -> None:
    path = f'path = "{files / "samples.h5"}"'
    both = ("--device", f'{{source = "{DEVICE}", name = "a", {path}}}')
    both += ("--device", f'{{source = "device_stand_ins:Times", name = "b", {path}}}')
    record(tmp_path / "run.h5", *both, "--features", files / "tdpac.toml", "--waveforms", "none")
    check_features(tmp_path / "run.h5", files / "stored.h5", "a_")
    with tw.open(tmp_path / "run.h5") as run:
        assert list(run["b_ch0"].schema) == ["timestamp"]
        assert len(run["b_ch1"]) == 2500
    assert json.loads(metadata(tmp_path / "run.h5")["features"])["bits"] == 10


def test_a_library_in_c_has_features_too(tmp_path: Path) -> None:
    (tmp_path / "tdpac.toml").write_text(
        "[features]\nbits = 8\nsample-period = 1\nbaseline = 20\ngate = [-3, 20]\nthreshold = 6\nreject = []\n"
    )
    noise, text = "80 + sample * 7919 % 13 + i", PULSER.read_text()
    assert noise in text
    pulse = "80 + (sample >= 30 && sample < 60 ? 4 * (60 - sample) + sample * 7919 % 5 : 0)"
    (tmp_path / "pulsed.c").write_text(text.replace(noise, pulse))
    library = compiled(tmp_path / "pulsed.c", tmp_path)
    options = ("--source", library, "--setting", "rate=20000", "--features", tmp_path / "tdpac.toml")
    for name, more in (("run.h5", ()), ("none.h5", ("--waveforms", "none"))):
        report = record(tmp_path / name, *options, "--duration", "0.5s", *more)
        with tw.open(tmp_path / name) as run:
            assert report["rows"] == len(run["ch0"]) > 1000
            assert ("waveform" in run["ch0"].schema) == (name == "run.h5")
    settings, _ = load_features(str(tmp_path / "tdpac.toml"))
    with tw.open(tmp_path / "run.h5") as run, tw.open(tmp_path / "none.h5") as none:
        rows = run["ch0"].read()
        pulses = pulses_of(rows, settings)
        np.testing.assert_array_equal(rows["energy"], pulses.energies)
        np.testing.assert_array_equal(rows["flags"], pulses.flags)
        per_unit = {"ns": 1000, "ps": 1}[run["ch0"].schema["timestamp"].unit]
        times = rows["timestamp"].astype(np.int64) * per_unit + pulses.since_ps
        np.testing.assert_array_equal(rows["time"], np.maximum(times, 0))
        with_pulse = np.isfinite(rows["energy"])
        assert 0 < with_pulse.sum() < len(rows)
        assert 1000 < np.median(rows["energy"][with_pulse]) < 2000
        alone = none["ch0"].read()
        assert set(alone["energy"][np.isfinite(alone["energy"])]) <= set(rows["energy"])  # the same pulses again


@pytest.mark.parametrize(
    ("more", "text", "said"),
    [
        (("--setting", "wrong=t0"), "", "'waveform/t0' is no time of a record"),
        (("--setting", "wrong=missing"), "", "column 'waveform': no value for 'dt'"),
        ((), "waveform = 'wave'\n", "no table of a device has a column 'wave'"),
        ((), "polarity = 'up'\n", "polarity is 'up'"),
        (("--waveforms", "some"), "", "give all, none, or for example 1/10"),
    ],
)
def test_what_is_wrong_is_said(files: Path, tmp_path: Path, more: Any, text: str, said: str) -> None:
    (tmp_path / "tdpac.toml").write_text(CONFIG + text)
    own = (*words(files)[:-1], tmp_path / "tdpac.toml", *more)
    command = [THALWEG, "record", "--out", tmp_path / "run.h5", "--quiet", *own]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert (tmp_path / "run.h5").exists() == bool(more and more[0] == "--setting")


def test_waveforms_of_a_device_are_not_left_out_without_features(files: Path, tmp_path: Path) -> None:
    own = [word for word in words(files, "--waveforms", "none") if word not in ("--features", files / "tdpac.toml")]
    command = [THALWEG, "record", "--out", tmp_path / "run.h5", *own]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert "give --features FILE.toml, too" in done.stderr
