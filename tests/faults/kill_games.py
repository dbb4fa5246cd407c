"""Plays a game of kills in a test: always the same rounds, or THALWEG_KILLS_S seconds with any.

THALWEG_KILLS_JOBS says how many rounds are played at a time.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

SECONDS = os.environ.get("THALWEG_KILLS_S", "")
JOBS = os.environ.get("THALWEG_KILLS_JOBS", "2")
LIMIT_S = float(SECONDS or 0) + 1200


def play_game(game: str, rounds: int, repository: Path, folder: Path, *options: str) -> str:
    """Returns what the campaign has printed. It must have found nothing wrong."""
    chosen = ["--seconds", SECONDS] if SECONDS else ["--seed", "1", "--rounds", str(rounds), *options]
    command = [sys.executable, "-m", "kills", "--game", game, *chosen, "--jobs", JOBS, "--folder", folder]
    path = os.pathsep.join(str(repository / "tests" / name) for name in ("faults", "python"))
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def kills_in(printed: str) -> int:
    """Returns how often the campaign has killed."""
    kills = re.search(r"([\d,]+) kills", printed)
    assert kills
    return int(kills[1].replace(",", ""))
