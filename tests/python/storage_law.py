"""A storage whose cost of a transfer is known: tests/standins/law, preloaded into programs."""

import os
import struct
from pathlib import Path
from typing import NamedTuple

from c_sources import REPOSITORY, compiled

LAW = REPOSITORY / "tests/standins/law/law.c"


class Counts(NamedTuple):
    now: int
    most: int  # transfers at a time
    transfers: int
    bytes: int


class Law:
    """Storage of `servers`, each of which takes `latency_us` + bytes / `bandwidth` for a piece, one at a time."""

    def __init__(self, folder: Path, state: Path, **law: int) -> None:
        state.mkdir()
        self._state = state
        names = {"folder": str(folder.resolve()), "state": str(state)} | {name: str(each) for name, each in law.items()}
        self._environment = {f"LAW_{name.upper()}": each for name, each in names.items()}
        self._library = compiled(LAW, state, standard="c11")

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | self._environment | {"LD_PRELOAD": str(self._library)}

    def counts(self) -> Counts:
        return Counts(*struct.unpack("<4q", (self._state / "counts").read_bytes()))
