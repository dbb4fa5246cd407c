"""The disk of a run of several nodes has not one block left when its nodes close: the file is complete all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_NODE = """
import errno, os, sys
import numpy as np
import thalweg as tw

path, node, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
values = np.random.default_rng(node).integers(0, 1 << 60, 1 << 14)
options = {"codec": "none", "tuning": {"memory_bytes": "4 MiB"}}
if node == 1:
    out = tw.create(path, {"t": {"node": tw.int64, "x": tw.int64}}, nodes=2, node_timeout=60, **options)
else:
    out = tw.join(path, node=2, node_timeout=60)
with out, out.producer("t") as producer:
    try:
        while producer.rows < limit:
            producer.append(node=np.full(len(values), node), x=values)
    except tw.SystemError as error:
        assert error.errno == errno.ENOSPC, error
    with open(f"{path}.filler{node}", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
    with open(f"{sys.argv[4]}/rows{node}", "w") as file:
        file.write(str(producer.rows))
"""

_BOTH = """
"$1" -c "$2" "$3" 1 "$4" "$5" & first=$!
"$1" -c "$2" "$3" 2 "$4" "$5" & second=$!
wait $first || code=1
wait $second || code=1
test -e "$3.parts" && ls -la "$3.parts" >&2
"$1" -c '
import sys
import numpy as np
import thalweg as tw
run = tw.open(sys.argv[1])
counts = np.bincount(run["t"]["node"][:], minlength=3)[1:].tolist()
expected = [int(open(f"{sys.argv[2]}/rows{node}").read()) for node in (1, 2)]
assert not run.is_open and counts == expected, (run.is_open, counts, expected)
assert tw.verify(sys.argv[1]).is_sound
' "$3" "$5" || code=1
exit ${code:-0}
"""


@pytest.mark.parametrize("rows", [1 << 40, 1 << 17], ids=["both_are_refused", "another_program_fills_it"])
def test_a_block_that_is_left_in_order_completes_the_file(name: str, rows: int, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    unshare = ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    mount = f"mount -t tmpfs -o size=64m none {place}"
    if subprocess.run([*unshare, "sh", "-c", mount], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount here")
    command = ["sh", "-c", f"{mount}\n{_BOTH}", "sh", sys.executable, _NODE, place / name, str(rows), tmp_path]
    done = subprocess.run([*unshare, *command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
