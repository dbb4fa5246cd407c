"""Opens runs at random instants through every door, and as the files that they are, while they are written, killed and
recovered, and compares all values: `python doors_campaign.py SECONDS [SEED]`, or `make doors SECONDS=600`. Prints what
was done as JSON."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
from live_runs import check, recovers, when, written_by_three
from mounting import WHY_NOT, Held, mounted
from serving import Shown, shown

import thalweg as tw

OPENS = 30  # of a round
READER = """
import sys
import h5py, hdf5plugin
while True:
    with h5py.File(sys.argv[1]) as file:
        file["events/row"][:]
"""
Rows = dict[int, int]


class Campaign:
    def __init__(self, folder: Path, server: Shown, place: Path | None) -> None:
        self._folder = folder
        self._server = server
        self._place = place
        self.done: Counter[str] = Counter()
        self.doors: dict[str, Callable[[Path], Rows]] = {
            "as_file": self._as_file,
            "in the file": check,
            "serve": self._by_http,
        }
        if place:
            self.doors["mount"] = self._mounted

    def round(self, any_: random.Random) -> None:
        path = self._folder / f"run{self.done['rounds']}{any_.choice(['.h5', '.root'])}"
        seen: dict[str, Rows] = {door: {} for door in self.doors}
        with written_by_three(path) as recorder:
            when(lambda: bool(tw.open(path)["events"].num_entries))
            when(lambda: opens_as_it_is(path))
            killed = any_.randrange(OPENS)
            for number in range(OPENS):
                if number == killed:
                    self._kill_one(recorder, any_)
                time.sleep(any_.uniform(0, 0.05))
                door = any_.choice(list(self.doors))
                self._look(door, path, seen)
            with self._killed_reader(path):
                os.killpg(recorder.pid, signal.SIGKILL)
            recorder.wait()
            self.done["kills"] += 3
            for door in self.doors:
                self._look(door, path, seen)
            when(lambda: recovers(path))
            most = {producer: max(rows.get(producer, 0) for rows in seen.values()) for producer in range(3)}
            for door, opened in self.doors.items():
                # A server takes an image for the newest one for four times as long as making it took.
                with contextlib.suppress(AssertionError):
                    when(lambda opened=opened: not gone_of(most, opened(path)))
                self._look(door, path, seen)
                assert_none_is_gone(most, seen[door], f"{door} of {path.name} after recover")
        path.unlink()
        self.done["rounds"] += 1

    def _look(self, door: str, path: Path, seen: dict[str, Rows]) -> None:
        rows = self.doors[door](path)
        assert_none_is_gone(seen[door], rows, f"{door} of {path.name}")
        seen[door] = rows
        self.done[f"{door} {path.suffix}"] += 1

    def _as_file(self, path: Path) -> Rows:
        return check(tw.open(path).as_file())

    def _by_http(self, path: Path) -> Rows:
        url = self._server.image_url(path.name)
        if path.suffix == ".root":
            return check(url)
        with fsspec.open(url, "rb", block_size=64 << 10) as file:
            return check(file)

    def _mounted(self, path: Path) -> Rows:
        assert self._place
        with Held(self._place / path.name) as file:
            return check(file)

    def _kill_one(self, recorder: subprocess.Popen[str], any_: random.Random) -> None:
        children = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
        os.kill(int(any_.choice(children)), signal.SIGKILL)
        self.done["kills"] += 1

    @contextlib.contextmanager
    def _killed_reader(self, path: Path) -> Iterator[None]:
        if not self._place or path.suffix != ".h5":
            yield
            return
        reader = subprocess.Popen([sys.executable, "-c", READER, self._place / path.name])
        yield
        assert reader.poll() is None, "the reader has ended by itself"
        reader.kill()
        reader.wait()
        self.done["killed readers"] += 1


def opens_as_it_is(path: Path) -> bool:
    """Returns whether its first interim metadata are there, for programs that open the file itself."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        return bool(check(path))
    return False


def gone_of(before: Rows, now: Rows) -> dict[int, tuple[int, int]]:
    return {producer: (rows, now.get(producer, 0)) for producer, rows in before.items() if now.get(producer, 0) < rows}


def assert_none_is_gone(before: Rows, now: Rows, where: str) -> None:
    gone = gone_of(before, now)
    assert not gone, f"{where}: rows of producers are gone: {gone}"


def play(seconds: float, seed: int) -> dict[str, Any]:
    """Plays at least one round of each container."""
    any_ = random.Random(seed)
    end = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "runs").mkdir()
        server = stack.enter_context(shown(folder / "runs"))
        mount = None if WHY_NOT else stack.enter_context(mounted(folder / "runs", folder / "shown"))
        campaign = Campaign(folder / "runs", server, mount and mount.place)
        try:
            while time.monotonic() < end or not campaign.done["rounds"]:
                campaign.round(any_)
        except BaseException:
            print(f"seed {seed}, before the fault: {dict(campaign.done)}", file=sys.stderr)
            raise
        left_out = {"left out": f"mount: {WHY_NOT}"} if WHY_NOT else {}
        return {"seed": seed, **left_out, **campaign.done}


if __name__ == "__main__":
    chosen = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    print(json.dumps(play(float(sys.argv[1]), chosen), indent=2))
