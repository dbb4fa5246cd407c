"""thalweg recover: what it says, and the code that it ends with."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import pytest

import thalweg as tw

# No flush comes: few rows are in memory alone, and no BARRIER vouches for the pages of many.
DYING = """
import os, signal, sys
import numpy as np
import thalweg as tw
out = tw.create(sys.argv[1], {"t": {"number": tw.int64}}, tuning={"flush_interval": "1h"}, codec="none")
producer = out.producer("t")
producer.append(number=np.arange(int(sys.argv[2])))
if int(sys.argv[2]) > 1000:
    producer.finish()
    while out.status().producers:
        pass
print(out.handle, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(path: Path, rows: int) -> str:
    """The handle of a run whose process was killed."""
    done = subprocess.run([sys.executable, "-c", DYING, path, str(rows)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.strip()


@pytest.fixture(params=[".h5", ".root"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"run{request.param}"


@pytest.mark.parametrize("json_", [(), ("--json",)])
def test_where_nothing_is_lost_the_code_is_0(path: Path, json_: tuple[str, ...], thalweg_command: Any) -> None:
    killed(path, 20)
    done = thalweg_command("recover", path, *json_)
    assert done.returncode == 0, done.stderr
    assert len(tw.open(path)["t"]) == 20
    if json_:
        assert json.loads(done.stdout)["rows_may_be_missing"] is False


@pytest.mark.parametrize("json_", [(), ("--json",)])
def test_where_memory_is_gone_the_loss_is_unknown_and_the_code_is_1(
    path: Path, json_: tuple[str, ...], thalweg_command: Any
) -> None:
    for memory in Path("/dev/shm").glob(f"{killed(path, 20)}*"):  # as a restart of the machine does it
        memory.unlink()
    done = thalweg_command("recover", path, *json_)
    assert done.returncode == 1
    assert "the memory of its producers is gone" in done.stdout
    assert len(tw.open(path)["t"]) == 0
    if json_:
        assert json.loads(done.stdout)["rows_may_be_missing"] is True


def test_where_pages_are_damaged_the_code_is_1(path: Path, thalweg_command: Any) -> None:
    killed(path, 1_000_000)
    with path.open("r+b") as file:
        file.seek(2_000_000)
        file.write(b"\xa5" * 4_000_000)
    done = thalweg_command("recover", path)
    assert done.returncode == 1
    assert "damaged" in done.stdout
    assert "lost" in done.stdout


def test_in_python_the_report_says_so(path: Path) -> None:
    for memory in Path("/dev/shm").glob(f"{killed(path, 20)}*"):
        memory.unlink()
    report = tw.recover(path)
    assert not report.is_whole
    assert report.rows_may_be_missing
    assert report.lost_rows == 0


# The process dies before its journal knows of any row: they are in memory alone.
MOVED = """
import os, signal, sys
import thalweg as tw
out = tw.create(sys.argv[1], {"t": {"number": tw.int64}}, tuning={"flush_interval": "1h"}, codec="none")
out.producer("t").append(number=range(20))
os.rename(sys.argv[1], sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


def moved(path: Path) -> Path:
    """Returns the place of a file that was moved without its journal before its process was killed."""
    away = path.with_name(f"away{path.suffix}")
    done = subprocess.run([sys.executable, "-c", MOVED, path, away], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return away


def test_a_run_whose_file_was_moved_is_not_taken_for_none(path: Path, thalweg_command: Any) -> None:
    away = moved(path)
    done = thalweg_command("recover", path)
    assert done.returncode == 2
    assert f"the run of {path} has no file any more" in done.stderr
    assert "is there, and what its producers had in memory): put the file back" in done.stderr
    with pytest.raises(tw.UsageError, match="put its file back and complete the run"):
        tw.create(path, {"t": {"number": tw.int64}})
    away.rename(path)
    assert thalweg_command("recover", path).returncode == 0
    assert tw.open(path)["t"]["number"][:].tolist() == list(range(20))


def test_a_moved_file_without_its_journal_is_told_where_it_belongs(path: Path, thalweg_command: Any) -> None:
    away = moved(path)
    done = thalweg_command("recover", away)
    assert done.returncode == 2
    assert f"cannot recover the run of {away} (the file is not complete, there is no {away}.journal" in done.stderr
    assert "rows of its producers may be in the memory of this machine" in done.stderr
    assert f"move it back to {path}, or {path}.journal to {away}.journal, and recover it then" in done.stderr
    Path(f"{path}.journal").rename(f"{away}.journal")
    assert thalweg_command("recover", away).returncode == 0
    assert tw.open(away)["t"]["number"][:].tolist() == list(range(20))


def test_a_complete_file_needs_nothing_and_the_code_is_0(path: Path, thalweg_command: Any) -> None:
    killed(path, 20)
    first = thalweg_command("recover", path, "--json")
    assert (first.returncode, json.loads(first.stdout)["recovered"]) == (0, True), first.stderr
    content = path.read_bytes()
    again = thalweg_command("recover", path)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == f"{path} is complete: nothing is to be done. It has 20 rows.\n"
    facts = json.loads(thalweg_command("recover", path, "--json").stdout)
    assert (facts["recovered"], facts["rows"], facts["tables"]) == (False, 20, [{"table": "t", "rows": 20}])
    assert path.read_bytes() == content
    with pytest.raises(tw.UsageError, match="nothing to recover"):
        tw.recover(path)


def test_one_row_is_no_rows(path: Path, tmp_path: Path, thalweg_command: Any) -> None:
    killed(path, 1)
    assert f"{path} is complete: 1 row kept, " in thalweg_command("recover", path).stdout
    assert "It has 1 row.\n" in thalweg_command("recover", path).stdout
    other = tmp_path / f"copy{'.root' if path.suffix == '.h5' else '.h5'}"
    more = {"convert": [other], "merge": ["--out", tmp_path / f"merged{path.suffix}"]}
    for command in ("inspect", "verify", "convert", "merge"):
        said = thalweg_command(command, path, *more.get(command, [])).stdout
        assert ("1 page" if command == "verify" else "1 row") in said
        assert not re.search(r"\b1 (rows|pages|tables|faults|files)\b", said), said


def test_a_file_that_is_no_complete_run_is_a_wrong_request(tmp_path: Path, thalweg_command: Any) -> None:
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["values"] = [1, 2, 3]
    (tmp_path / "text.h5").write_text("no file of ours")
    for name in ("foreign.h5", "text.h5", "missing.h5"):
        done = thalweg_command("recover", tmp_path / name)
        assert done.returncode == 2, done.stderr
        assert name in done.stderr
    with tw.create(tmp_path / "open.h5", {"t": {"number": tw.int64}}) as out:
        out.producer("t").append(number=1)
        done = thalweg_command("recover", tmp_path / "open.h5")
        assert done.returncode == 2
        assert "is complete" not in done.stdout
