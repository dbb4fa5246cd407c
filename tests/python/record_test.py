"""`thalweg record` from sources to files."""

import json
import os
import re
import signal
import time
import urllib.request
from pathlib import Path

import h5py
import numpy as np
import pytest
from recording import SMALL, columns, compass_file, metadata, record, recording, wait_for, wait_for_rows


def same_rows(first: dict, second: dict) -> bool:
    """In all channels, up to where the shorter recording ends."""
    for name in first:
        rows = min(len(first[name]["timestamp"]), len(second[name]["timestamp"]))
        for column in ("timestamp", "values"):
            if rows == 0 or not np.array_equal(first[name][column][:rows], second[name][column][:rows]):
                return False
    return True


def test_the_same_seed_gives_the_same_records_whichever_process_writes_them(tmp_path: Path) -> None:
    several, one, other = (tmp_path / name for name in ("several.h5", "one.h5", "other.h5"))
    report = record(several, *SMALL, "--duration", "0.5s", "--producers", 2, "--threads", 1)
    record(one, *SMALL, "--records", 2000, "--producers", 1, "--codec", "shuffle+deflate-1")
    record(other, *SMALL, "--records", 2000, "--seed", 2)
    rows = columns(several)
    assert {name: len(table["timestamp"]) for name, table in rows.items()} == report["files"][0]["rows"]
    assert same_rows(rows, columns(one))
    assert not same_rows(rows, columns(other))
    for table in rows.values():
        assert np.all(np.diff(table["timestamp"].astype(np.int64)) > 0)
        assert len(table["timestamp"]) >= 2000


def test_records_are_counted_per_channel(tmp_path: Path) -> None:
    report = record(tmp_path / "run.h5", *SMALL, "--records", 777)
    assert {name: channel["rows"] for name, channel in report["channels"].items()} == dict.fromkeys(
        ("ch0", "ch1", "ch2"), 777
    )
    assert report["ended_by"] == "source"


def test_with_a_rate_the_run_is_as_long_as_it_should_be_and_repeatable(tmp_path: Path) -> None:
    options = (*SMALL, "--rate", "5kHz", "--duration", "0.6s")
    first, second = (record(tmp_path / name, *options) for name in ("a.h5", "b.h5"))
    assert first["channels"]["ch0"]["rows"] == pytest.approx(3000, rel=0.1)
    assert first["lost_triggers"] == 0
    assert first["ended_by"] == "duration"
    counted = [{name: channel["rows"] for name, channel in report["channels"].items()} for report in (first, second)]
    assert counted[0] == counted[1]


def half_life_ns(tables: dict, window_ns: float, first_kev: float, second_kev: float) -> tuple[float, int]:
    """As an analysis does it: energies from pulse integrals, coincidences from timestamps, a fit to their distances."""
    energy, stamp, channel = [], [], []
    for number, table in enumerate(tables.values()):
        values = table["values"]
        energy.append(values.sum(axis=1, dtype=np.float64) - values[:, :64].mean(axis=1) * values.shape[1])
        stamp.append(table["timestamp"])
        channel.append(np.full(len(values), number))
    order = np.argsort(np.concatenate(stamp), kind="stable")
    energy, stamp, channel = (np.concatenate(part)[order] for part in (energy, stamp, channel))
    counts, edges = np.histogram(energy, 300)
    peak = edges[counts.argmax()]
    kev = energy / energy[abs(energy - peak) < 0.08 * peak].mean() * first_kev

    def is_of(gamma_kev: float) -> np.ndarray:
        return abs(kev - gamma_kev) < 0.033 * np.sqrt(662 * gamma_kev)

    starts, stops = is_of(first_kev), is_of(second_kev)
    distances = []
    for ahead in range(1, 200):
        later_ns = (stamp[ahead:] - stamp[:-ahead]) * 1e-3
        near = (later_ns < window_ns) & (channel[ahead:] != channel[:-ahead])
        if not (later_ns < window_ns).any():
            break
        distances.append(later_ns[near & starts[:-ahead] & stops[ahead:]])
        distances.append(-later_ns[near & stops[:-ahead] & starts[ahead:]])
    found = np.concatenate(distances)
    inside, background = found[found > 2] - 2, np.count_nonzero(found < -2)  # before 2 ns the resolution bends it
    length_ns = window_ns - 2

    def log_likelihood(half_life: float) -> float:
        rate = np.log(2) / half_life
        signal_rate = (len(inside) - background) * rate / (1 - np.exp(-rate * length_ns))
        return float(np.log(signal_rate * np.exp(-rate * inside) + background / length_ns).sum())

    grid = np.geomspace(2, 500, 2000)
    return float(grid[np.argmax([log_likelihood(value) for value in grid])]), len(inside)


