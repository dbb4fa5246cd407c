"""What `thalweg record` does when something dies, or is too slow, or full."""

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from recording import SMALL, THALWEG, columns, record, recording, wait_for, wait_for_rows


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What the card would have given."""
    path = tmp_path_factory.mktemp("reference") / "run.h5"
    record(path, *SMALL, "--rate", "2kHz", "--duration", "4s")
    return columns(path)


def is_beginning_of(rows: dict, reference: dict) -> bool:
    """As far as the reference goes: on a busy machine a recording may last longer."""

    def same(one: np.ndarray, other: np.ndarray) -> bool:
        both = min(len(one), len(other))
        return both > 0 and np.array_equal(one[:both], other[:both])

    return all(same(table[column], reference[name][column]) for name, table in rows.items() for column in table)


def test_a_killed_producer_ends_the_run_and_keeps_its_records(tmp_path: Path, reference: dict) -> None:
    path = tmp_path / "run.h5"
    with recording(path, *SMALL, "--rate", "2kHz", "--producers", 2) as recorder:
        wait_for_rows(path, 501)
        os.kill(recorder.workers()[0], signal.SIGKILL)
        report = recorder.report(code=1)
    (problem,) = report["problems"]
    assert "(ch0, ch2) was killed by SIGKILL" in problem
    assert report["ended_by"] == "failure"
    rows = columns(path)
    assert min(len(table["timestamp"]) for table in rows.values()) > 500
    assert is_beginning_of(rows, reference)


def test_when_the_recorder_is_killed_its_run_is_recovered(tmp_path: Path, thalweg_command, reference: dict) -> None:
    path = tmp_path / "run.h5"
    with recording(path, *SMALL, "--rate", "2kHz", "--producers", 2) as recorder:
        wait_for_rows(path, 501)
        workers = recorder.workers()
        recorder.signal(signal.SIGKILL)
        wait_for(lambda: not any(_is_alive(pid) for pid in workers))
    with pytest.raises(OSError, match="signature"):
        columns(path)
    looked = thalweg_command("inspect", path)
    assert "a run that is not complete and that no process writes any more" in looked.stdout.splitlines()[0]
    recovered = thalweg_command("recover", path)
    assert recovered.returncode == 0, recovered.stderr
    rows = columns(path)
    assert min(len(table["timestamp"]) for table in rows.values()) > 500
    assert is_beginning_of(rows, reference)
    assert thalweg_command("verify", path).returncode == 0


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except OSError:
        return False


def test_a_second_interrupt_abandons_the_run_for_recover(tmp_path: Path, thalweg_command) -> None:
    path = tmp_path / "run.h5"
    with recording(path, *SMALL, "--rate", "2kHz", "--producers", 1) as recorder:
        wait_for_rows(path, 501)
        os.kill(recorder.workers()[0], signal.SIGSTOP)  # so that the clean stop takes for ever
        recorder.signal(signal.SIGINT)
        time.sleep(1)  # two that come at once are one
        recorder.signal(signal.SIGINT)
        _, err = recorder.process.communicate(timeout=120)
    assert recorder.process.returncode == 1
    assert f"`thalweg recover {path}`" in err or "abandoned" in err
    assert thalweg_command("recover", path).returncode == 0
    assert len(columns(path)["ch0"]["timestamp"]) > 500


def test_triggers_that_find_the_memory_full_are_counted_as_dead_time(tmp_path: Path) -> None:
    options = ("--samples", 1000, "--channels", 1, "--rate", "5kHz", "--duration", "4s", "--onboard-memory", "1MB")
    with recording(tmp_path / "run.h5", *options) as recorder:
        (worker,) = recorder.workers()
        os.kill(worker, signal.SIGSTOP)  # a disk that stalls: 1 MB lasts for 0.1 s
        time.sleep(0.6)
        os.kill(worker, signal.SIGCONT)
        report = recorder.report()
    channel = report["channels"]["ch0"]
    assert channel["rows"] + channel["lost_triggers"] == channel["triggers"]
    dead_s = channel["dead_time_ns"] * 1e-9
    assert dead_s > 0.35  # the machine may have added pauses of its own
    assert channel["lost_triggers"] == pytest.approx(5000 * dead_s, rel=0.2)
    assert channel["dead_time_fraction"] == pytest.approx(dead_s / 4, rel=0.1)
    gaps_s = np.diff(columns(tmp_path / "run.h5")["ch0"]["timestamp"]) * 1e-12
    assert gaps_s[gaps_s > 0.005].sum() == pytest.approx(dead_s, rel=0.2)


def test_storage_that_is_too_slow_shows_as_dead_time(tmp_path: Path, thalweg_command) -> None:
    options = (
        "--channels",
        1,
        "--rate",
        "5kHz",
        "--duration",
        "1s",
        "--onboard-memory",
        "2MB",
        "--codec",
        "bitshuffle+zstd-19",
    )
    done = thalweg_command("record", "--out", tmp_path / "run.h5", *options)
    assert done.returncode == 0
    assert "triggers are lost, because the on-board memory was full" in done.stdout


def test_without_a_rate_nothing_is_lost_however_slow_storage_is(tmp_path: Path) -> None:
    report = record(tmp_path / "run.h5", "--channels", 1, "--records", 200, "--codec", "bitshuffle+zstd-19")
    assert report["lost_triggers"] == 0
    assert report["rows"] == 200


def test_on_a_full_disk_the_file_is_closed_with_what_it_has(tmp_path: Path, thalweg_command) -> None:
    """A limit on the size of files is what the kernel treats like a full disk, for this run alone.

    The run has no duration: how long it takes to fill a disk depends on the disk."""
    limit = 256 << 20
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--codec", "none"]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1, done.stderr
    assert "thalweg: " in done.stderr
    assert "takes no more rows" in done.stderr  # by the recorder, or by a channel that it has not stopped before
    assert "Traceback" not in done.stderr
    rows = sum(len(table["timestamp"]) for table in columns(tmp_path / "run.h5").values())
    assert rows > 1000
    assert f"Recorded {rows:,} records" in done.stdout
    assert thalweg_command("verify", tmp_path / "run.h5").returncode == 0


def test_a_full_disk_is_said_while_the_run_waits_for_room(tmp_path: Path) -> None:
    limit = 64 << 20
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--codec", "none", "--quiet"]
    with subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    ) as process:
        assert process.stderr
        said = process.stderr.readline()
        begin = time.monotonic()
        process.communicate(timeout=300)
        took = time.monotonic() - begin
    assert "takes no more rows at present" in said
    assert process.returncode == 1
    assert took > 3, "it waits 5 s for room"


def test_two_recorders_on_one_path(tmp_path: Path, thalweg_command) -> None:
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "1kHz") as recorder:
        for force in ((), ("--force",)):
            done = thalweg_command("record", "--out", tmp_path / "run.h5", "--duration", "1s", *force)
            assert done.returncode == 2
            assert done.stderr.startswith("thalweg: ")
            assert len(done.stderr.splitlines()) == 1
        recorder.signal(signal.SIGINT)
        assert recorder.report()["rows"] > 0


def test_two_interrupts_that_come_together_are_one(tmp_path: Path) -> None:
    """`timeout -s INT 10` sends one to the command, and one to its group."""
    with recording(tmp_path / "run.h5", *SMALL, "--rate", "1kHz") as recorder:
        recorder.signal(signal.SIGINT)
        recorder.signal(signal.SIGINT)
        report = recorder.report(code=0)
    assert report["ended_by"] == "signal"
    assert report["files"][0]["complete"]
