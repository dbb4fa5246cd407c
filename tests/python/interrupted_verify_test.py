"""Ctrl-C ends `verify` in the midst of it, and `thalweg recover`, which can be repeated."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw
from thalweg import _core
from thalweg.checkpoint import Block, save

ROWS = 4_000_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of very many small pages."""
    path = tmp_path_factory.mktemp("verified") / "run.root"
    knobs = {"narrow_page_bytes": "1 KiB", "narrow_codec": "none", "table_page_bytes": "64 KiB"}
    with tw.create(path, {"t": {"x": tw.int64, "y": tw.int64}}, tuning=knobs) as out, out.producer("t") as producer:
        for first in range(0, ROWS, 100_000):
            numbers = np.arange(first, first + 100_000)
            producer.append(x=numbers, y=numbers)
    return path


class PressedError(Exception):
    pass


@pytest.mark.alone
def test_a_signal_ends_verify(path: Path) -> None:
    def pressed(*_: object) -> None:
        raise PressedError

    begin = time.monotonic()
    assert tw.verify(path, threads=1).is_sound
    whole = time.monotonic() - begin
    before = signal.signal(signal.SIGALRM, pressed)
    try:
        signal.setitimer(signal.ITIMER_REAL, whole / 10)
        begin = time.monotonic()
        with pytest.raises(PressedError):
            tw.verify(path, threads=1)
        took = time.monotonic() - begin
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert took < max(0.6 * whole, 0.15), (took, whole)


def test_both_readings_of_a_checkpoint_are_progress_and_can_be_ended(tmp_path: Path) -> None:
    path = tmp_path / "psi.h5"
    save(path, {"psi": Block(np.arange(1 << 21), (1 << 21,), (0,))})
    shares: list[float] = []
    pieces = _core.verify(str(path), 2, shares.append).pages
    assert pieces > 15
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len([share for share in shares if 0.5 < share <= 1]) == pieces

    def press(share: float) -> None:
        if share > 0.75:
            raise PressedError

    with pytest.raises(PressedError):
        _core.verify(str(path), 2, press)


def has_open(pid: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):  # it has closed one meanwhile, or has ended
        return str(path) in [os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
    return False


def test_ctrl_c_ends_recover_at_once_and_it_can_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "run.root"
    out = tw.create(path, {"t": {"x": tw.int64}}, tuning={"narrow_page_bytes": "512 B", "narrow_codec": "none"})
    producer = out.producer("t")
    for first in range(0, ROWS, 100_000):
        producer.append(x=np.arange(first, first + 100_000))
    producer.finish()
    out.abandon("the test wants it so")
    ended = set()
    for wait_s in (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4):
        command = [sys.executable, "-m", "thalweg", "recover", str(path)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while child.poll() is None and not has_open(child.pid, path):
            time.sleep(0.001)
        time.sleep(wait_s)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)
        assert "Traceback" not in said[1], said
        assert child.returncode in (0, 1, 2, 130, -signal.SIGINT), said  # 130: before it had begun
        ended.add(child.returncode)
    assert -signal.SIGINT in ended
    if os.path.exists(f"{path}.journal"):
        assert tw.recover(path).rows == ROWS
    assert np.array_equal(np.sort(tw.open(path)["t"]["x"][:]), np.arange(ROWS))
