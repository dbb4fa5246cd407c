"""`record --watch`: the page of a recording is a process of its own, and the recording does not need it."""

import contextlib
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from live_runs import recovers
from recording import THALWEG, Recorder, is_alive, recording, wait_for
from serving import Shown
from watching import Viewer, viewer
from websockets.exceptions import ConnectionClosed

import thalweg as tw
from thalweg._recording.page import WATCH_OPTIONS, CheckedOptions
from thalweg.cli.watch import watch

LIST = ("--waveforms", "none", "--channels", "2", "--rate", "2000/s", "--set", "flush_interval=0.1s")
# With the priority of the test itself: a full machine has no idle time for minutes.
PAGE = ("--watch", "127.0.0.1:0", "--watch-option", "priority=normal")


def page_of(recorder: Recorder) -> Shown:
    """Waits until the recording has said where the page is."""
    return Shown(heard(recorder, r"is shown at (http://\S+) \(until the run ends\)"), recorder.process)


def heard(recorder: Recorder, pattern: str) -> str:
    assert recorder.process.stderr
    while not (found := re.search(pattern, recorder.said)):
        line = recorder.process.stderr.readline()
        assert line, recorder.said
        recorder.said += line
    return found[1] if found.groups() else found[0]


def pid_of_page(recorder: Recorder) -> int:
    """The only process whose command is `thalweg watch` of this recorder."""
    for pid in recorder.workers():
        if b"watch" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            return pid
    raise AssertionError("there is no page")


def last_of(page: Viewer) -> None:
    """Takes messages until the server has closed the connection."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            page.take()


def test_the_page_shows_the_run_to_its_end_and_ends_with_it(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    with recording(out, *LIST, *PAGE) as recorder:
        with viewer(page_of(recorder)) as page:
            page.until(lambda: sum(page.rows.values()) > 100)
            assert page.status["writing"]["pids"] == [recorder.process.pid]
            assert page.status["writing"]["durable_lag_s"] is not None
            pid = pid_of_page(recorder)
            recorder.signal(signal.SIGTERM)
            last_of(page)
            assert page.status["state"] == "read to its end"
            report = recorder.report()
            assert sum(page.rows.values()) == report["rows"] == sum(len(table) for table in tw.open(out).values())
        assert report["problems"] == []
        assert not is_alive(pid)


def test_the_page_has_the_energies_of_a_card_without_a_configuration(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the class of the page on digitizers, and the three lines of the page on runs."""
    (card,) = re.findall(r"^```python\n(# card.py\n.*?)^```", (repository / "docs/connect.md").read_text(), re.M | re.S)
    (features,) = re.findall(r"^```toml\n(\[features\].*?)^```", (repository / "docs/live.md").read_text(), re.M | re.S)
    (tmp_path / "card.py").write_text(card)
    (tmp_path / "energies.toml").write_text(features)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    words = ("--source", "card:Card", "--features", tmp_path / "energies.toml", "--set", "flush_interval=0.1s")
    with recording(tmp_path / "run.h5", *words, *PAGE) as recorder:
        with viewer(page_of(recorder)) as page:
            page.until(lambda: "ch0" in page.blocks("energies") and page.blocks("energies")["ch0"].sum() > 100)
            recorder.signal(signal.SIGTERM)
            last_of(page)
        recorder.report()


