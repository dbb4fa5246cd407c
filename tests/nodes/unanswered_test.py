"""A call of a node fails for a moment, in the folder of the run: that says nothing about the nodes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import thalweg as tw

_NODE = """
import sys, time
import thalweg as tw

path, node = sys.argv[1], int(sys.argv[2])
schema = {"t": {"node": tw.int64}}
if node == 1:
    out = tw.create(path, schema, nodes=2, node_timeout=20, tuning={"flush_interval": 0.1})
else:
    out = tw.join(path, node=2, node_timeout=20)
with out, out.producer("t") as producer:
    for _ in range(20 // node):  # node 2 waits for node 1 then
        producer.append(node=[node] * 10)
        time.sleep(0.2)
"""


@pytest.mark.parametrize(
    ("failing", "name", "said"),
    [
        ("ftruncate:error=EIO:when=3..5", "beats-0002", "see no sign of life of this one"),
        ("ftruncate:error=ENOSPC:when=3..5", "beats-0002", "see no sign of life of this one"),
        ("getdents64:error=EIO:when=400..403", "", "cannot see how the other nodes of"),
    ],
)
def test_a_call_that_fails_for_a_moment_ends_no_run(failing: str, name: str, said: str, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    path = tmp_path / "run.h5"
    log = tmp_path / "calls"
    inject = ["strace", "-f", "-o", log, "-P", f"{path}.parts/{name}".rstrip("/"), "-e", f"inject={failing}"]
    nodes = [
        subprocess.Popen([*before, sys.executable, "-c", _NODE, path, str(node)], stderr=subprocess.PIPE, text=True)
        for node, before in ((1, []), (2, inject))
    ]
    errors = [node.communicate(timeout=120)[1] for node in nodes]
    if "ptrace" in errors[1]:
        pytest.skip("strace may not trace here")
    assert "(INJECTED)" in log.read_text()
    assert [node.returncode for node in nodes] == [0, 0], errors
    assert said in errors[1]
    assert len(tw.open(path)["t"]) == 300
