"""Counts work units exactly while workers are killed again and again: four processes, and one container.

unit_campaign.py FILE UNITS KILLS SEED prints one JSON object. Workers are forked from a process without threads of
its own, so that a thousand of them cost little; each is killed some milliseconds after it has begun.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import thalweg as tw

SCHEMA = {"events": {"key": tw.int64, "index": tw.uint32, "hits": tw.list_(tw.uint16)}, "sums": {"key": tw.int64}}
PROCESSES = 4
PAUSE_S = 0.0004  # in each unit, so that units last as long as the killing does


def rows_of(key: int) -> int:
    return key * 37 % 21 + (3000 if key % 1000 == 7 else 0)


def summary_of(key: int) -> str:
    return f"{key} has {rows_of(key)} rows"


def fill(unit: tw.WorkUnit, key: int) -> None:
    rows = rows_of(key)
    index = np.arange(rows, dtype=np.uint32)
    lengths = (key + index.astype(np.uint64)) % np.uint64(4)
    hits = (np.arange(int(lengths.sum())) * 3 + key).astype(np.uint16)
    unit["events"].append_columns(rows, [np.full(rows, key, np.int64), index, lengths, hits])
    unit["sums"].append_columns(1, [np.array([key], np.int64)])


def work(handle: str, units: int, first: int, begun: int, pause_s: float) -> None:
    with tw.attach(handle) as out:
        os.write(begun, b".")
        for nth in range(units):
            key = (first + nth) % units
            if not out.is_committed(key):
                with out.work_unit(key, summary_of(key)) as unit:
                    fill(unit, key)
                    time.sleep(pause_s)


def fork(child: Callable[[], Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        child()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def record(path: Path, handle: int, over: int) -> None:
    """Runs until the other end of `over` is closed."""
    with tw.create(path, SCHEMA) as out:
        os.write(handle, out.handle.encode() + b"\n")
        os.read(over, 1)
        report = out.close()
    facts = {"units": report.units, "units_lost": report.units_lost, "dropped_bytes": report.dropped_bytes}
    os.write(handle, json.dumps(facts).encode() + b"\n")


def campaign(path: Path, units: int, kills: int, seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    say, hear = os.pipe()
    ended, over = os.pipe()

    def recorder() -> None:
        os.close(over)
        record(path, hear, ended)

    recording = fork(recorder)
    os.close(hear)
    answers = os.fdopen(say)
    handle = answers.readline().strip()
    done = 0
    begin_s = time.monotonic()

    def worker(pause_s: float) -> tuple[int, int]:
        begun, tell = os.pipe()
        first = draw.randrange(units)
        pid = fork(lambda: (os.close(over), work(handle, units, first, tell, pause_s)))
        os.close(tell)
        return pid, begun

    def kill(pid: int, begun: int) -> int:
        os.read(begun, 1)
        os.close(begun)
        time.sleep(draw.uniform(0, 0.004))
        os.kill(pid, signal.SIGKILL)
        return int(os.WIFSIGNALED(os.waitpid(pid, 0)[1]))

    workers: list[tuple[int, int]] = []
    tries = 0
    while done < kills and tries < 2 * kills:
        workers += [worker(PAUSE_S) for _ in range(PROCESSES - len(workers))]
        done += kill(*workers.pop(draw.randrange(len(workers))))
        tries += 1
    workers += [worker(0) for _ in range(PROCESSES - len(workers))]
    codes = []
    for pid, begun in workers:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os.close(begun)
    os.close(over)
    facts = json.loads(answers.readline())
    os.waitpid(recording, 0)
    return facts | {"kills": done, "codes": codes, "seconds": round(time.monotonic() - begin_s, 1)}


if __name__ == "__main__":
    print(json.dumps(campaign(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
