"""thalweg clean: what is left over is listed, and removed on demand; nothing else ever is."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from thalweg.cli import clean as command

RECORDER = """
import os, signal, sys, numpy as np, thalweg as tw
out = tw.create(sys.argv[1], {"events": {"x": tw.int64()}}, tuning={"flush_interval": 3600})
producer = out.producer("events")
producer.append_columns(1000, [np.arange(1000)])
print(out.handle, flush=True)
if sys.argv[2] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


def killed(path: Path) -> str:
    """The handle of a run whose only process was killed."""
    done = subprocess.run([sys.executable, "-c", RECORDER, path, "die"], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    return done.stdout.strip()


def clean(*arguments: str) -> tuple[int, dict[str, Any]]:
    command = [Path(sys.executable).parent / "thalweg", "clean", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, {run["data"]: run for run in json.loads(done.stdout or '{"memory": []}')["memory"]}


def test_a_moved_run_is_listed_and_recovered(tmp_path: Path) -> None:
    path, moved = tmp_path / "run.h5", tmp_path / "moved.h5"
    handle = killed(path)
    assert clean()[1][str(path)]["state"] == "recoverable"
    path.rename(moved)
    Path(f"{path}.journal").rename(f"{moved}.journal")
    with tw.create(tmp_path / "another.h5", {"t": {"x": tw.int64()}}):
        pass  # which removed the memory of the one that was moved
    code, found = clean()
    assert code == 0
    assert found[str(path)]["state"] == "left over"
    assert found[str(path)]["bytes"] > 1e6
    assert found[str(path)]["age_s"] > 0
    assert f"/dev/shm/{handle}" in found[str(path)]["paths"]
    report = tw.recover(moved)
    assert (report.rows, report.lost_rows) == (1000, 0)
    assert str(path) not in clean()[1]


def test_a_run_is_named_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    killed(tmp_path / "run.h5")
    path = str(tmp_path / "run.h5")
    run_id = clean()[1][path]["run"]
    assert list(clean("--run", run_id[:16])[1]) == [path]
    assert clean("--run", f"{run_id[:16]}z") == (2, {})
    tw.recover(path)


def test_only_what_is_left_over_is_removed(tmp_path: Path) -> None:
    gone, living, unfinished = tmp_path / "gone.h5", tmp_path / "living.h5", tmp_path / "unfinished.h5"
    handles = {path: killed(path) for path in (gone, unfinished)}
    command = [sys.executable, "-c", RECORDER, living, "live"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        handles[living] = process.stdout.readline().strip()
        for path in (gone, living):  # the second is alive all the same
            path.unlink()
            Path(f"{path}.journal").unlink()
        # Each by name: what else is in /dev/shm is not this test's to remove.
        states = {path: clean("--run", handle)[1][str(path)]["state"] for path, handle in handles.items()}
        assert states == {gone: "left over", living: "held", unfinished: "recoverable"}
        for path in (living, unfinished):
            assert clean("--run", handles[path], "--yes") == (2, {})
        code, found = clean("--run", handles[gone], "--yes")
        assert (code, found[str(gone)]["removed"]) == (0, True)
        assert not list(Path("/dev/shm").glob(f"{handles[gone]}*"))
        process.kill()
        process.wait()
        assert clean("--run", handles[living], "--yes")[1][str(living)]["removed"]
    assert np.array_equal(recovered(unfinished), np.arange(1000))


def recovered(path: Path) -> Any:
    assert tw.recover(path).lost_rows == 0
    return tw.open(path)["events"].read()["x"]


def test_what_is_not_there_is_a_wrong_request(tmp_path: Path) -> None:
    assert clean(str(tmp_path / "none"))[0] == 2
    assert clean("--run", "thalweg-0000000000000000")[0] == 2
    assert clean(str(tmp_path))[0] == 0


def test_people_are_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    handle = killed(path)
    os.rename(f"{path}.journal", tmp_path / "elsewhere")
    command = [Path(sys.executable).parent / "thalweg", "clean", "--run", handle]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"of {path}" in said
    assert "if the run was moved, recover it first" in said
    assert "`thalweg clean --yes` removes them" in said
    os.rename(tmp_path / "elsewhere", f"{path}.journal")
    assert tw.recover(path).rows == 1000


def test_many_runs_are_summed_up(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest of a state is one line with the size of all; --verbose lists each."""

    def memory(number: int, state: str) -> SimpleNamespace:
        place = {"data_path": f"/data/{number}.h5", "paths": [f"/dev/shm/{number}"], "run_id": f"{number:032}"}
        return SimpleNamespace(**place, size_bytes=1_000_000, age_ns=0, state=state, why="it is so", ledger="")

    found = [memory(number, "left over" if number % 2 else "in use") for number in range(300)]
    monkeypatch.setattr(command._core, "list_memory", lambda _: found)
    assert command.clean() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * (2 * 5 + 1) + 1
    assert "left over: 145 more (all 150 have 150 MB; --verbose lists them)" in lines
    assert "in use: 145 more (all 150 have 150 MB; --verbose lists them)" in lines
    assert lines[-1].startswith("150 MB are left over; `thalweg clean --yes`")
    assert command.clean(verbose=True) == 0
    assert len(capsys.readouterr().out.splitlines()) == 601
