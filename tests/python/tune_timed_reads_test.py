"""k of reads on a storage with a known law."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from storage_law import Law

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
