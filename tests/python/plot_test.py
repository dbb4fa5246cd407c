"""What `thalweg plot` draws: which columns it takes, the energies it finds, and that every channel can be seen."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from recording import compass_file, record

import thalweg as tw
from thalweg.cli._find_signals import signals_of
from thalweg.cli._pulses import integrals, polarity
from thalweg.cli._signals import Signals

FWHM = 2.3548  # of a Gaussian, in its standard deviations


def found(table: tw.Table, waveform: str = "") -> Signals:
    signals = signals_of(table, waveform)
    assert signals
    return signals


def written(path: Path, tables: dict[str, dict[str, Any]], types: dict[str, Any]) -> Path:
    """Tables of one schema, which is `types`."""
    with tw.create(path, tw.schema(dict.fromkeys(tables, types))) as out:
        for name, columns in tables.items():
            with out.producer(name) as producer:
                producer.append(**columns)
    return path


def resolution(energies: np.ndarray) -> float:
    """The width of a peak by its energy; one row in ten may be anything else."""
    low, middle, high = np.quantile(energies, [0.16, 0.5, 0.84])
    return float(FWHM * (high - low) / 2 / middle)


def test_the_peak_of_a_real_pulser_is_as_sharp_as_its_pulses(tmp_path: Path, real_data: Path) -> None:
    source = real_data / "compass.BIN"
    if not source.exists():
        pytest.skip(f"{source} is not there")
    record(tmp_path / "run.h5", "--source", "replay", "--input", source)
    with_pulses, with_noise = (found(tw.open(tmp_path / "run.h5")[name]) for name in ("ch0", "ch1"))
    energies, stored = with_pulses.integrals(1000), with_pulses.stored_energies(1000)
    assert with_pulses.polarity == 1
    assert 0.9 * 780 * 250 < np.median(energies) < 1.1 * 780 * 250  # 780 ADC high, 250 samples long
    assert resolution(energies) < 0.0025
    assert energies.std() / energies.mean() < 0.0015  # and no outlier
    assert resolution(energies) < resolution(stored) / 10  # whose gate cuts the pulses: 4 %
    assert abs(np.median(with_noise.integrals(1000))) < 0.005 * np.median(energies)


def pulse(kind: str, samples: int, start: np.ndarray, length: int) -> np.ndarray:
    """Returns pulses of height 1, one record for each start."""
    since = np.arange(samples) - start[:, np.newaxis]
    if kind == "rectangle":
        return np.asarray(((since >= 0) & (since < length)), np.float64)
    return np.where(since >= 0, np.exp(-np.maximum(since, 0) / length), 0.0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("samples", [500, 1000, 10_496])
@pytest.mark.parametrize(
    ("kind", "share"),
    [("decay", 0.01), ("decay", 0.05), ("rectangle", 0.02), ("rectangle", 0.25), ("rectangle", 0.45), ("step", 10)],
)
@pytest.mark.parametrize("begin", [0.01, 0.03, 0.1, 0.4])
def test_energies_are_found_wherever_pulses_begin(
    sign: int, samples: int, kind: str, share: float, begin: float
) -> None:
    if kind == "step" and begin < 0.1:
        return  # what comes before it is too short to be a level
    random = np.random.default_rng(11)
    starts = int(begin * samples) + random.integers(0, samples // 50, 60)
    heights = random.uniform(300, 1000, (60, 1))
    pulses = heights * pulse(kind, samples, starts, int(share * samples))
    records = np.rint(5000 + sign * pulses + random.normal(0, 3, pulses.shape)).astype(np.uint16)
    assert polarity(records) == sign
    deviations = integrals(records, sign) / pulses.sum(axis=1) - 1
    assert abs(np.median(deviations)) < 0.025
    assert np.quantile(np.abs(deviations), 0.95) < 0.06


def test_noise_has_no_energy() -> None:
    records = np.random.default_rng(3).normal(2000, 3, (200, 1000))
    energies = integrals(records, 1)
    assert abs(energies.mean()) < 10
    assert energies.std() < 3 * 3 * np.sqrt(1000) / 10


def test_records_of_different_length(tmp_path: Path) -> None:
    lengths = [0, 100, 400, 100, 3, 400]
    records = [np.full(n, 50, np.uint16) for n in lengths]
    for values in records[1:4]:
        values[20:30] -= 40
    path = written(tmp_path / "run.h5", {"ch0": {"waveform": records}}, {"waveform": tw.list_(tw.uint16)})
    signals = found(tw.open(path)["ch0"])
    assert signals.polarity == -1
    assert signals.integrals(100) == pytest.approx([0, 400, 400, 400, 0, 0])
    assert signals.integrals(3) == pytest.approx([0, 400, 400])


@pytest.mark.parametrize(
    ("types", "waveform"),
    [
        ({"waveform": tw.array(tw.uint16, 100)}, "waveform"),
        ({"adc0": tw.array(tw.float32, 100)}, "adc0"),
        ({"RawTrace": tw.list_(tw.int16)}, "RawTrace"),
        ({"x": tw.array(tw.uint16, 100)(unit="ADC")}, "x"),
        ({"x": {"t0": tw.float32, "dt": tw.float32, "values": tw.array(tw.uint16, 100)}}, "x/values"),
        ({"samples": tw.list_(tw.int16), "waveform_windowed": {"dt": tw.float64, "values": tw.list_(tw.int16)}},
         "waveform_windowed/values"),
        ({"hits": tw.list_(tw.float32)}, ""),
        ({"tracelist": tw.list_(tw.int16)}, ""),
        ({"pulse_times": tw.list_(tw.float32)}, ""),
        ({"position": tw.array(tw.float64, 10)}, ""),
        ({"waveform": tw.array(tw.uint16, 7)}, ""),
        ({"waveform": tw.array(tw.complex64, 100)}, ""),
        ({"waveform": tw.array(tw.bool_, 100)}, ""),
        ({"waveform": tw.array(tw.uint16, 10, 10)}, ""),
    ],
)  # fmt: skip
def test_only_waveforms_are_taken_for_waveforms(tmp_path: Path, types: Any, waveform: str) -> None:
    with tw.create(tmp_path / "run.h5", tw.schema({"events": types})):
        pass
    signals = signals_of(tw.open(tmp_path / "run.h5")["events"])
    assert (signals.waveform if signals else "") == waveform


def test_a_file_without_anything_to_draw(tmp_path: Path, thalweg_command) -> None:
    types = {"event": tw.int32, "hits": tw.list_(tw.float32)}
    columns = {"event": [1, 2], "hits": [[1.0] * 20, [2.0, 3.0]]}
    path = written(tmp_path / "events.h5", {"events": columns}, types)
    done = thalweg_command("plot", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "nothing to plot (no table with rows has a column recognised as waveform, energy or timestamp); " in done.stderr
    )
    done = thalweg_command("plot", path, "--table", "events")
    assert done.returncode == 2
    assert "table 'events'" in done.stderr
    assert "nothing to plot (" in done.stderr
    done = thalweg_command("plot", path, "--waveform", "event")
    assert done.returncode == 2
    assert "no table" in done.stderr
    assert not path.with_suffix(".png").exists()
    done = thalweg_command("plot", path, "--waveform", "hits", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["panels"] == ["pulses", "spectrum"]


def test_what_was_asked_for_and_is_not_there_is_said(tmp_path: Path, thalweg_command) -> None:
    path = written(tmp_path / "run.h5", {"ch0": {"timestamp": [1, 2, 9]}}, {"timestamp": tw.uint64(unit="ns")})
    done = thalweg_command("plot", path, "--what", "rates", "--what", "pulses")
    assert done.returncode == 2
    assert "for --what pulses" in done.stderr
    assert thalweg_command("plot", path).returncode == 0


def test_a_stored_energy_comes_first(tmp_path: Path, thalweg_command) -> None:
    types = {"energy": tw.uint16, "waveform": tw.array(tw.uint16, 100)}
    records = np.full((3, 100), 7, np.uint16)
    tables = {
        "ch0": {"energy": [5, 6, 7], "waveform": records},
        "ch1": {"energy": [0, 0, 0], "waveform": records},  # it was never filled
    }
    path = written(tmp_path / "run.h5", tables, types)

    def energies(*options: str) -> dict[str, str]:
        done = thalweg_command("plot", path, "--json", *options)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout)["energies"])

    assert found(tw.open(path)["ch0"]).stored_energies(2).tolist() == [5, 6]
    assert energies() == {"ch0": "column energy", "ch1": "integral of waveform"}
    assert set(energies("--energy", "integral").values()) == {"integral of waveform"}
    assert energies("--energy", "stored") == {"ch0": "column energy"}


def test_channels_that_are_alike_are_all_seen(tmp_path: Path, thalweg_command) -> None:
    stamps = np.sort(np.random.default_rng(5).integers(0, 10**9, 2000))
    columns = {"timestamp": stamps, "energy": stamps % 1000}
    types = {"timestamp": tw.int64(unit="ns"), "energy": tw.int64}
    path = written(tmp_path / "run.h5", {"ch0": columns, "ch1": columns}, types)
    for what in ("rates", "spectrum"):
        picture = tmp_path / f"{what}.png"
        assert thalweg_command("plot", path, "--what", what, "--out", picture).returncode == 0
        pixels = imread(picture)[..., :3]
        blue, orange = (
            int((np.abs(pixels - np.array(colour) / 255).max(axis=2) < 0.02).sum())
            for colour in ((0x1F, 0x6F, 0x9F), (0xD9, 0x79, 0x2B))
        )
        assert 0.7 < blue / orange < 1.4, (what, blue, orange)


def test_a_later_file_of_a_split_run_is_read_with_the_header_of_the_first(tmp_path: Path) -> None:
    rows = compass_file(tmp_path / "run.BIN")
    content = (tmp_path / "run.BIN").read_bytes()
    (tmp_path / "run_1.BIN").write_bytes(content[2:])
    header = f"{struct.unpack('<H', content[:2])[0]:#06x}"
    replay = ("--source", "replay", "--input", tmp_path / "run_1.BIN")
    record(tmp_path / "later.h5", *replay, "--compass-header", header)
    read = tw.open(tmp_path / "later.h5")["ch1"].read()
    assert read["energy"].tolist() == [energy for _, energy, _ in rows[1]]
    assert found(tw.open(tmp_path / "later.h5")["ch1"]).energy == "energy"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("--input {later}", 1, "give its first two bytes, such as 0xCAED, with --compass-header"),
        ("--input {later} --compass-header 0xBEEF", 2, "0xBEEF is not a header of CoMPASS: give two bytes, 0xCAE0"),
        ("--input {later} --compass-header yes", 2, "yes is not a header of CoMPASS"),
        ("--input {first} --compass-header 0xCAEF", 2, "has the header 0xCAE9, not 0xCAEF"),
        ("--input {text}", 2, "of no known format): give a CoMPASS file (.BIN) or an HDF5 file (.h5, .hdf5, .lh5)"),
    ],
)
def test_what_cannot_be_replayed_is_answered_with_what_can(
    tmp_path: Path, thalweg_command, arguments: str, code: int, said: str
) -> None:
    compass_file(tmp_path / "run.BIN")
    (tmp_path / "run_1.BIN").write_bytes((tmp_path / "run.BIN").read_bytes()[2:])
    (tmp_path / "notes.txt").write_text("nothing")
    paths = {"first": tmp_path / "run.BIN", "later": tmp_path / "run_1.BIN", "text": tmp_path / "notes.txt"}
    words = [word.format(**paths) for word in arguments.split()]
    done = thalweg_command("record", "--source", "replay", "--out", tmp_path / "run.h5", *words)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not (tmp_path / "run.h5").exists()


@pytest.mark.parametrize("command", ["plot", "inspect", "verify"])
def test_unknown_formats_are_answered_with_the_known_ones(tmp_path: Path, thalweg_command, command: str) -> None:
    compass_file(tmp_path / "run.BIN")
    done = thalweg_command(command, tmp_path / "run.BIN")
    assert done.returncode == 2
    for known in ("HDF5", "ROOT", "RNTuple", "CoMPASS"):
        assert known in done.stderr
