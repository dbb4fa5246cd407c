"""Many rounds, on several processors, for a number of rounds or for a time; what they did is added up.

What is played is a `Game`: recordings (`kills.round`), or jobs of derivations (`kills.derive.round`).
"""

import json
import os
import random
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kills.mounts import mount_small_memory, why_not

LONGEST_ROUND_S = 3600
MOST_LETTERS = 8_000  # of what a round tells: as JSON it must fit into a pipe, which holds 64 KiB


class Round(Protocol):
    counts: Counter[str]

    def play(self) -> None:
        """Raises an error if something is wrong."""

    def end(self) -> None:
        """Ends all processes that are left."""

    def save_reports(self, path: Path) -> None:
        """Returns what the processes have reported."""


@dataclass(frozen=True)
class Game:
    name: str
    plan: Callable[[int], Any]
    """Makes a round from a seed, with `seed`, `place` and `small_memory`."""
    round: Callable[[Any, Path, bool], Round]


@dataclass(frozen=True)
class Options:
    game: Game
    folder: Path  # on a disk; findings stay there
    first_seed: int
    rounds: int  # 0: until the time is over
    seconds: float  # 0: until the rounds are done
    jobs: int
    keep: bool = False  # keeps the files of rounds without a finding, too


@dataclass
class Playing:
    seed: int
    pid: int
    answer: int  # the end of a pipe
    end_s: float


def play(options: Options, plan: Any, may_mount: bool) -> dict[str, object]:
    """Plays a round in a process of its own. Returns what was counted, and what was found."""
    if plan.small_memory and not may_mount:
        return {"counts": {"rounds left out for want of a mount": 1}}
    if plan.small_memory:
        mount_small_memory(plan.small_memory)
    parent = Path("/dev/shm") if plan.place == "memory" else options.folder
    folder = Path(tempfile.mkdtemp(prefix="kills-", dir=parent))
    round_ = options.game.round(plan, folder, options.keep)
    found = ""
    try:
        round_.play()
    except BaseException as error:  # any error is a finding
        found = f"{type(error).__name__}: {error}"
        (folder / "found.txt").write_text("".join(traceback.format_exception(error)))
        (folder / "plan.txt").write_text(f"{plan}\n")
        round_.save_reports(folder / "reports.txt")
    finally:
        round_.end()
    counts = round_.counts
    counts["rounds"] += 1
    if found or options.keep:
        kept = options.folder / f"seed-{plan.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.move(folder, kept)
        return {"counts": counts, "found": found, "kept": str(kept)}
    shutil.rmtree(folder)
    return {"counts": counts}


class Campaign:
    """This process has no threads and opens no run, so that it can fork at any time."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.total, self.findings = Counter[str](), dict[int, str]()
        self.why_not_mount = why_not()
        self.playing: list[Playing] = []

    def run(self) -> None:
        options, begin_s = self.options, time.monotonic()
        options.folder.mkdir(parents=True, exist_ok=True)
        seeds = self._seeds(begin_s)
        seed = next(seeds, None)
        while self.playing or seed is not None:
            while seed is not None and len(self.playing) < options.jobs:
                self.playing.append(self._begin(seed))
                seed = next(seeds, None)
            time.sleep(0.01)
            self.playing = [each for each in self.playing if not self._has_ended(each)]
        self.total["seconds"] = round(time.monotonic() - begin_s)

    def _seeds(self, begin_s: float) -> Iterator[int]:
        seed = self.options.first_seed
        while True:
            if self.options.rounds and seed - self.options.first_seed >= self.options.rounds:
                return
            if self.options.seconds and time.monotonic() - begin_s >= self.options.seconds:
                return
            yield seed
            seed += 1

    def _begin(self, seed: int) -> Playing:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            os.setpgid(0, 0)
            try:
                answer = play(self.options, self.options.game.plan(seed), not self.why_not_mount)
            except BaseException as error:
                answer = {"counts": {}, "found": "".join(traceback.format_exception(error))}
            if "found" in answer:
                answer["found"] = shortened(str(answer["found"]))
            os.write(writing, json.dumps(answer).encode())
            os._exit(0)
        os.close(writing)
        return Playing(seed, pid, reading, time.monotonic() + LONGEST_ROUND_S)

    def _has_ended(self, playing: Playing) -> bool:
        done, _ = os.waitpid(playing.pid, os.WNOHANG)
        if not done and time.monotonic() < playing.end_s:
            return False
        if not done:
            os.killpg(playing.pid, signal.SIGKILL)
            os.waitpid(playing.pid, 0)
        with open(playing.answer, "rb") as pipe:
            text = pipe.read()
        answer = json.loads(text) if text else {"found": f"the round ended without a word, or took {LONGEST_ROUND_S} s"}
        self.total.update(answer.get("counts", {}))
        if answer.get("found"):
            self.findings[playing.seed] = answer["found"]
            print(f"seed {playing.seed}: {answer['found']}\n  its files: {answer.get('kept')}", flush=True)
        return True


def shortened(text: str, most: int = MOST_LETTERS) -> str:
    return text if len(text) <= most else f"{text[:most]} ... (of {len(text):,} letters)"


def random_seed() -> int:
    return random.SystemRandom().randrange(10**6, 10**9)


def add_to_total(path: Path, counts: Counter[str]) -> Counter[str]:
    total = Counter(json.loads(path.read_text())) if path.exists() else Counter[str]()
    total.update(counts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dict(sorted(total.items())), indent=2) + "\n")
    return total


def sentences(counts: Counter[str]) -> list[str]:
    kinds = sorted((name, count) for name, count in counts.items() if name.startswith("kills: "))
    others = sorted((name, count) for name, count in counts.items() if not name.startswith("kills: "))
    lines = [f"{sum(count for _, count in kinds):>12,} kills, of these:"] if kinds else []
    lines += [f"{count:>12,}   {name.removeprefix('kills: ')}" for name, count in kinds]
    return lines + [f"{count:>12,} {name}" for name, count in others]
