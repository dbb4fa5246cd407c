"""A script that ends without closing its run says so on stderr, and Python warns as for an unclosed file."""

import subprocess
import sys
from pathlib import Path

import pytest

import thalweg as tw

SCRIPT = """
import sys
import thalweg as tw
out = tw.create(sys.argv[1], {"t": {"x": tw.int32}})
out.producer("t").append(x=range(5))
"""


def ran(script: str, path: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, *flags, "-c", script, str(path)]
    return subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("ending", ["h5", "root"])
@pytest.mark.parametrize("more", ["", "out.itself = out", "del out"])
def test_a_script_that_does_not_close_its_run_says_so(more: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{ending}"
    done = ran(SCRIPT + more, path, "-W", "default")
    lines = [line for line in done.stderr.splitlines() if line.startswith("thalweg: ")]
    said = f"{path} is not complete (its writer was not closed): close it, or complete it with tw.recover"
    assert lines == [f"thalweg: {said}"]
    assert "ResourceWarning: " in done.stderr
    assert tw.recover(path).rows == 5


@pytest.mark.parametrize("end", ["out.close()", "out.abandon()", "with out: pass", "import os; os._exit(0)"])
def test_one_that_ends_it_says_nothing(end: str, tmp_path: Path) -> None:
    done = ran(SCRIPT + end, tmp_path / "run.h5", "-W", "error")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_child_says_nothing(tmp_path: Path) -> None:
    fork = "import os\nchild = os.fork()\nif child == 0: sys.exit(0)\nos.waitpid(child, 0)\nout.close()\n"
    done = ran(SCRIPT + fork, tmp_path / "run.h5", "-W", "ignore::DeprecationWarning")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(tw.open(tmp_path / "run.h5")["t"]) == 5


def test_a_writer_that_is_forgotten_warns(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tw.create(tmp_path / "run.h5", {"t": {"x": tw.int32}})
    with pytest.warns(ResourceWarning, match="its writer was not closed"):
        del out
    assert capfd.readouterr().err.count("its writer was not closed") == 1
