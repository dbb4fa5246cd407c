"""`thalweg tune --resume`: trials that are killed go on where they were, lose nothing, and leave no process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

THALWEG = str(Path(sys.executable).with_name("thalweg"))
VARIABLE = "file_locking=BEST_EFFORT"
MARK = "sleep 0.16180"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [THALWEG, "tune", "--json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def facts() -> list[dict[str, Any]]:
    """Returns the request of the trial in this folder, and what it has noted so far."""
    lines = [line for path in Path().glob(".thalweg-tune-*/journal") for line in path.read_text().split("\n")[:-1]]
    return [json.loads(line) for line in lines]


def kill_after(process: subprocess.Popen[str], count: int) -> bool:
    """Kills the trial once it has noted so many facts. Returns False if it has ended before."""
    while process.poll() is None and len(facts()) < count:
        time.sleep(0.005)
    if process.poll() is not None:
        return False
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return True


def running(words: str) -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode().strip())
        except OSError:
            continue
    return [line for line in lines if line == words]


def wait_until_none_runs(words: str) -> None:
    end = time.monotonic() + 60
    while running(words):
        assert time.monotonic() < end, "a process of the command is left"
        time.sleep(0.01)


def test_a_trial_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    Path("old.txt").write_text("precious")
    runs = tmp_path / "runs"
    # The processes that it begins do not belong to its session, so that nothing but the trial would end them.
    program = f"""
echo x >> {runs}; echo begun > out.txt
setsid {MARK} & wait
mkdir -p deep/er; echo done > deep/er/a; echo x > out.txt"""
    process = start("--try", VARIABLE, "--pairs", "5", "--", "sh", "-c", program)
    kills = 0
    for count in (1, 2, 2, 3, 4, 7, 13):  # at 14 all is measured, and the trial may have ended
        if not kill_after(process, count):
            break
        kills += 1
        wait_until_none_runs(MARK)
        if kills == 3:
            Path("new.txt").write_text("by the user, meanwhile")
        before = facts()
        process = start("--resume")
        while process.poll() is None and len(facts()) < len(before):
            time.sleep(0.005)
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert kills == 7
    verdict = json.loads(said)
    assert verdict["settings"] == [VARIABLE]
    assert verdict["data"] == []
    assert len(verdict["default_s"]) == len(verdict["tried_s"]) == 5
    assert sorted(os.listdir()) == ["deep", "new.txt", "old.txt", "out.txt"]
    assert Path("out.txt").read_text() == "x\n"
    assert Path("deep/er/a").read_text() == "done\n"
    assert Path("old.txt").read_text() == "precious"
    assert Path("new.txt").read_text() == "by the user, meanwhile"
    # Two traced and ten timed runs, and those that were interrupted.
    assert 12 <= len(runs.read_text().split()) <= 12 + kills
    wait_until_none_runs(MARK)


def killed(count: int, *words: str) -> None:
    assert kill_after(start(*words), count)


def resumed(code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([THALWEG, "tune", "--resume"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done


SLOW = ("--try", VARIABLE, "--pairs", "0", "--", "sh", "-c", "echo x > out.txt; sleep 0.5")


def test_what_the_user_has_changed_meanwhile_is_not_lost() -> None:
    Path("mine.txt").write_text("before")
    killed(3, *SLOW)
    Path("mine.txt").write_text("my new text")
    said = resumed(code=2).stderr
    assert "mine.txt is other than before the trial" in said
    assert Path("mine.txt").read_text() == "my new text"
    (copy,) = Path().glob(".thalweg-tune-*/before/mine.txt")
    assert copy.read_text() == "before"
    Path("mine.txt").write_text("before")
    resumed()
    assert sorted(os.listdir()) == ["mine.txt", "out.txt"]


def test_what_was_killed_while_it_put_back_the_outputs_goes_on() -> None:
    killed(3, *SLOW)
    (aside,) = Path().glob(".thalweg-tune-*")
    os.rename(aside / "run-1" / "out.txt", "out.txt")  # as at the end
    resumed()
    assert os.listdir() == ["out.txt"]


def test_a_line_that_was_not_written_whole_is_no_fact() -> None:
    killed(3, *SLOW)
    (journal,) = Path().glob(".thalweg-tune-*/journal")
    journal.write_bytes(journal.read_bytes() + b'{"what": "tra')
    resumed()
    assert os.listdir() == ["out.txt"]


def test_a_trial_that_runs_is_not_taken_over() -> None:
    process = start(*SLOW)
    while not facts():
        time.sleep(0.005)
    assert "belongs to a trial that runs now" in refusal("--resume")
    assert "belongs to a trial that runs now" in refusal(*SLOW)
    process.communicate()
    assert process.returncode == 0


def refusal(*words: str) -> str:
    done = subprocess.run([THALWEG, "tune", *words], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_there_may_be_nothing_to_go_on_with() -> None:
    assert "there is nothing to go on with" in refusal("--resume")
    assert "give nothing else" in refusal("--resume", "--", "true")
    Path(".thalweg-tune-1234").mkdir()
    assert "has no journal" in refusal("--resume")
