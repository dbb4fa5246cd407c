"""Devices that are classes in Python: whatever happens to their processes, all rows that they gave are in one file."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recording import THALWEG, is_alive, record, recording, wait_for

import thalweg as tw

CARD, SILENT = "device_stand_ins:Card", "device_stand_ins:Silent"
FAULTS = ("raise", "lost", "exit", "segfault", "hang", "hold", "fork", "absent", "overflow")


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def events_of(path: Path, *, kinds: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The rows of device_events; a value that is missing is None."""
    rows = tw.open(path)["device_events"]
    found = [{name: _plain(value) for name, value in rows[row].items()} for row in range(len(rows))]
    return [row for row in found if not kinds or row["event"] in kinds]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return int(value[0]) if len(value) else None
    return value if isinstance(value, str) else int(value)


def line_of(text: str) -> int:
    """The number of the line of the stand-ins that has this text."""
    lines = Path(__file__).with_name("device_stand_ins.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_every_row_is_in_one_file_whatever_happens_to_the_device(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    settings = ("--setting", f"notes={notes}", "--setting", f"faults={','.join(FAULTS)}")
    report = record(tmp_path / "run.h5", "--source", CARD, *settings, "--device-deadline", "2s", code=1)
    run = tw.open(tmp_path / "run.h5")
    rows = run["ch0"].read(["timestamp", "number"])
    assert rows["number"].tolist() == list(range(50 * (len(FAULTS) + 1)))
    assert int((notes / "handed").read_text()) == len(run["ch0"]) == report["rows"]
    assert not is_alive(int((notes / "forked").read_text()))
    steps = np.diff(rows["timestamp"].astype(np.int64))
    assert steps.min() > 0

    lost = events_of(tmp_path / "run.h5", kinds=("lost",))
    said = [row["text"] for row in lost]
    assert said == [
        f"KeyError: 'a fault of the plug-in', at device_stand_ins.py:{line_of('KeyError')}",
        "the cable is out",
        "it ended with code 3 and no report (a library speaks)",
        "it was killed by SIGSEGV",
        "it did not return from next within 2.1 s",
        "it did not return from next within 2.1 s",
        "it ended with code 4 and no report (a library speaks)",
        "the power is off",
    ]
    for text in said:
        assert any(text in problem and "it is opened again" in problem for problem in report["problems"])
    assert len(report["problems"]) == len(set(said))  # a cause that comes again is counted
    again = next(problem for problem in report["problems"] if "did not return from next" in problem)
    assert again == f"{CARD} was lost 2 times (it did not return from next within 2.1 s): it is opened again"
    # Dead time is the card's: what it did not see is what lies between the records.
    again = [row for row in events_of(tmp_path / "run.h5") if row["until"] is not None]
    assert [row["event"] for row in again] == ["reopened"] * 8 + ["started"]
    stamps = rows["timestamp"].astype(np.int64).tolist()
    for row in again:
        place = stamps.index(row["until"])
        assert row["from"] == stamps[place - 1]
        assert row["offset"] == row["until"]  # its clock began at 0
        assert 0 < row["uncertainty"] < 1_000_000_000
    channel = report["channels"]["ch0"]
    assert channel["dead_time_ns"] == sum(row["until"] - row["from"] for row in again)
    assert channel["dead_time_ns"] > 2 * 2_000_000_000  # two calls that hung
    assert 0 < channel["live_time_ns"] <= stamps[-1] - stamps[0] - channel["dead_time_ns"]
    (overflow,) = events_of(tmp_path / "run.h5", kinds=("overflow",))
    assert (overflow["lost_triggers"], overflow["text"]) == (7, "4 GB are full")
    # What the card counts begins again with each start of it; what a process has not shown before it dies is lost.
    assert channel["triggers"] <= len(stamps)
    assert (channel["overflows"], channel["resets"]) == (1, 9)
    assert run.metadata["clock_domain"] == "ns since the start of the card"
    assert json.loads(run.metadata["source_settings"])["period_ns"] == 1_000_000
    assert json.loads(run.metadata["counters"])["ch0"]["resets"] == 9


def test_a_device_that_is_killed_is_seen_in_the_metrics(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    options = ("--source", CARD, "--setting", f"notes={tmp_path / 'notes'}", "--setting", "each=1000000")
    with recording(tmp_path / "run.root", *options, "--metrics", "0") as recorder:
        (url,) = re.findall(r"http://[0-9.:]+/metrics", recorder.said)

        def metric(name: str) -> float:
            said = urllib.request.urlopen(url, timeout=10).read().decode()
            found = re.findall(f'^thalweg_{name}{{channel="ch0"}} (.*)', said, re.MULTILINE)
            return float(found[0]) if found else 0.0

        wait_for(lambda: metric("triggers_total") > 100)
        os.kill(recorder.workers()[0], signal.SIGKILL)
        wait_for(lambda: metric("device_resets_total") == 2)
        before = metric("triggers_total")
        wait_for(lambda: metric("triggers_total") > before > 100)
        assert metric("dead_time_seconds_total") > 0
        recorder.signal(signal.SIGINT)
        report = recorder.report(code=1)
    assert report["ended_by"] == "signal"
    (problem,) = report["problems"]
    assert "is lost (it was killed by SIGKILL): it is opened again" in problem
    rows = tw.open(tmp_path / "run.root")["ch0"].read(["number"])["number"]
    steps = np.diff(rows.astype(np.int64))  # what was handed out, and not appended before the kill, is not there
    assert rows[0] == 0
    assert np.count_nonzero(steps != 1) <= 1
    assert steps.min() == 1


@pytest.mark.parametrize("loss", ["end", "continue"])
def test_what_a_lost_device_means_can_be_said(tmp_path: Path, loss: str) -> None:
    table = {"source": CARD, "name": "left", "notes": str(tmp_path), "faults": "lost", "each": 20, "on-loss": loss}
    digitizer = {"source": "digitizer", "name": "right", "samples": 64, "channels": 2, "records": 3_000, "rate": "1kHz"}
    (tmp_path / "run.toml").write_text(f"device = [{json.dumps(json.dumps(table))}]\n")
    other = ("--device", json.dumps(table), "--device", json.dumps(digitizer))
    report = record(tmp_path / "run.h5", *other, code=1)
    run = tw.open(tmp_path / "run.h5")
    assert list(run) == ["left_ch0", "right_ch0", "right_ch1", "device_events"]
    assert len(run["left_ch0"]) == 20
    assert report["ended_by"] == ("failure" if loss == "end" else "source")
    assert (len(run["right_ch0"]) == 3000) is (loss == "continue")
    (problem,) = report["problems"]
    ends = {"end": ": the run ends", "continue": ": the run goes on without it"}
    assert problem == "left is lost (the cable is out)" + ends[loss]
    assert [row["event"] for row in events_of(tmp_path / "run.h5")] == ["opened", "started", "lost"]
    assert json.loads(run.metadata["source_settings"])["left"]["period_ns"] == 1_000_000


def test_devices_of_a_file_are_opened_once_each_and_pause_together(tmp_path: Path) -> None:
    tables = ""
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        tables += f'[[device]]\nsource = "{CARD}"\nname = "{name}"\nnotes = "{tmp_path / name}"\neach = 1000000\n'
    (tmp_path / "run.toml").write_text('duration = "60s"\n' + tables)
    with recording(tmp_path / "run.h5", "--config", tmp_path / "run.toml") as recorder:
        assert len(recorder.workers()) == 2
        recorder.signal(signal.SIGUSR1)
        handed = [tmp_path / name / "handed" for name in ("left", "right")]
        wait_for(lambda: _stands_still(handed))
        recorder.signal(signal.SIGUSR2)
        before = handed[0].read_text()
        wait_for(lambda: handed[0].read_text() != before)
        recorder.signal(signal.SIGINT)
        report = recorder.report()
    assert report["channels"].keys() == {"left_ch0", "right_ch0"}
    for name in ("left", "right"):
        rows = tw.open(tmp_path / "run.h5")[f"{name}_ch0"].read(["number"])["number"]
        assert rows.tolist() == list(range(int((tmp_path / name / "handed").read_text())))


def _stands_still(paths: list[Path]) -> bool:
    before = [path.read_text() for path in paths]
    time.sleep(0.5)
    return before == [path.read_text() for path in paths]


def test_a_silent_device_does_not_hold_up_the_next_file(tmp_path: Path) -> None:
    options = ("--source", SILENT, "--max-file-time", "300ms", "--duration", "2s")
    report = record(tmp_path / "run.h5", *options)
    assert len(report["files"]) >= 3
    assert report["rows"] == 1


def test_counters_of_a_lost_device_stay_in_later_files(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    settings = ("--setting", f"notes={tmp_path / 'notes'}", "--setting", "faults=lost,exit,overflow,exit")
    options = ("--max-file-time", "150ms", "--setting", "each=300")
    report = record(tmp_path / "run.h5", "--source", CARD, *settings, *options, code=1)
    assert len(report["files"]) >= 4
    assert report["rows"] == 1500
    assert 800 < report["triggers"] <= 1500  # every fault costs what was counted last
    assert report["channels"]["ch0"]["resets"] == 4
    paths = [file["path"] for file in report["files"]]
    numbers = np.concatenate([tw.open(path)["ch0"].read(["number"])["number"] for path in paths])
    assert numbers.tolist() == list(range(1500))
    assert sum(len(tw.open(path)["device_events"]) for path in paths) == 2 + 3 * 2 + 2 + 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((CARD, "--setting", "nots=/tmp"), "device_stand_ins:Card has no setting 'nots' (did you mean 'notes'?)"),
        ((CARD,), "device_stand_ins:Card needs the setting 'notes': give it"),
        (
            ("digitiser",),
            "there is no source 'digitiser' (did you mean 'digitizer'?); a class of yours is module:Class",
        ),
        (("device_stand_ins:Crad",), "source device_stand_ins:Crad cannot be loaded (module 'device_stand_ins'"),
        ((CARD, "--channels", "3"), "--channels cannot be given with --source device_stand_ins:Card (only with"),
        (
            (SILENT, "--setting", "hangs_in=describe", "--device-deadline", "1s"),
            "(it did not return from describe within",
        ),
    ],
)
def test_what_is_wrong_is_said_before_there_is_a_file(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--source", *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.returncode == (1 if "hangs_in" in str(options) else 2)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("wrong", "said"), [("dtype", "table 'ch0', column 'number'"), ("table", "next returned rows of table 'ch1'")]
)
def test_rows_that_do_not_fit_end_the_run(tmp_path: Path, wrong: str, said: str) -> None:
    report = record(tmp_path / "run.h5", "--source", SILENT, "--setting", f"wrong={wrong}", code=1)
    problem, again = report["problems"]
    assert said in problem
    assert again == "nothing was recorded: record again with --force or another --out"
    assert report["ended_by"] == "failure"
    assert report["files"][0]["complete"]


def test_each_node_has_devices_of_its_own(tmp_path: Path) -> None:
    running = []
    for node in (1, 2):
        (tmp_path / f"notes{node}").mkdir()
        words = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), "--nodes", "2", "--node", str(node), "--json"]
        faults = ("overflow", "exit")[node - 1]
        settings = (f"notes={tmp_path / f'notes{node}'}", f"each={100 * node}", f"faults={faults}")
        words += ["--quiet", "--source", CARD, *(word for each in settings for word in ("--setting", each))]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for process, code in zip(running, (0, 1), strict=True):
        _, err = process.communicate(timeout=120)
        assert process.returncode == code, err
    run = tw.open(tmp_path / "run.h5")
    assert list(run) == ["node1_ch0", "node1_device_events", "node2_ch0", "node2_device_events"]
    for node in (1, 2):
        assert run[f"node{node}_ch0"].read(["number"])["number"].tolist() == list(range(200 * node))
    events = run["node2_device_events"].read(["event"])["event"].tolist()
    assert events == ["opened", "started", "lost", "reopened", "stopped"]


