"""How large an exported trace is, which is said before it is written, and what is left where it cannot be."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_place import in_small_place
from tracing import THALWEG, trace

CALLS = 40_000


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traced")
    code = "import os, sys\nfd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
    code += f"for i in range({CALLS}): os.pwrite(fd, b'x', i)"
    done = trace(folder / "t.root", sys.executable, "-c", code, folder / "out")
    assert done.done.returncode == 0, done.said
    return done.path


@pytest.mark.parametrize("ending", ["json", "pftrace"])
def test_the_size_is_foretold(traced: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"t.{ending}"
    done = subprocess.run(
        [THALWEG, "trace", "export", traced, "--out", out], capture_output=True, text=True, check=True
    )
    said = re.search(r"([\d,]+) calls are about ([\d.]+) MB", done.stderr)
    assert said, done.stderr
    assert float(said[2]) * 1e6 == pytest.approx(out.stat().st_size, rel=0.15)
    assert f"{said[1]} calls" in done.stdout


@pytest.mark.parametrize("replaces", [False, True])
def test_without_room_nothing_is_written(traced: Path, tmp_path: Path, replaces: bool) -> None:
    out = tmp_path / "t.json"
    command = [THALWEG, "trace", "export", traced, "--out", out, *(["--force"] if replaces else [])]
    then_list = ["sh", "-c", '"$@"; code=$?; ls -A "$0"; exit $code', tmp_path]
    done = in_small_place(tmp_path, "3m", *then_list, *command)
    assert done.returncode == 1, done.stderr
    assert f"{out} cannot be written (" in done.stderr
    assert "its disk has room for" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "", "nothing is left"


def test_a_pipe_gets_all_and_stays(traced: Path, tmp_path: Path) -> None:
    pipe, copy = tmp_path / "t.json", tmp_path / "copy.json"
    os.mkfifo(pipe)
    with copy.open("wb") as file, subprocess.Popen(["cat", pipe], stdout=file) as reader:
        done = subprocess.run(
            [THALWEG, "trace", "export", traced, "--out", pipe, "--force"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert reader.wait(timeout=60) == 0
    assert pipe.is_fifo()
    assert len([each for each in json.loads(copy.read_text())["traceEvents"] if each["ph"] == "X"]) >= CALLS
