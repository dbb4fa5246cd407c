"""A save reads the checkpoint that it hands on: if the machine does not read it, the checkpoint is not given up."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from thalweg.checkpoint import Block, restore, save

_PROGRAM = """
import sys
import numpy as np
from thalweg.checkpoint import Block, save
save(sys.argv[1], {"psi": Block(np.full(5000, 2.0), (5000,), (0,))})
"""


def strace(path: Path, error: str, call: int) -> list[str]:
    log = str(path.with_name("calls"))
    words = ["strace", "-f", "-o", log, "-P", str(path), "-e", "trace=pread64"]
    return [*words, "-e", f"inject=pread64:error={error}:when={call}", sys.executable, "-c", _PROGRAM, str(path)]


def test_a_read_that_fails_costs_no_checkpoint(tmp_path: Path) -> None:
    probe = ["strace", "-o", "/dev/null", "-e", "inject=getuid:error=EPERM", "true"]
    if shutil.which("strace") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("strace cannot inject errors here")
    failures = 0
    for call in range(1, 40):
        path = tmp_path / str(call) / "psi.h5"
        path.parent.mkdir()
        save(path, {"psi": Block(np.full(5000, 1.0), (5000,), (0,))})
        done = subprocess.run(strace(path, "ESTALE", call), capture_output=True, text=True, check=False)
        if "INJECTED" not in path.with_name("calls").read_text():
            break
        failures += done.returncode != 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            newest = restore(path).read("psi")[0]
            assert newest == (1.0 if done.returncode else 2.0), (call, done.stderr)
            if not done.returncode:
                assert restore(f"{path}.1").read("psi")[0] == 1.0, (call, done.stderr)
    assert 1 < call < 40
    assert failures > 0