def test_coincidences_in_the_file_give_back_the_half_life(tmp_path: Path) -> None:
    path = tmp_path / "hafnium.h5"
    record(path, "--isotope", "181Hf", "--samples", 1200, "--channels", 6, "--records", 40_000)
    found_ns, coincidences = half_life_ns(columns(path), 108, 133, 482)
    assert coincidences > 5000
    assert found_ns == pytest.approx(10.8, rel=0.03)


def test_a_compass_file_is_replayed_bit_by_bit(tmp_path: Path) -> None:
    written = compass_file(tmp_path / "run.BIN")
    report = record(tmp_path / "run.h5", "--source", "replay", "--input", tmp_path / "run.BIN", "--loops", 3)
    assert report["rows"] == 120
    with h5py.File(tmp_path / "run.h5") as file:
        for channel, records in written.items():
            table = file[f"ch{channel}"]
            stamps = np.array([record[0] for record in records], np.uint64)
            step = table["timestamp"][20] - table["timestamp"][0]
            assert step > stamps.max() - stamps.min()
            assert np.array_equal(table["timestamp"][...], np.concatenate([stamps, stamps + step, stamps + 2 * step]))
            assert np.array_equal(table["energy"][...], np.tile([record[1] for record in records], 3))
            assert np.array_equal(
                table["waveform/values"][...], np.tile(np.stack([record[2] for record in records]), (3, 1))
            )
    assert "ps" in metadata(tmp_path / "run.h5")["clock_domain"]


def test_real_compass_records_are_replayed_bit_by_bit(tmp_path: Path, real_data: Path) -> None:
    layout = np.dtype(
        {
            "names": ["channel", "timestamp", "values"],
            "formats": ["<u2", "<u8", ("<u2", 1000)],
            "offsets": [2, 4, 25],
            "itemsize": 2025,
        }
    )
    source = real_data / "compass.BIN"
    expected = np.frombuffer(source.read_bytes()[2:], layout)
    record(tmp_path / "run.h5", "--source", "replay", "--input", source)
    rows = columns(tmp_path / "run.h5")
    for channel in np.unique(expected["channel"]):
        chosen = expected[expected["channel"] == channel]
        for column in ("timestamp", "values"):
            assert np.array_equal(rows[f"ch{channel}"][column], chosen[column])


def test_real_lh5_waveforms_are_replayed_bit_by_bit(tmp_path: Path, real_data: Path) -> None:
    record(tmp_path / "run.h5", "--source", "replay", "--input", real_data / "spms.h5")
    compared = []
    with h5py.File(real_data / "spms.h5") as before, h5py.File(tmp_path / "run.h5") as after:

        def compare(name: str, dataset: h5py.Dataset | h5py.Group) -> None:
            if isinstance(dataset, h5py.Dataset) and dataset.shape:
                assert np.array_equal(dataset[...], after[name][...], equal_nan=dataset.dtype.kind == "f"), name
                compared.append(name)

        before.visititems(compare)
    assert len(compared) > 100


@pytest.mark.parametrize("limit", [("--max-file-size", "8MB"), ("--max-file-time", "150ms")])
def test_nothing_is_lost_or_doubled_where_files_follow_each_other(tmp_path: Path, limit: tuple[str, str]) -> None:
    options = (*SMALL, "--samples", 1000, "--records", 8000, "--codec", "none")
    report = record(tmp_path / "run.h5", *options, *limit, "--rate", "5kHz")
    record(tmp_path / "whole.h5", *options, "--rate", "5kHz")
    paths = [Path(file["path"]) for file in report["files"]]
    assert [path.name for path in paths] == [f"run-{number:05}.h5" for number in range(1, len(paths) + 1)]
    assert len(paths) >= 3
    whole, parts = columns(tmp_path / "whole.h5"), columns(*paths)
    for name, table in whole.items():
        for column in table:
            assert np.array_equal(parts[name][column], table[column])
    known = [metadata(path) for path in paths]
    assert [each.get("next_file") for each in known] == [*(path.name for path in paths[1:]), None]
    assert [each.get("previous_file") for each in known] == [None, *(path.name for path in paths[:-1])]
    assert {each["configuration"] for each in known} == {known[0]["configuration"]}