def test_a_package_gives_its_class_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, thalweg_command) -> None:
    package = tmp_path / "packages" / "mycard-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mycard\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[thalweg.sources]\nmycard = {CARD}\n")
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}{os.pathsep}{Path(__file__).parent}")
    assert json.loads(thalweg_command("devices", "--json").stdout)["plug_ins"] == ["mycard"]
    report = record(tmp_path / "run.h5", "--source", "mycard", "--setting", f"notes={tmp_path}")
    assert report["rows"] == 50
    assert tw.open(tmp_path / "run.h5").metadata["source"] == "mycard"
    wrong = thalweg_command("record", "--out", tmp_path / "other.h5", "--source", "mycrad")
    assert "there is no source 'mycrad' (did you mean 'mycard'?)" in wrong.stderr


def test_a_device_that_is_opened_again_holds_up_neither_files_nor_an_interrupt(tmp_path: Path) -> None:
    settings = (f"notes={tmp_path}", "faults=lost", "reopening=3600")
    words = ["--source", CARD, *(word for each in settings for word in ("--setting", each)), "--max-file-time", "300ms"]
    with recording(tmp_path / "run.h5", *words) as recorder:
        wait_for((tmp_path / "opening").exists)
        before = len(list(tmp_path.glob("run-*.h5")))
        wait_for(lambda: len(list(tmp_path.glob("run-*.h5"))) > before + 1)
        recorder.signal(signal.SIGINT)
        begin_s = time.monotonic()
        report = recorder.report(code=1)
    assert time.monotonic() - begin_s < 30  # it may take 60 s to open
    assert report["problems"][-1] == f"{CARD} was lost, and not open again when the run ended"
    assert report["rows"] == 50
    assert all(file["complete"] for file in report["files"])


