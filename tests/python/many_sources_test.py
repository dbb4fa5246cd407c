"""Virtual datasets over more files than a process may have open: every row is right, whichever process reads it."""

import subprocess
import sys
from pathlib import Path

import pytest
from one_file_test import virtual

PROGRAM = """
import pickle, resource, sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import numpy as np
import thalweg as tw

def is_right(table, start, stop):
    found = table.read("frames", rows=slice(start, stop))["frames"]
    return np.array_equal(found, np.repeat(np.arange(start + 1, stop + 1), 4).reshape(-1, 4))

def is_part_right(part):
    return is_right(*part)

if __name__ == "__main__":
    path, limit, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    run = tw.open(path)
    table, half = run["m"], files // 2
    assert run.problems == () and len(table) == files
    print("read", is_right(table, 0, files))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        print("spawned", *pool.map(is_part_right, [(table, 0, half), (table, half, files)]))
    print("pickled", is_right(pickle.loads(pickle.dumps(run))["m"], 0, files))
    found = tw.verify(path)
    print("verify", found.is_sound, len(found.problems))
    tw.convert(path, path + ".root")
    print("convert", is_right(tw.open(path + ".root")["m"], 0, files))
"""


@pytest.mark.parametrize(("files", "limit"), [(330, 256), (1300, 1024)])
def test_every_row_is_right(tmp_path: Path, files: int, limit: int, long_mode: bool) -> None:
    if files > 1000 and not long_mode:
        pytest.skip("takes 15 seconds of CPU; --long")
    (tmp_path / "read.py").write_text(PROGRAM)
    command = [sys.executable, tmp_path / "read.py", virtual(tmp_path, files), str(limit), str(files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    right = ["read True", "spawned True True", "pickled True", "verify True 0", "convert True"]
    assert done.stdout.splitlines() == right
