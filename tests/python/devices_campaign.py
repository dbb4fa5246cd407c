"""Records from devices that crash, hang, overflow, are unplugged and killed, and judges the files with h5py and uproot:
`python devices_campaign.py SECONDS [SEED]`, or `make devices SECONDS=300`. Prints what was done as JSON.

Every row that was handed out to a process that was not killed from outside is there, once. A gap lies where
`device_events` says that the device was lost, and time never goes back from one row to the next that was given.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401 - lets h5py read bitshuffle
import numpy as np
import uproot

import thalweg as tw

THALWEG = str(Path(sys.executable).with_name("thalweg"))
HERE = Path(__file__).parent
FAULTS = ("raise", "lost", "exit", "segfault", "hang", "hold", "fork", "absent", "overflow")
SLOW_FAULTS = ("raise", "exit", "hang", "none", "word", "raise,away")
CARDS, EACH = "abcd", 30
Event = dict[str, Any]


class Round:
    """One run of four cards and a thermometer. `faults_of_each`: how many each card has."""

    def __init__(self, folder: Path, any_: random.Random, faults_of_each: int) -> None:
        self.folder, self.any, self.done = folder, any_, Counter[str]()
        self.faults = {card: any_.choices(FAULTS, k=faults_of_each) for card in CARDS}
        self.name = any_.choice(["run.h5", "run.root"])
        self.rotates, self.kills = any_.random() < 0.5, any_.random() < 0.5

    def play(self) -> None:
        said, err = self._record()
        paths = sorted(self.folder.glob(f"run*{Path(self.name).suffix}"))
        assert paths, err
        assert all(file["complete"] for file in said["files"]), said
        self.done["files"] += len(paths)
        events = [event for path in paths for event in events_of(path)]
        for card, faults in self.faults.items():
            own = [event for event in events if event["device"] == card]
            self._judge_card(card, faults, columns(paths, f"{card}_ch0", ["timestamp", "number"]), own)
            channel = said["channels"][f"{card}_ch0"]
            ends = [event["until"] - event["from"] for event in own if event["until"] is not None]
            if not self.kills:  # what a process has not counted when it is killed is not known
                assert channel["dead_time_ns"] == sum(ends), (card, channel, own)
        slow = columns(paths, "cryo_stage", ["monotonic", "value", "severity"])
        self._judge_slow(slow, [event for event in events if event["device"] == "cryo"])

    def _record(self) -> tuple[dict[str, Any], str]:
        devices: list[dict[str, Any]] = []
        for card, faults in self.faults.items():
            (self.folder / card).mkdir()
            settings = {"notes": str(self.folder / card), "faults": ",".join(faults), "each": EACH}
            settings |= {"period_ns": self.any.randrange(100_000, 2_000_000)}
            devices.append({"source": "device_stand_ins:Card", "name": card, "deadline": "1s", **settings})
        script = ",".join(["1", *(f"{fault},{number}" for number, fault in enumerate(SLOW_FAULTS, 2))])
        slow = {"source": "slow_stand_ins:Thermometer", "kind": "slow", "every": "50ms", "deadline": "1s"}
        devices.append(slow | {"name": "cryo", "notes": str(self.folder), "script": script})
        words = [THALWEG, "record", "--out", str(self.folder / self.name), "--json", "--quiet"]
        words += [word for device in devices for word in ("--device", json.dumps(device))]
        words += ["--max-file-time", "1s"] if self.rotates else []
        environment = os.environ | {"PYTHONPATH": str(HERE)}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen(words, text=True, env=environment, **pipes) as process:
            try:
                while self.kills and process.poll() is None:
                    time.sleep(self.any.uniform(0.5, 3))
                    if all((self.folder / card / "handed").exists() for card in CARDS):  # the run has begun
                        self._kill_one(process.pid)
                out, err = process.communicate(timeout=300)
            finally:
                process.kill()
        assert process.returncode in (0, 1), err
        assert out, err
        return json.loads(out), err

    def _kill_one(self, recorder: int) -> None:
        try:
            children = Path(f"/proc/{recorder}/task/{recorder}/children").read_text().split()
            os.kill(int(self.any.choice(children)), signal.SIGKILL)
        except (OSError, IndexError):
            return
        self.done["killed from outside"] += 1

    def _judge_card(self, card: str, faults: list[str], rows: dict[str, np.ndarray], events: list[Event]) -> None:
        order = self._order_of(rows["number"])
        stamps, numbers = rows["timestamp"][order].astype(np.int64), rows["number"][order].astype(np.int64)
        where = f"{self.folder}: card {card}, {faults}, {events}"
        assert np.all(np.diff(stamps) > 0), f"time goes back: {where}"
        handed = int((self.folder / card / "handed").read_text())
        assert handed == EACH * (len(faults) + 1), f"only {handed} rows: {where}"
        steps = np.diff(numbers, prepend=-1, append=handed)
        assert np.all(steps > 0), f"a row is there twice: {where}"
        told = {event["until"] for event in events if event["event"] == "reopened"}
        gaps = np.flatnonzero(steps != 1).tolist()
        killed = [event for event in events if "SIGKILL" in event["text"] and event["event"] == "lost"]
        assert len(gaps) <= len(killed), f"{len(gaps)} gaps for {len(killed)} kills: {where}"
        for place in gaps:
            assert place == len(stamps) or int(stamps[place]) in told, f"a gap is not explained at {place}: {where}"
        met = [event for event in events if event["event"] in ("lost", "overflow")]
        # A process that is killed while it fails has one loss for both.
        assert len(faults) <= len(met) + len(killed), where
        assert len(met) <= len(faults) + len(killed) + faults.count("absent") * 2, where
        self.done["rows"] += len(stamps)
        self.done["rows of killed processes that are not there"] += int((steps - 1).sum())
        self.done["faults"] += len(met)
        for fault in faults:
            self.done[f"fault {fault}"] += 1

    def _order_of(self, values: np.ndarray) -> np.ndarray:
        """Returns the order in which rows were given: those of a killed process may stand behind those of the next."""
        order = np.argsort(values, kind="stable")
        self.done["tables whose rows stand in another order"] += int(np.any(np.diff(order) < 0))
        return order

    def _judge_slow(self, rows: dict[str, np.ndarray], events: list[Event]) -> None:
        order = self._order_of(rows["monotonic"])
        times, severity = rows["monotonic"][order].astype(np.int64), rows["severity"][order]
        assert np.array_equal(np.isnan(rows["value"]), rows["severity"] == 3)
        for event in events:
            if event["event"] != "lost":
                continue
            after = int(np.searchsorted(times, event["monotonic"]))
            if after == len(times):  # the run has ended before a process could write the gap
                continue
            around = severity[max(0, after - 1) : after + 2]
            assert 3 in around, f"{self.folder}: no gap of the thermometer at {event}"
            self.done["faults of the thermometer"] += 1


def columns(paths: list[Path], table: str, names: list[str]) -> dict[str, np.ndarray]:
    """Returns columns of files that follow each other, as other programs read them."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for path in paths:
        if path.suffix == ".root":
            with uproot.open(path) as file:
                found = file[table].arrays(names, library="np")
        else:
            with h5py.File(path) as file:
                found = {name: file[table][name][...] for name in names}
        for name in names:
            parts[name].append(np.asarray(found[name]))
    return {name: np.concatenate(part) for name, part in parts.items()}


def events_of(path: Path) -> list[Event]:
    rows = tw.open(path)["device_events"]
    table = rows.read()
    names = ("device", "event", "text", "monotonic", "from", "until")
    return [{name: _plain(table[row][name]) for name in names} for row in range(len(rows))]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return int(value[0]) if len(value) else None
    return value if isinstance(value, str) else int(value)


def play(seconds: float, seed: int, faults_of_each: int = 12) -> dict[str, Any]:
    """Plays at least one round."""
    any_, done = random.Random(seed), Counter[str]()
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s or not done["rounds"]:
        folder = Path(tempfile.mkdtemp(prefix="devices-"))  # it is kept if its files are wrong
        of_round = Round(folder, any_, faults_of_each)
        of_round.play()
        shutil.rmtree(folder)
        done += of_round.done
        done["rounds"] += 1
    return {"seed": seed, **dict(sorted(done.items()))}


if __name__ == "__main__":
    chosen = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    print(json.dumps(play(float(sys.argv[1]), chosen), indent=2))
