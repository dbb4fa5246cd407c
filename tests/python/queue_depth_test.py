"""As many writes are in flight as the knob `queue_depth` asks for, also where threads write."""

import subprocess
import sys
from pathlib import Path

import pytest
from storage_law import Law

import thalweg as tw

ROWS = 64
OTHERS = 3  # the committer writes its journal and the file, too
WRITES = f"""
import sys
import numpy as np, thalweg as tw
row = dict(values=("uint16", (2**19,)))
tuning = dict(engine="threads", queue_depth=int(sys.argv[2]))
with tw.create(sys.argv[1], dict(ch0=row), codec="none", tuning=tuning) as out:
    out.producer("ch0").append(values=np.ones(({ROWS}, 2**19), "u2"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "slow"
    folder.mkdir()
    try:
        with tw.create(folder / "try.h5", {"t": {"x": "uint8"}}, tuning={"engine": "threads"}):
            pass
    except tw.UsageError as error:
        pytest.skip(f"no direct I/O here: {error}")
    return folder


@pytest.mark.parametrize("depth", [4, 16])
def test_as_many_writes_are_in_flight_as_are_asked_for(depth: int, folder: Path, tmp_path: Path) -> None:
    law = Law(folder, tmp_path / "law", latency_us=50_000)
    words = [sys.executable, "-c", WRITES, str(folder / "run.h5"), str(depth)]
    subprocess.run(words, env=law.environment, check=True)
    assert depth <= law.counts().most <= depth + OTHERS
    assert len(tw.open(folder / "run.h5")["ch0"]) == ROWS