def test_a_page_that_is_killed_ends_no_recording_and_is_said(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    with recording(out, *LIST, *PAGE) as recorder:
        page_of(recorder)
        os.kill(pid_of_page(recorder), signal.SIGKILL)
        heard(recorder, "the page has ended by signal 9: the recording goes on without it")
        rows = sum(len(table) for table in tw.open(out).values())
        wait_for(lambda: sum(len(table) for table in tw.open(out).values()) > rows)
        recorder.signal(signal.SIGTERM)
        report = recorder.report()
    assert report["problems"] == []
    assert report["rows"] > rows


def test_a_page_that_cannot_begin_ends_no_recording_and_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with recording(tmp_path / "run.h5", *LIST, "--watch", port) as recorder:
            heard(recorder, rf"the page says: cannot listen on http://127\.0\.0\.1:{port}")
            heard(recorder, "the page has ended with code 1: the recording goes on without it")
            recorder.signal(signal.SIGTERM)
            assert recorder.report()["rows"] > 0


def test_a_signal_to_all_of_a_terminal_reaches_the_recording_and_not_the_page(tmp_path: Path) -> None:
    with recording(tmp_path / "run.h5", *LIST, *PAGE, process_group=0) as recorder:
        with viewer(page_of(recorder)) as page:
            os.killpg(recorder.process.pid, signal.SIGTERM)
            last_of(page)
            assert page.status["state"] == "read to its end"
        recorder.report()


def test_the_page_stays_if_the_recorder_is_killed_and_ends_when_the_run_is_recovered(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    with recording(out, *LIST, *PAGE) as recorder:
        with viewer(page_of(recorder)) as page:
            pid = pid_of_page(recorder)
            page.until(lambda: sum(page.rows.values()) > 100)
            workers = [worker for worker in recorder.workers() if worker != pid]
            recorder.process.kill()
            recorder.process.wait()
            wait_for(lambda: not any(map(is_alive, workers)))
            page.until(lambda: ("not written", "") in page.kinds())
            wait_for(lambda: recovers(out))
            last_of(page)
            assert sum(page.rows.values()) == sum(len(table) for table in tw.open(out).values())
        wait_for(lambda: not is_alive(pid))


def test_options_reach_the_page(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    options = ("--watch-option", f"token-file={token}", "--watch-option", "silence=1h")
    with recording(tmp_path / "run.h5", *LIST, *PAGE, *options) as recorder:
        server = page_of(recorder)
        assert server.get("/").status == 401
        assert server.get("/", {"Authorization": "Bearer secret"}).status == 200
        words = Path(f"/proc/{pid_of_page(recorder)}/cmdline").read_bytes().split(b"\0")
        assert b"--silence=1h" in words
        recorder.signal(signal.SIGTERM)
        recorder.report()


def test_the_page_has_only_idle_time(tmp_path: Path) -> None:
    with recording(tmp_path / "run.h5", *LIST, "--watch", "127.0.0.1:0") as recorder:
        pid = pid_of_page(recorder)
        wait_for(lambda: os.sched_getscheduler(pid) == os.SCHED_IDLE)
        assert os.sched_getscheduler(recorder.process.pid) == os.SCHED_OTHER
        os.kill(pid, signal.SIGKILL)  # on a full machine it would not come to its end
        recorder.signal(signal.SIGTERM)
        recorder.report()


def test_wrong_options_are_said_before_anything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "run.h5"
    for words, said in (
        (("--watch", "7782", "--watch-option", "listen=7"), r"--watch-option listen=7 is not known"),
        (("--watch", "7782", "--watch-option", "config"), r"--watch-option config is not known"),
        (("--watch-option", "config=a"), r"--watch is not given"),
        (("--watch", "here"), r"--watch"),
        ((*PAGE, "--watch-option", f"config={tmp_path}/none.toml"), r"--watch cannot be shown: .*none.toml"),
        ((*PAGE, "--watch-option", f"token-file={tmp_path}/none"), r"--watch cannot be shown: .*/none"),
        ((*PAGE, "--watch-option", "silence=soon"), r"--watch cannot be shown: .*'soon'"),
        ((*PAGE, "--watch-option", "priority=high"), r"--watch cannot be shown: .*'high'"),
        ((*PAGE, "--watch-option", "slices=1/7"), r"--watch cannot be shown: --slices 1/7 has no meaning"),
        (("--watch", "0.0.0.0:7782"), r"--watch cannot be shown: 0.0.0.0 is reached from other machines"),
    ):
        command = [THALWEG, "record", "--out", str(out), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 2
        assert re.search(said, done.stderr)
        assert list(tmp_path.iterdir()) == []


def test_all_options_of_a_page_can_be_given() -> None:
    names = {name.replace("_", "-") for name in inspect.signature(watch).parameters}
    assert set(WATCH_OPTIONS) == names - {"file", "listen", "end-with-run", "only-check"}


def test_watch_ends_with_the_run_if_it_is_asked_for(tmp_path: Path, thalweg_command: Any) -> None:
    with tw.create(tmp_path / "run.h5", {"a": {"x": tw.int32}}) as out:
        out.producer("a").append(x=range(3))
    words = ("--end-with-run", "--listen", "127.0.0.1:0", "--priority", "normal")
    done = thalweg_command("watch", tmp_path / "run.h5", *words)
    assert done.returncode == 0
    assert "until the run ends" in done.stderr


def test_the_options_are_kept_with_the_run(tmp_path: Path) -> None:
    with recording(tmp_path / "run.h5", *LIST, *PAGE) as recorder:
        recorder.signal(signal.SIGTERM)
        recorder.report()
    kept = json.loads(tw.open(tmp_path / "run.h5").metadata["configuration"])
    assert kept["watch"] == "127.0.0.1:0"
    assert kept["watch_option"] == ["priority=normal"]


@pytest.mark.parametrize(("program", "why"), [("kill -9 $$", "the check has ended by signal 9"), ("", "No such file")])
def test_a_check_of_options_that_has_no_result_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    interpreter = tmp_path / "python"
    if program:
        interpreter.write_text(f"#!/bin/sh\n{program}\n")
        interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    noted: list[str] = []
    CheckedOptions(["--listen", "127.0.0.1:0"], tmp_path / "run.h5", noted.append).wait()
    (said,) = noted
    assert said.startswith(f"the options of the page are not checked ({why}"), said
