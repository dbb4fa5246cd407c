"""Runs that are still being written: read at any moment; producers that wait: interrupted."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import thalweg as tw

SCHEMA = tw.schema({"t": {"id": tw.uint64, "trace": tw.array(tw.uint16, 2000), "tags": tw.list_(tw.uint64)}})


def trace_of(ids: np.ndarray) -> np.ndarray:
    return (ids[:, None] * 5 + np.arange(2000)).astype(np.uint16)


def append(table: tw.Producer, first: int, count: int) -> None:
    ids = np.arange(first, first + count, dtype=np.uint64)
    tags = tw.Ragged.from_lengths(ids % 4, np.repeat(ids, (ids % 4).astype(int)))
    table.append(id=ids, trace=trace_of(ids), tags=tags)


def check_snapshot(path: Path) -> int:
    """All rows that are to be seen are right, and those of the one producer are the first ones."""
    run = tw.open(path)
    rows = run["t"].read()
    ids = rows["id"]
    assert sorted(ids) == list(range(len(ids)))
    np.testing.assert_array_equal(rows["trace"], trace_of(ids))
    assert rows["tags"].lengths.tolist() == (ids % 4).tolist()
    np.testing.assert_array_equal(rows["tags"].packed().content, np.repeat(ids, (ids % 4).astype(int)))
    return rows.row_count


def test_a_run_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    stop = threading.Event()
    written = 0

    def write(table: tw.Producer) -> None:
        nonlocal written
        while not stop.is_set():
            append(table, written, 7)
            written += 7
            time.sleep(0.002)

    with tw.create(path, SCHEMA, tuning={"flush_interval": 0.05}) as out:
        writer = threading.Thread(target=write, args=(out.producer("t"),))
        writer.start()
        counts = []
        end = time.monotonic() + 2
        while time.monotonic() < end or len(counts) < 3:
            before = written
            counts.append(check_snapshot(path))
            assert counts[-1] <= written + 7  # which it has not counted yet
            assert tw.verify(path).is_sound
            assert tw.open(path).is_open
            assert before <= written
        stop.set()
        writer.join()
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    assert check_snapshot(path) == written
    assert not tw.open(path).is_open


def test_a_run_is_opened_while_it_is_closed(tmp_path: Path) -> None:
    for attempt in range(5):
        path = tmp_path / f"run{attempt}.h5"
        out = tw.create(path, SCHEMA)
        append(out.producer("t"), 0, 500)
        closer = threading.Thread(target=out.close)
        closer.start()
        while closer.is_alive():
            assert check_snapshot(path) <= 500
        closer.join()
        assert check_snapshot(path) == 500


CREATOR = """
import sys, thalweg as tw
out = tw.create(sys.argv[1], tw.schema({"t": {"block": tw.array(tw.uint8, 1 << 20)}}), codec="none")
print(out.handle, flush=True)
sys.stdin.readline()
print(out.close().rows, flush=True)
"""

# A shell starts what it puts into the background with SIGINT ignored, and Python then leaves it so.
PRODUCER = """
import signal, sys, numpy as np, thalweg as tw
signal.signal(signal.SIGINT, signal.default_int_handler)
block = np.ones(1 << 20, np.uint8)
table = tw.attach(sys.argv[1]).producer("t")
try:
    while True:
        table.append(block=block)
        print(table.rows, flush=True)
except KeyboardInterrupt:
    print("interrupted behind", table.rows, flush=True)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def read_until_quiet(process: subprocess.Popen[str], quiet_s: float) -> str:
    """The last line that comes before nothing comes for a while."""
    assert process.stdout
    text = b""
    while select.select([process.stdout], [], [], quiet_s if text else 60)[0]:
        more = os.read(process.stdout.fileno(), 1 << 16)
        if not more:
            break
        text += more
    return text.decode().splitlines()[-1]


def test_control_c_interrupts_an_append_that_waits(tmp_path: Path) -> None:
    """The creator is stopped, so that no more space is allocated: its producers have to wait."""
    with start(CREATOR, tmp_path / "run.h5") as creator:
        assert creator.stdout
        handle = creator.stdout.readline().strip()
        creator.send_signal(signal.SIGSTOP)
        with start(PRODUCER, handle) as producer:
            try:
                before = int(read_until_quiet(producer, 3))
                producer.send_signal(signal.SIGINT)
                said, rows = read_until_quiet(producer, 5).rsplit(maxsplit=1)
                assert said == "interrupted behind"
                assert before <= int(rows) <= before + 1
            finally:
                creator.send_signal(signal.SIGCONT)
                producer.kill()
        answer, _ = creator.communicate("close\n", timeout=120)
    assert int(answer) == int(rows)
    assert np.all(tw.open(tmp_path / "run.h5")["t"].read()["block"] == 1)
