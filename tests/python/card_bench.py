"""What the tests of cards have in common: a card is recorded in this process, until it has given so many rows."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devices_test import events_of

import thalweg as tw
from thalweg._devices.board import Board
from thalweg._devices.description import description_of
from thalweg._devices.lanes import Lanes


@dataclass
class Bench:
    run: Any  # the file, open for reading
    counters: dict[str, dict[str, Any]]  # by table
    told: list[dict[str, Any]]


def bench(source: str, device: Any, path: Path, rows: int) -> Bench:
    told: list[dict[str, Any]] = []
    description = description_of(source, device.describe(), {})
    with tw.create(path, description.schema, force=True) as out, tw.attach(out.handle) as run:
        lanes = Lanes(device, description, run, Board.create(), told.append, deadline_s=30)
        thread = threading.Thread(target=_stop, args=(lanes, rows))
        thread.start()
        lanes.work()
        thread.join()
        counters = lanes._counters.shown()
    return Bench(tw.open(path), counters, told)


def _stop(lanes: Lanes, rows: int) -> None:
    pause = threading.Event()
    while lanes.rows < rows:
        pause.wait(0.01)
    lanes.obey("stop")


def check_all_came_back(path: Path, said: dict[str, str]) -> None:
    """These devices were lost for these reasons, and opened again."""
    assert {row["device"]: row["text"] for row in events_of(path, kinds=("lost",))} == said
    assert {row["device"] for row in events_of(path, kinds=("reopened",))} == set(said)
