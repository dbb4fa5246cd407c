"""`record --features` with the cards that are built in, over stand-ins for their vendors' libraries: the features of
their pulses are those that `thalweg tdpac --features` makes of the same samples."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from acqiris_test import positions_of
from c_sources import AQMD3, FELIB, compiled
from recording import THALWEG, metadata, record

import thalweg as tw
from thalweg import tdpac
from thalweg.tdpac.hits import columns_of

# All hits are starts and stops.
CONFIG = """
places = "line"
range = [-100, 100]
start = [0, 1e9]
stop = [0, 1e9]
[features]
reject = []
"""
PICOSECONDS_A_SAMPLE = 100


@pytest.fixture(scope="module")
def aqmd3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(AQMD3, tmp_path_factory.mktemp("aqmd3"))


@pytest.fixture(scope="module")
def felib(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its samples have a pulse in them, of another height with each trigger."""
    folder, text = tmp_path_factory.mktemp("felib"), FELIB.read_text()
    samples = "8192 + channel * 100 + (sample + trigger) % 64"
    assert text.count(f"{samples})") == 1
    pulse = "(sample >= 40 && sample < 60 ? (500 + trigger % 64 * 50) * (60 - sample) / 20 : 0)"
    (folder / "pulsed.c").write_text(
        text.replace(samples, f"4096 + channel * 100 + (sample * 7 + trigger) % 5 + {pulse}").replace(
            '"../faults.h"', f'"{FELIB.parents[1] / "faults.h"}"'
        )
    )
    return compiled(folder / "pulsed.c", folder)


def recorded(folder: Path, source: str, features: str, settings: list[str]) -> tuple[Path, Any]:
    """Returns a run with features of two channels, and its configuration."""
    (folder / "tdpac.toml").write_text(CONFIG + features)
    words = [word for setting in settings for word in ("--setting", setting)]
    own = ("--features", folder / "tdpac.toml", "--duration", "400ms")
    record(folder / "run.h5", "--source", source, *words, *own)
    assert '"bits"' in metadata(folder / "run.h5")["features"]
    return folder / "run.h5", tdpac.load_config(folder / "tdpac.toml")


def without_features(run: Path, tables: list[str], made: list[str]) -> Path:
    """Returns a run that has the same rows, and what the card gives."""
    path = run.with_name("samples.h5")
    with tw.open(run) as whole:
        schema = {
            name: {column: type_ for column, type_ in whole[name].schema.items() if column not in made}
            for name in tables
        }
        with tw.create(path, schema) as out:
            for name in tables:
                with out.producer(name) as producer:
                    producer.append(**whole[name].read(list(schema[name])))
    return path


def check_features(run: Path, config: Any, tables: list[str], flags: str) -> None:
    samples = without_features(run, tables, ["energy", "time", flags])
    with tw.open(samples) as card, tw.open(run) as whole:
        for name in tables:
            columns = columns_of(card[name], config, card.metadata, made=True)
            assert columns is not None
            assert columns.made is not None
            times, energies = (np.concatenate(each) for each in zip(*columns.read(card[name]), strict=True))
            stored = whole[name].read()
            assert len(times) > 200
            np.testing.assert_array_equal(times, stored["time"].astype(np.int64))
            np.testing.assert_array_equal(energies, stored["energy"])
            assert np.count_nonzero(stored[flags] & 16) == 0  # each record has its pulse
    of_samples, of_features = tdpac.count(str(samples), config, made=True), tdpac.count(str(run), config)
    np.testing.assert_array_equal(of_samples.counts, of_features.counts)
    assert of_features.counts[0, 1].sum() > 200


def test_acqiris(aqmd3: Path, tmp_path: Path) -> None:
    settings = [f"library={aqmd3}", "resource=PXI0::0::0::INSTR", "samples=2560", "channels=2", "batch=16"]
    settings += ["driver_options=Simulate=false, rate=2000"]
    features = "bits = 10\nsample-period = 0.1\n"
    run, config = recorded(tmp_path, "acqiris", features, settings)
    check_features(run, config, ["ch1", "ch2"], "flags")
    # Each record of the stand-in is one of 64, and begins at a whole sample, at some time before its trigger.
    with tw.open(run) as whole:
        rows = whole["ch1"].read()
    count = len(rows["time"])
    positions = positions_of(count, 2000)
    assert rows["timestamp"].tolist() == (positions * PICOSECONDS_A_SAMPLE // 256).tolist()
    since_ps = rows["time"].astype(np.int64) - positions // 256 * PICOSECONDS_A_SAMPLE
    pulses = np.arange(count) % 64
    for pulse in range(64):
        assert np.ptp(since_ps[pulses == pulse]) <= 2


@pytest.mark.parametrize("endpoint", ["scope", "raw"])
def test_caen_scope(felib: Path, tmp_path: Path, endpoint: str) -> None:
    settings = [f"library={felib}", "address=dig2://board?rate=2000", "samples=128", f"endpoint={endpoint}"]
    features = "bits = 14\nbaseline = 200\ngate = [-20, 200]\nsmooth = 16\nthreshold = 100\n"
    run, config = recorded(tmp_path, "caen", features, settings)
    check_features(run, config, ["ch0", "ch1"], "pulse_flags")
    with tw.open(run) as whole:
        rows = whole["ch0"][1:].read()  # the first pulse is before the zero of a clock that is never negative
    triggers = rows["timestamp"].astype(np.int64) // (10**12 // 2000)
    since_ns = (rows["time"].astype(np.int64) - rows["timestamp"].astype(np.int64)) * 1e-3
    assert np.abs(since_ns - (40 * 8 - 800)).max() < 16
    areas = (500 + triggers % 64 * 50) * 10.5 * 8  # of a triangle of 20 samples
    assert np.abs(rows["energy"] / areas - 1).max() < 0.05


@pytest.mark.parametrize("firmware", ["DPP_PHA", "DPP_PSD"])
def test_probes_of_firmwares_of_caen_have_no_features(felib: Path, tmp_path: Path, firmware: str) -> None:
    """They are integers of 32 bits, and need not be samples of the ADC. The firmware has energies and times itself."""
    (tmp_path / "tdpac.toml").write_text(CONFIG + "bits = 14\n")
    words = [THALWEG, "record", "--out", tmp_path / "run.h5", "--source", "caen", "--setting", f"library={felib}"]
    words += ["--setting", f"address=dig2://board?rate=2000&fw={firmware}", "--features", tmp_path / "tdpac.toml"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert "column 'waveform' has no samples of 16 bits" in done.stderr
    assert not (tmp_path / "run.h5").exists()
