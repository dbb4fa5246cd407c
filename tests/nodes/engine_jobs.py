"""Jobs of derivations on several machines, and what must be in their outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import h5py
import hdf5plugin  # noqa: F401
import uproot
from machines import Machine

import thalweg as tw

PROGRAM, ENGINE = (str(Path(__file__).with_name(name)) for name in ("derive_job.py", "engine.py"))
SECONDS = 120.0
_FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "python")]


def environment() -> dict[str, str]:
    path = os.pathsep.join([*_FOLDERS, os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}


def start(machine: Machine, *words: Any) -> subprocess.Popen[str]:
    """Python, there."""
    settings = [f"{name}={value}" for name, value in environment().items()]
    return machine.start("env", *settings, sys.executable, *map(str, words))


class EngineJob:
    """A job on the first machine, whose engine has a worker on each of `places`, by their numbers from 0."""

    def __init__(
        self,
        machines: Sequence[Machine],
        inputs: Path,
        folder: Path,
        ending: str,
        places: Sequence[int],
        nodes: int,
        engine: str = "own",
        address: Path | None = None,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.machines, self.folder = machines, folder
        self._address = str(address or folder.with_name(f"{folder.name}.engine"))
        self.job = self._start(0, PROGRAM, engine, self._address, inputs, folder, ending, nodes)
        for place in places:
            self.add_worker(place)

    def _start(self, place: int, *words: Any) -> subprocess.Popen[str]:
        return start(self.machines[place], *words)

    def add_worker(self, place: int) -> None:
        self._start(place, ENGINE, self._address)

    def wait_for(self, said: str) -> None:
        assert self.job.stdout is not None
        while (line := self.job.stdout.readline()) != f"{said}\n":
            assert line, self.job.communicate(timeout=SECONDS)

    def ends(self) -> tuple[int, str, str]:
        out, err = self.job.communicate(timeout=SECONDS)
        return self.job.returncode, out, err

    def report(self) -> dict[str, Any]:
        code, out, err = self.ends()
        assert code == 0, err
        report: dict[str, Any] = json.loads(out.splitlines()[-1])
        return report


def processes(machine: Machine, words: str) -> list[str]:
    """Returns the processes of that machine that were started with these words."""
    return machine.run("pgrep", "-f", words).stdout.split()


def kill(machine: Machine, pid: str) -> None:
    assert machine.run("kill", "-9", pid).returncode == 0


def node_process(machine: Machine) -> str:
    """By which this machine is a node of the outputs."""
    end = time.monotonic() + SECONDS
    while not (found := processes(machine, "thalweg._derive.node_process")):
        assert time.monotonic() < end, "the machine is no node"
        time.sleep(0.05)
    return found[0]


def rows_of(path: Path) -> ak.Array:
    """As h5py and uproot see them, in the order of the events."""
    if path.suffix == ".root":
        with uproot.open(path) as file:
            rows = file["Events"].arrays()
    else:
        with h5py.File(path) as file:
            rows = ak.zip({name: _column(file["Events"][name]) for name in file["Events"]}, depth_limit=1)
    return rows[ak.argsort(rows.event)]


def _column(stored: Any) -> ak.Array:
    if isinstance(stored, h5py.Dataset):
        return ak.Array(stored[:])
    ends = stored["cumulative_length"][:]
    return ak.unflatten(stored["flattened_data"][:], ak.Array(ends - ak.concatenate([[0], ends[:-1]])))


def expect_same(expected: Path, folder: Path, ending: str) -> None:
    """Rows, the summaries of all ranges, and what is made of them: each event once, whatever has died."""
    for name in (f"muons{ending}", f"lite{ending}"):
        assert ak.array_equal(rows_of(expected / name), rows_of(folder / name), dtype_exact=True), name
        runs = [tw.open(each / name) for each in (expected, folder)]
        assert {unit.key: unit.summary for unit in runs[0].units} == {unit.key: unit.summary for unit in runs[1].units}
        assert runs[0].metadata["derive.result"] == runs[1].metadata["derive.result"]
        assert tw.verify(folder / name).is_sound
    assert sorted(os.listdir(folder)) == [f"lite{ending}", f"muons{ending}"]
