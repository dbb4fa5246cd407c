"""k of reads on a storage with a known law."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from storage_law import Law

from thalweg import SystemError  # noqa: A004
from thalweg._tune import timed_reads
from thalweg._tune.timed_writes import Effort, measure

MEASURE = """
import json, sys
from pathlib import Path
from thalweg._tune.timed_reads import read_once
from thalweg._tune.timed_writes import Effort, measure
found, reads = measure(Path(sys.argv[1]), Effort(64 << 20, 5, 300), read_once)
print(json.dumps(vars(found) | {"bytes": reads.bytes}))
"""


@pytest.mark.alone
def test_k_of_reads(tmp_path: Path) -> None:
    in_memory = Path(tempfile.mkdtemp(prefix="thalweg-law-", dir="/dev/shm"))
    try:
        law = Law(in_memory, tmp_path / "law", stripe=1 << 40, latency_us=10_000, bandwidth=20_000_000)
        line = [sys.executable, "-c", MEASURE, str(in_memory)]
        done = subprocess.run(line, env=law.environment, capture_output=True, text=True, timeout=500, check=False)
        assert done.returncode == 0, done.stderr
        assert list(in_memory.iterdir()) == []
    finally:
        shutil.rmtree(in_memory)
    found = json.loads(done.stdout)
    assert found["k"] == pytest.approx(9 * 10e-3 * 20e6, rel=0.1)
    # The times are those of the reads alone: with those of the writes the latency would be twice as long.
    assert found["latency_s"] == pytest.approx(10e-3, rel=0.2)
    assert law.counts().bytes == 2 * found["bytes"], "what is read was written before"


def test_what_cannot_be_read_is_not_called_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_reads, "write_all", lambda *_: None)
    with pytest.raises(SystemError, match=r"reads in .* cannot be timed \(a file is shorter than what was written\)"):
        measure(tmp_path, Effort(1 << 20, 1, 60), timed_reads.read_once)
