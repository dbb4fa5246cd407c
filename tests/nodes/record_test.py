"""`thalweg record` on several machines, into one file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from machines import Make

import thalweg as tw

THALWEG = str(Path(sys.executable).with_name("thalweg"))
_RECORDS = 300
_CARD = ["--channels", "2", "--samples", "512", "--records", str(_RECORDS), "--quiet", "--json"]


def test_two_digitizer_hosts_record_into_one_file(make_machines: Make, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    recording = [
        machine.start(
            THALWEG, "record", *_CARD, "--nodes", "2", "--node", str(node), "--seed", str(node), "--out", path
        )
        for node, machine in enumerate(make_machines(2), start=1)
    ]
    for node, process in enumerate(recording, start=1):
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        report = json.loads(out)
        assert report["rows"] == 2 * _RECORDS  # its own
        assert all(table.startswith(f"node{node}_") for table in report["channels"])
    with tw.open(path) as run:
        assert {table: len(run[table]) for table in run} == dict.fromkeys(
            ["node1_ch0", "node1_ch1", "node2_ch0", "node2_ch1"], _RECORDS
        )
        assert json.loads(run.metadata["counters"]).keys() == {"node1_ch0", "node1_ch1"}
        assert json.loads(run.metadata["node2_counters"]).keys() == {"node2_ch0", "node2_ch1"}
        assert run.metadata["host"] == "machine1"
        assert run.metadata["node2_host"] == "machine2"
    assert tw.verify(path).is_sound


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--nodes", "2"], "--node is not given"),
        (["--nodes", "2", "--node", "3"], "--node 3 is too large"),
        (["--node", "2"], "without --nodes"),
        (["--nodes", "2", "--node", "1", "--max-file-time", "1h"], "cannot be divided into files"),
    ],
)
def test_what_makes_no_sense_is_refused(options: list[str], why: str, tmp_path: Path) -> None:
    command = [THALWEG, "record", *_CARD, *options, "--out", str(tmp_path / "run.h5")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert why in done.stderr
    assert not list(tmp_path.iterdir())
