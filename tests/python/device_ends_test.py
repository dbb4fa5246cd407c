"""How devices and their processes end: by themselves, by an interrupt, by a deadline, and with the recorder."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from recording import SMALL, THALWEG, is_alive, record, recording, wait_for

import thalweg as tw

CARD, SILENT = "device_stand_ins:Card", "device_stand_ins:Silent"


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def test_a_device_that_hangs_while_it_is_stopped_does_not_keep_the_run(tmp_path: Path) -> None:
    options = ("--source", SILENT, "--setting", "hangs_in=stop", "--duration", "1s", "--device-deadline", "1s")
    report = record(tmp_path / "run.h5", *options, code=1)
    (problem,) = report["problems"]
    assert problem.endswith("is lost (it did not return from stop within 1 s) while it was stopped")
    assert report["rows"] == 1


def test_a_device_that_has_rows_for_ever_does_not_keep_the_run(tmp_path: Path) -> None:
    options = ("--source", SILENT, "--setting", "wrong=end", "--duration", "200ms", "--device-deadline", "1s")
    report = record(tmp_path / "run.h5", *options, code=1)
    (problem,) = report["problems"]
    assert problem.endswith(
        "does not stop (next still gives rows 6 s after stop): let stop end them, so that next returns None"
    )
    assert report["rows"] == len(tw.open(tmp_path / "run.h5")["ch0"])
    assert report["files"][0]["complete"]


def test_a_thread_of_a_library_does_not_keep_the_run(tmp_path: Path) -> None:
    options = ("--source", SILENT, "--setting", "hangs_in=exit", "--duration", "200ms", "--device-deadline", "1s")
    report = record(tmp_path / "run.h5", *options, code=1)
    assert report["problems"] == [f"{SILENT} has given all its records, and did not return from close within 1 s"]
    assert report["rows"] == 1


def test_a_producer_process_that_stands_still_ends_the_run(tmp_path: Path) -> None:
    """The emulator records until its own clock ends, and a process that stands still has none."""
    options = ("--rate", "500/s", "--duration", "2s", "--producers", 2, "--device-deadline", "2s")
    with recording(tmp_path / "run.h5", *SMALL, *options) as recorder:
        os.kill(recorder.workers()[0], signal.SIGSTOP)
        report = recorder.report(code=1)
    (problem,) = report["problems"]
    assert "(ch0, ch2) has given no sign of life for 2 s and was killed" in problem
    assert report["ended_by"] == "failure"


def test_an_interrupt_while_a_device_opens_leaves_nothing(tmp_path: Path) -> None:
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--source", SILENT]
    words += ["--setting", "hangs_in=describe", "--device-deadline", "100s"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_for(lambda: bool(children.read_text()))
        (child,) = map(int, children.read_text().split())
        wait_for(lambda: b"_devices.process" in Path(f"/proc/{child}/cmdline").read_bytes())
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert said == "thalweg: nothing was recorded (the run was interrupted while it started)\n"
    assert process.returncode == 1
    assert not is_alive(child)
    assert os.listdir(tmp_path) == []


def test_an_interrupt_ends_a_run_whose_device_is_lost(tmp_path: Path) -> None:
    """It hangs when it is stopped for good, as it did before: the run waits no longer than the deadline."""
    (tmp_path / "notes").mkdir()
    settings = ("--setting", f"notes={tmp_path / 'notes'}", "--setting", "faults=hang", "--setting", "each=100")
    words = ["--source", CARD, *settings, "--device-deadline", "3s"]
    with recording(tmp_path / "run.h5", *words) as recorder:
        wait_for((tmp_path / "notes" / "faults").exists)
        recorder.signal(signal.SIGINT)
        report = recorder.report(code=1)
    assert report["ended_by"] == "signal"
    assert report["rows"] == 100
    (problem,) = report["problems"]
    assert problem.endswith("is lost (it did not return from next within 3.1 s) while it was stopped")


def test_a_device_that_hangs_while_it_opens_does_not_outlive_the_recorder(tmp_path: Path) -> None:
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--source", SILENT]
    words += ["--setting", f"hangs_in=describe,{tmp_path / 'hangs'}", "--device-deadline", "1s"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        wait_for((tmp_path / "hangs").exists)
        child = int((tmp_path / "hangs").read_text())
        process.kill()
        wait_for(lambda: not is_alive(child), timeout_s=30)


@pytest.mark.parametrize("fault", ["", "hang"])
def test_no_process_of_a_device_outlives_the_recorder(tmp_path: Path, thalweg_command, fault: str) -> None:
    (tmp_path / "notes").mkdir()
    settings = ("--setting", f"notes={tmp_path / 'notes'}", "--setting", f"faults={fault}", "--setting", "each=1500")
    with recording(tmp_path / "run.h5", "--source", CARD, *settings, "--device-deadline", "1s") as recorder:
        if fault:
            wait_for((tmp_path / "notes" / "faults").exists)
        workers = recorder.workers()
        recorder.signal(signal.SIGKILL)
        wait_for(lambda: not any(map(is_alive, workers)))
    assert thalweg_command("recover", tmp_path / "run.h5").returncode == 0
    numbers = tw.open(tmp_path / "run.h5")["ch0"].read(["number"])["number"].tolist()
    assert numbers == list(range(len(numbers)))


def test_a_device_that_gives_rows_after_stop_is_told_of_before_it_is_lost(tmp_path: Path) -> None:
    device = f'{{source = "{SILENT}", wrong = "end", deadline = "1s"}}'
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--device", device, "--duration", "200ms"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    told = f"next of {SILENT} still gives rows 2 s after stop (they are recorded, for 6 s at most): let it"
    assert done.stderr.index(told) < done.stderr.index("does not stop (next still gives rows 6 s after stop")


def test_a_device_that_does_not_stop_is_tried_no_longer_than_it_was_read_and_two_seconds() -> None:
    words = [THALWEG, "devices", "--source", SILENT, "--setting", "wrong=end", "--duration", "500ms", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    (problem,) = json.loads(done.stdout)["problems"]
    assert problem == (
        f"{SILENT} does not stop (next still gives rows 2.5 s after stop): let stop end them, so that next returns None"
    )
    assert "are recorded" not in done.stderr  # one sentence says it
