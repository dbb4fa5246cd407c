"""`thalweg derive`: what it takes, what it says, and how it ends."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from derive_cases import EVENTS, write_input

import thalweg as tw
from thalweg._derive.state import JobState, WorkerState
from thalweg.cli._derive_progress import job_sentence, job_view

TRAIN = """
import time
import thalweg as tw

def met(events):
    if FAILS and events.event[0] > 6000:
        raise ValueError("no more")
    time.sleep(PAUSE_S)
    return {"met2": events.MET_pt ** 2}

FAILS, PAUSE_S = {fails}, {pause_s}
inputs = "in.root:Events"
train = [tw.Derivation("met.root", met, keep="event", select=lambda events: events.MET_pt > 30)]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_input(tmp_path / "in.root")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_train(fails: bool = False, pause_s: float = 0) -> None:
    Path("mytrain.py").write_text(TRAIN.replace("{fails}", str(fails)).replace("{pause_s}", str(pause_s)))


@pytest.mark.usefixtures("folder")
def test_a_train(thalweg_command) -> None:
    write_train(pause_s=0.1)
    done = thalweg_command("derive", "mytrain.py", "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert f"12,000 of {EVENTS:,} events" in done.stdout
    assert "events/s, 2 workers" in done.stderr  # the progress
    again = thalweg_command("derive", "mytrain.py")
    assert again.returncode == 2
    assert "met.root" in again.stderr
    done = thalweg_command(
        "derive", "mytrain.py", "--force", "--json", "--quiet", "--order", "input", "--start", "spawn"
    )
    assert done.returncode == 2  # a lambda
    assert "give start='fork'" in done.stderr
    done = thalweg_command("derive", "mytrain.py", "--force", "--json", "--quiet", "--order", "input")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["events_done"] == EVENTS
    assert report["outputs"][0]["summary"]["cuts"]["selected"] == len(tw.open("met.root")["Events"])
    assert report["is_whole"]
    assert done.stderr == ""


@pytest.mark.usefixtures("folder")
def test_failures_end_with_1_and_the_traceback(thalweg_command) -> None:
    write_train(fails=True)
    done = thalweg_command("derive", "mytrain.py", "--attempts", 1, "--json")
    assert done.returncode == 1
    assert "mytrain.py" in done.stderr
    assert "ValueError: no more" in done.stderr
    assert "resume=True" in done.stderr
    assert not json.loads(done.stdout)["failures"][0]["skipped"]
    done = thalweg_command("derive", "mytrain.py", "--on-error", "skip", "--attempts", 1, "--resume", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert all(each["skipped"] for each in report["failures"])
    left = sum(each["stop"] - each["start"] for each in report["failures"])
    assert report["outputs"][0]["summary"]["events"] == EVENTS - left


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("none.py", "none.py cannot be read"),
        ("json.py", "a module 'json' is loaded already"),
        ("wrong.py", "wrong.py cannot be imported (line 2: ZeroDivisionError"),
        ("empty.py", "does not define `train`"),
        ("noinput.py", "has no input"),
        ("mytrain.py --workers 0", "workers cannot be 0"),
        ("mytrain.py --order size", "order cannot be 'size'"),
        ("mytrain.py --input nothing.root", "nothing.root"),
        ("mytrain.py --timeout soon", "soon"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_requests(thalweg_command, arguments: str, said: str) -> None:
    write_train()
    Path("json.py").write_text("")
    Path("wrong.py").write_text("import thalweg\n1 / 0\n")
    Path("empty.py").write_text("train = 5\n")
    Path("noinput.py").write_text("import thalweg as tw\ntrain = [tw.Derivation('a.root', keep='x')]\n")
    done = thalweg_command("derive", *arguments.split())
    assert done.returncode == 2
    assert said in done.stderr


def test_what_cannot_be_kept_counts_unless_it_is_allowed(folder: Path, thalweg_command) -> None:
    write_input(folder / "less.h5", EVENTS, 100, {"event": tw.uint64, "MET_pt": tw.float32})
    Path("mytrain.py").write_text("import thalweg as tw\ntrain = [tw.Derivation('a.root', keep=['event', 'MET_*'])]\n")
    inputs = "--input", "in.root", "--input", "less.h5:Events"
    done = thalweg_command("derive", "mytrain.py", *inputs)
    assert done.returncode == 1
    assert "Events/MET_phi is left out (less.h5 does not have it)" in done.stdout
    assert thalweg_command("derive", "mytrain.py", *inputs, "--force", "--allow-missing").returncode == 0


def test_how_a_job_is_shown() -> None:
    from rich.console import Console

    workers = tuple(WorkerState(pid, 100 * pid, pid % 2 * 50, 1.5, 0.25, 40_000_000) for pid in range(1, 41))
    state = JobState(1000, 250, 50.0, 7, 5.0, 15.0, 1_500_000, "", 1, workers)
    said = "250 of 1,000 events, 50 events/s, 40 workers, 7 ranges waiting, 1.5 MB written, 1 failed, 15.0 s left"
    assert job_sentence(state) == f"5.0 s: {said}"
    console = Console(width=120, file=open("/dev/null", "w"), record=True)  # noqa: SIM115
    console.print(job_view(state))
    shown = console.export_text()
    console.file.close()
    assert "50 events" in shown
    assert "8 more" in shown
    assert "waiting" in shown


@pytest.mark.usefixtures("folder")
def test_options_of_the_writing(thalweg_command) -> None:
    write_train()
    options = "--range-bytes", "20kB", "--codec", "zstd-5", "--set", "cluster_bytes=64KiB", "--json", "--quiet"
    done = thalweg_command("derive", "mytrain.py", *options, "--workers", 1)
    assert done.returncode == 0, done.stderr
    run = tw.open("met.root")
    assert len(run.units) > 20
    assert run.knobs["cluster_bytes"] == 64 * 1024
    assert json.loads(run.metadata["derive.options"])["codec"] == "zstd-5"
    for wrong, said in [
        (("--range-bytes", "0"), "range_bytes cannot be 0"),
        (("--range-bytes", "many"), "many"),
        (("--codec", "nonsense"), "nonsense"),
        (("--set", "cluster=1"), "cluster"),
        (("--set", "cluster_bytes"), "KNOB=VALUE"),
    ]:
        done = thalweg_command("derive", "mytrain.py", "--force", *wrong)
        assert done.returncode == 2, wrong
        assert said in done.stderr
    assert len(tw.open("met.root").units) == len(run.units)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("interrupts", [1, 2, 1000])
def test_after_ctrl_c_it_names_resume(interrupts: int) -> None:
    write_train(pause_s=0.5)
    words = [sys.executable, "-m", "thalweg", "derive", "mytrain.py", "--workers", "2", "--range-bytes", "20kB"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as job:
        assert job.stderr
        job.stderr.readline()  # the progress: ranges are being done
        for _ in range(interrupts):
            job.send_signal(signal.SIGINT)
            time.sleep(0.4 if interrupts <= 2 else 0.001)  # two that come together are one
        said = job.stderr.read()
    assert job.returncode == 1
    assert "the job was interrupted; resume=True (--resume) continues it" in said
    assert "Traceback" not in said
    write_train(pause_s=0)  # of another function
    again = subprocess.run([*words, "--resume", "trust"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert len(tw.open("met.root").units) > 10