def test_a_pause_while_a_device_is_opened_again(tmp_path: Path) -> None:
    settings = (f"notes={tmp_path}", "faults=lost,lost", "reopening=1", "each=400")
    words = ["--source", CARD, *(word for each in settings for word in ("--setting", each)), "--max-file-time", "400ms"]
    with recording(tmp_path / "run.h5", *words) as recorder:
        wait_for((tmp_path / "opening").exists)
        recorder.signal(signal.SIGUSR1)
        time.sleep(0.2)  # it is said 20 times a second
        recorder.signal(signal.SIGUSR2)
        report = recorder.report(code=1)
    assert (report["ended_by"], report["rows"]) == ("source", 1200)


def test_cards_on_a_common_clock_agree_to_one_sample(tmp_path: Path) -> None:
    cards = {"left": 0, "right": 7_000_000_000_123}
    devices = [{"source": "device_stand_ins:Marked", "name": name, "phase": phase} for name, phase in cards.items()]
    record(tmp_path / "run.h5", *(word for each in devices for word in ("--device", json.dumps(each))))
    run = tw.open(tmp_path / "run.h5")
    for name, phase in cards.items():
        stamps = run[f"{name}_ch0"].read(["timestamp"])["timestamp"].tolist()
        assert stamps == [*range(-500, 500, 100), *range(49_500, 49_800, 100)]
        first, again = [row for row in events_of(tmp_path / "run.h5", kinds=("started",)) if row["device"] == name]
        assert first["offset"] == again["offset"] == -phase - 500
        assert first["uncertainty"] == again["uncertainty"] == 0


def test_what_a_device_with_a_name_has_counted_goes_on_in_the_next_file(tmp_path: Path) -> None:
    device = {"source": CARD, "name": "left", "notes": str(tmp_path), "faults": "lost,lost,lost", "each": 200}
    report = record(tmp_path / "run.h5", "--device", json.dumps(device), "--max-file-time", "200ms", code=1)
    assert len(report["files"]) > 3
    events = [event for file in report["files"] for event in events_of(Path(file["path"]), kinds=("reopened",))]
    counted = report["channels"]["left_ch0"]
    assert len(events) == 3
    assert counted["dead_time_ns"] == sum(event["until"] - event["from"] for event in events)
    assert counted["resets"] == 4