def test_pause_takes_no_records_and_loses_none(tmp_path: Path) -> None:
    options = ("--samples", 64, "--channels", 2, "--rate", "2kHz", "--duration", "6s")
    with recording(tmp_path / "run.h5", *options) as recorder:
        recorder.signal(signal.SIGUSR1)
        time.sleep(1.5)
        recorder.signal(signal.SIGUSR2)
        report = recorder.report()
    assert report["lost_triggers"] == 0
    for table in columns(tmp_path / "run.h5").values():
        gaps = np.sort(np.diff(table["timestamp"]))
        assert gaps[-1] > 0.5e12  # ps
        assert gaps[-2] < 0.1e12


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_completes_the_file(tmp_path: Path, number: signal.Signals) -> None:
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "3kHz") as recorder:
        wait_for_rows(tmp_path / "run.h5", 500)
        recorder.signal(number)
        report = recorder.report()
    assert report["ended_by"] == "signal"
    assert report["problems"] == []
    rows = columns(tmp_path / "run.h5")
    assert sum(len(table["timestamp"]) for table in rows.values()) == report["rows"] >= 1500
    assert not (tmp_path / "run.h5.journal").exists()


def test_what_the_file_knows_of_its_run(tmp_path: Path) -> None:
    report = record(
        tmp_path / "run.h5", *SMALL, "--records", 100, "--run-number", 12, "--meta", "beam=off", "--meta", "a=b=c"
    )
    known = metadata(tmp_path / "run.h5")
    assert known["run_number"] == "12"
    assert (known["beam"], known["a"]) == ("off", "b=c")
    assert known["start_utc"] < known["stop_utc"]
    assert known["engine"] == report["engine"]
    assert known["thalweg_version"]
    assert known["hdf5_version"].count(".") == 2
    assert '"records": 100' in known["configuration"]
    assert '"triggers": 100' in known["counters"]
    assert "own clock" in known["clock_domain"]


def test_commands_at_start_and_stop(tmp_path: Path) -> None:
    log = tmp_path / "log"
    say = f'echo $THALWEG_RUN $(basename $THALWEG_FILE) >> "{log}"'
    record(
        tmp_path / "run.h5",
        *SMALL,
        "--records",
        10,
        "--run-number",
        5,
        "--on-start",
        say,
        "--on-stop",
        f"{say}; false",
        code=1,
    )
    assert log.read_text() == "5 run.h5\n5 run.h5\n"
    assert (tmp_path / "run.h5").exists()


def test_a_failing_start_command_ends_it_before_it_begins(tmp_path: Path, thalweg_command) -> None:
    done = thalweg_command("record", "--out", tmp_path / "run.h5", "--on-start", "exit 3")
    assert done.returncode == 1
    assert done.stderr == "thalweg: nothing was recorded (the command 'exit 3' ended with code 3)\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="there is no IPv6")
def test_metrics_are_served_over_ipv6(tmp_path: Path) -> None:
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "2kHz", "--metrics", "[::1]:0") as recorder:
        found = re.search(r"http://\[::1\]:\d+/metrics", recorder.said)
        assert found, recorder.said
        with urllib.request.urlopen(found[0]) as answer:
            assert b"thalweg_" in answer.read()
        recorder.signal(signal.SIGINT)
        recorder.report()


def test_metrics_are_served_while_it_runs(tmp_path: Path) -> None:
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "2kHz", "--metrics", 0) as recorder:
        found = re.search(r"http://127.0.0.1:\d+/metrics", recorder.said)
        assert found

        def records() -> float:
            text = urllib.request.urlopen(found[0]).read().decode()
            return next(
                float(line.split()[1])
                for line in text.splitlines()
                if line.startswith('thalweg_records_total{channel="ch1"}')
            )

        first = records()
        wait_for(lambda: records() > first + 100)
        recorder.signal(signal.SIGINT)
        recorder.report()


def test_the_run_goes_on_when_its_stderr_is_closed(tmp_path: Path) -> None:
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "1kHz", "--duration", "3s") as recorder:
        assert recorder.process.stderr
        assert recorder.process.stdout
        recorder.process.stderr.close()
        out = recorder.process.stdout.read()
        assert recorder.process.wait(120) == 0
        recorder.process.stderr = None
    assert json.loads(out)["ended_by"] == "duration"
