"""Every type that a table can have, written in many ways: ROOT has exactly the values that we gave."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from rntuple_cases import CASES
from rntuple_ways import NAMES, ROWS, SCHEMA, WAYS, append, append_in_processes, value, write, wrong_cases
from root_process import REPOSITORY, InRoot

import thalweg as tw

# Its last rows fill no page.
KILLED = """
import os, signal, sys
import thalweg as tw
from rntuple_ways import SCHEMA, SMALL, append
out = tw.create(sys.argv[1], SCHEMA, tuning=SMALL)
append(out, range(int(sys.argv[2])))
os.kill(os.getpid(), signal.SIGKILL)
"""


def assert_all_right(in_root: InRoot, path: Path) -> None:
    tables = in_root("read", path)
    assert list(tables) == ["t"]
    assert tables["t"]["rows"] == ROWS
    assert wrong_cases(tables["t"]["fields"]["id"], tables["t"]["fields"]) == {}


@pytest.mark.parametrize("way", WAYS)
def test_of_one_process_and_of_several(way: str, tmp_path: Path, in_root: InRoot) -> None:
    write(tmp_path / "run.root", WAYS[way])
    assert_all_right(in_root, tmp_path / "run.root")


def killed(path: Path, rows: int) -> None:
    """Leaves a run whose process was killed with so many rows."""
    words = [sys.executable, "-c", KILLED, str(path), str(rows)]
    environment = {**os.environ, "PYTHONPATH": "tests/python"}
    done = subprocess.run(
        words, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_killed_and_recovered(tmp_path: Path, in_root: InRoot) -> None:
    killed(tmp_path / "run.root", ROWS)
    assert tw.recover(tmp_path / "run.root").rows == ROWS
    assert_all_right(in_root, tmp_path / "run.root")


def test_killed_and_resumed(tmp_path: Path, in_root: InRoot) -> None:
    killed(tmp_path / "run.root", ROWS // 2)
    with tw.create(tmp_path / "run.root", resume=True) as out:
        append(out, range(ROWS // 2, ROWS))
    assert_all_right(in_root, tmp_path / "run.root")


def test_converted_from_hdf5(tmp_path: Path, in_root: InRoot) -> None:
    with tw.create(tmp_path / "run.h5", SCHEMA) as out:
        append_in_processes(out, 2)
    tw.convert(tmp_path / "run.h5", tmp_path / "run.root")
    assert_all_right(in_root, tmp_path / "run.root")


def test_open_with_an_interim_footer(tmp_path: Path, in_root: InRoot) -> None:
    """The same rows again and again, until a footer shows enough: those are right, and the run goes on."""
    path = tmp_path / "run.root"
    with tw.create(path, SCHEMA, tuning={"cluster_bytes": "1MiB", "flush_interval": "100ms"}, codec="none") as out:
        deadline = time.monotonic() + 120
        rows = {
            "id": np.arange(ROWS, dtype=np.uint32),
            **{NAMES[case]: [value(case, row) for row in range(ROWS)] for case in CASES},
        }
        producer = out.producer("t")
        step = 31  # which has no common divisor with ROWS, so that every row of `rows` is read
        while rows_that_a_footer_shows(path) < step * ROWS:
            assert time.monotonic() < deadline
            producer.append(rows)
        tables = in_root("read", path, step)
        assert tables["t"]["rows"] >= ROWS
        assert wrong_rows(tables["t"]["fields"]) == {}
    assert len(tw.open(path)["t"]) % ROWS == 0


def rows_that_a_footer_shows(path: Path) -> int:
    with uproot.open(path) as file:
        return int(file["t"].num_entries)


def wrong_rows(fields: dict[str, list[Any]]) -> dict[str, Any]:
    """Returns the rows that are wrong, if rows are there several times."""
    first = {number: index for index, number in enumerate(fields["id"])}
    assert sorted(first) == list(range(ROWS))
    for name in NAMES.values():
        for number, each in zip(fields["id"], fields[name], strict=True):
            assert repr(each) == repr(fields[name][first[number]])
    return wrong_cases(list(first), {name: [fields[name][row] for row in first.values()] for name in fields})
