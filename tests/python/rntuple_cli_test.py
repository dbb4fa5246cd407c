"""The command line on RNTuples: record, inspect, verify, recover, plot and convert work as they do on HDF5."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import uproot
from jsroot import tables_of
from recording import SMALL, kill_with_workers, record, recording, wait_for

import thalweg as tw


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "run.root"
    record(path, *SMALL, "--records", 1000, "--run-number", 3, "--codec", "plain+zstd-3")
    return path


def test_the_same_records_as_in_hdf5(run_file: Path, tmp_path: Path) -> None:
    record(tmp_path / "run.h5", *SMALL, "--records", 1000)
    mine, other = tw.open(run_file), tw.open(tmp_path / "run.h5")
    with uproot.open(run_file) as file:
        for name, table in mine.items():
            assert table.schema == other[name].schema
            for column in ("timestamp", "waveform/values"):
                np.testing.assert_array_equal(table.read(column)[column], other[name].read(column)[column])
            np.testing.assert_array_equal(file[name]["timestamp"].array(), table.read("timestamp")["timestamp"])
    assert {name: table["rows"] for name, table in tables_of(run_file).items()} == dict.fromkeys(mine, 1000)


def test_inspect_and_verify(run_file: Path, thalweg_command) -> None:
    said = thalweg_command("inspect", run_file).stdout
    assert "ch0, ch1, ch2: 1,000 rows each" in said
    assert re.search(r"timestamp +uint64 +ps +uint64\+zstd-3", said)
    assert "run_number: 3" in said
    facts = json.loads(thalweg_command("inspect", run_file, "--json").stdout)
    assert facts["tables"][0]["columns"]["waveform/values"]["raw_bytes"] == 1000 * 64 * 2
    assert "sound" in thalweg_command("verify", run_file).stdout


def test_a_flipped_byte_is_found_and_named(run_file: Path, tmp_path: Path, thalweg_command) -> None:
    with uproot.open(run_file) as file:
        page = file["ch1"].page_link_list[0][0].pages[0]
    content = bytearray(run_file.read_bytes())
    content[page.locator.offset + 3] ^= 0x10
    (tmp_path / "flipped.root").write_bytes(content)
    done = thalweg_command("verify", tmp_path / "flipped.root")
    assert done.returncode == 1
    assert "table 'ch1', column 'timestamp'" in done.stdout


def test_plot(run_file: Path, tmp_path: Path, thalweg_command) -> None:
    done = thalweg_command("plot", run_file, "--out", tmp_path / "run.png", "--json")
    assert json.loads(done.stdout)["panels"] == ["pulses", "spectrum", "rates"]


def test_inspect_says_what_is_left_out_of_a_foreign_file(real_data: Path, thalweg_command) -> None:
    path = real_data / "rntuple" / "uproot-physlite-rntuple_v1-0-0-0.root"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    done = thalweg_command("inspect", path)
    assert done.returncode == 1
    assert "is left out (it has no members)" in done.stderr
    assert re.search(r": [\d,]+ more are left out; `thalweg inspect --json", done.stderr)
    done = thalweg_command("inspect", path, "--json", "--allow-missing")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["problems"]) > 50
    done = thalweg_command("verify", path, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["is_sound"]
    assert len(json.loads(done.stdout)["problems"]) > 50
    assert thalweg_command("verify", path, "--allow-missing").returncode == 0


def test_a_run_that_is_being_written_and_is_killed(tmp_path: Path, thalweg_command) -> None:
    path = tmp_path / "run.root"
    with recording(path, *SMALL, "--rate", "5kHz", "--flush-interval", "100ms") as recorder:
        wait_for(lambda: sum(map(len, tw.open(path).values())) > 1000)
        facts = json.loads(thalweg_command("inspect", path, "--json").stdout)
        assert facts["is_open"]
        assert {each["pid"] for each in facts["producers"]} == set(recorder.workers())
        assert thalweg_command("plot", path, "--out", tmp_path / "live.png").returncode == 0
        kill_with_workers(recorder.process)
        done = thalweg_command("recover", path, "--json")
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tables"][0]["rows"] > 300
    assert thalweg_command("verify", path).returncode == 0
    assert {table["rows"] for table in tables_of(path).values()} == {len(table) for table in tw.open(path).values()}


def test_a_file_after_the_other(tmp_path: Path) -> None:
    report = record(tmp_path / "run.root", *SMALL, "--records", 9000, "--max-file-time", "100ms", "--rate", "5kHz")
    assert [file["complete"] for file in report["files"]] == [True] * len(report["files"])
    assert len(report["files"]) > 1
    runs = [tw.open(path) for path in sorted(tmp_path.glob("run-*.root"))]
    assert [sum(len(run[name]) for run in runs) for name in ("ch0", "ch1", "ch2")] == [9000] * 3
