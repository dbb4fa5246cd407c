"""A process that cannot read /proc, as in some sandboxes: it is refused, and what others have appended stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401
import pytest

import thalweg as tw

THALWEG = str(Path(sys.executable).with_name("thalweg"))
_ROWS = 500
_WITHOUT_PROC = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
_WITHOUT_PROC += ["--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs tmpfs /proc && exec "$@"', "sh"]

_KILLED = """
import os, sys, thalweg as tw
out = tw.create(sys.argv[1], {"events": {"id": tw.int64}}, tuning={"flush_interval": 60})
producer = out.producer("events")
for id in range(int(sys.argv[2])):
    producer.append(id=[id])
os.kill(os.getpid(), 9)
"""
_ATTACHED = """
import sys, thalweg as tw
with tw.attach(sys.argv[1]) as out, out.producer("events") as producer:
    producer.append(id=range(int(sys.argv[2])))
"""


def _without_proc(*command: str) -> subprocess.CompletedProcess[str]:
    if subprocess.run([*_WITHOUT_PROC, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounts of its own cannot be made here")
    return subprocess.run([*_WITHOUT_PROC, *command], capture_output=True, text=True, check=False)


def test_recover_keeps_what_it_cannot_judge(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    subprocess.run([sys.executable, "-c", _KILLED, str(path), str(_ROWS)], check=False)
    refused = _without_proc(THALWEG, "recover", str(path))
    assert refused.returncode == 1, refused
    assert "/proc" in refused.stderr
    assert tw.recover(path).rows == _ROWS
    with h5py.File(path) as file:
        assert file["events/id"][:].tolist() == list(range(_ROWS))


def test_a_producer_that_cannot_say_who_it_is_is_refused(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"events": {"id": tw.int64}}, tuning={"flush_interval": 0.02}) as out:
        refused = _without_proc(sys.executable, "-c", _ATTACHED, out.handle, str(_ROWS))
        assert refused.returncode != 0, refused
        assert "/proc" in refused.stderr
        report = out.close()
    assert (report.rows, report.is_whole) == (0, True)


def test_nothing_is_created_where_nothing_can_be_asked(tmp_path: Path) -> None:
    create = f"import thalweg as tw; tw.create({str(tmp_path / 'run.h5')!r}, {{'events': {{'id': tw.int64}}}})"
    refused = _without_proc(sys.executable, "-c", create)
    assert refused.returncode != 0
    assert "/proc" in refused.stderr
    assert list(tmp_path.iterdir()) == []
