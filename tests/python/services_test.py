"""The units for systemd: their command lines run, end by their signal, and go on after a kill."""

import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from recording import THALWEG, kill_with_workers, wait_for

import thalweg as tw

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
MOST_EXPOSED = 3.0  # of 10, as `systemd-analyze security` counts


def unit(name: str) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((UNITS / name).read_text())
    assert parser["Service"]["Restart"] == "always"
    assert parser["Service"]["RestartPreventExitStatus"] == "2"
    assert parser["Service"]["Type"] == "notify"  # tests/python/notify_test.py has what is sent
    assert int(parser["Service"]["WatchdogSec"]) >= 30
    return parser["Service"]


def command(name: str, folder: Path, instance: str = "") -> list[str]:
    """The words that systemd would run, with the folders of this test in the place of /etc and /data."""
    text = unit(name)["ExecStart"].replace("%i", instance).replace("%%", "%")
    text = text.replace("/usr/local/bin/thalweg", THALWEG).replace("/etc/thalweg", str(folder))
    return shlex.split(text.replace("/data", str(folder)).replace("--metrics 7790", "--metrics 0"))


@contextmanager
def running(words: list[str], folder: Path, until: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    said = folder / "journal"
    with said.open("a") as journal:
        process = subprocess.Popen(words, stdout=journal, stderr=journal, text=True)
    try:
        wait_for(lambda: until in said.read_text() or process.poll() is not None)
        assert process.poll() is None, said.read_text()
        yield process, said
    finally:
        process.kill()
        process.wait()


def end(process: subprocess.Popen[str], name: str) -> int:
    process.send_signal(signal.Signals[unit(name)["KillSignal"]])
    return process.wait(float(unit(name)["TimeoutStopSec"]))


def test_a_recorder_that_was_killed_goes_on_in_the_next_file(tmp_path: Path) -> None:
    (tmp_path / "record.toml").write_text('channels = 2\nsamples = 64\nrate = "1kHz"\n')
    words = [each.replace("1min", "100ms") for each in command("thalweg-record.service", tmp_path)]
    with running(words, tmp_path, "durable lag") as (process, said):
        kill_with_workers(process)
        said.unlink()
    with running(words, tmp_path, "durable lag") as (process, said):
        stamp = r"^20\d\d-\d\d-\d\dT[\d:]+Z "
        assert re.search(stamp + ".*run-00001.h5 of an earlier run is complete now", said.read_text(), re.MULTILINE)
        assert end(process, "thalweg-record.service") == 0
    assert sorted(each.name for each in tmp_path.glob("run*")) == ["run-00001.h5", "run-00002.h5"]
    for number in (1, 2):
        assert tw.verify(tmp_path / f"run-0000{number}.h5").is_sound


def test_a_handler_and_a_collector_wait_for_each_other(tmp_path: Path, thalweg_command) -> None:
    config = thalweg_command("readout", "serve", "--dump-config").stdout
    found = re.search(r'^name *= *"(\w+)"', config[config.index("[[handler]]") :], re.MULTILINE)
    name = found[1] if found else ""
    (tmp_path / "readout.toml").write_text(config.replace("felix0", f"services{os.getpid()}"))
    words = [each.replace("1min", "100ms") for each in command("thalweg-handler@.service", tmp_path, name)]
    with running(words, tmp_path, "waiting for the card") as (handler, _):
        assert end(handler, "thalweg-handler@.service") == 0


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.service")), ids=lambda path: path.name)
def test_its_options_exist(path: Path, thalweg_command) -> None:
    words = shlex.split(unit(path.name)["ExecStart"])
    words = shlex.split(words[-1].removeprefix("exec ")) if words[0] == "/bin/sh" else words
    names = words[1 : 2 + (words[1] == "readout")]
    known = thalweg_command(*names, "--help").stdout
    assert [word for word in words if word.startswith("--") and word not in known] == []


def analyze(*arguments: object) -> str:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run(
        ["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.service")), ids=lambda path: path.name)
def test_systemd_finds_nothing_wrong_and_little_exposed(path: Path, tmp_path: Path) -> None:
    text = path.read_text().replace("/usr/local/bin/thalweg", THALWEG)
    copy = tmp_path / path.name
    copy.write_text(text)
    assert analyze("verify", copy) == ""  # its exit code is 0 for an unknown key
    copy.write_text(text.replace("RestartSec=", "RestartSecs="))
    assert "RestartSecs" in analyze("verify", copy)
    exposed = re.search(r"exposure level for .*: ([\d.]+)", analyze("security", "--offline=yes", path))
    assert exposed
    assert float(exposed[1]) <= MOST_EXPOSED


def calls_of(group: str, groups: dict[str, list[str]]) -> set[str]:
    return {call for word in groups[group] for call in (calls_of(word, groups) if word.startswith("@") else {word})}


def test_a_recorder_makes_only_calls_that_its_unit_allows(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    groups: dict[str, list[str]] = {}
    for line in analyze("syscall-filter").splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("@"):
            group = groups.setdefault(word, [])
        elif word and groups:
            group.append(word)
    allowed = calls_of(unit("thalweg-record.service")["SystemCallFilter"], groups)
    assert {"write", "io_uring_enter"} <= allowed
    assert "mount" not in allowed
    words = [THALWEG, "record", "--records", "50", "--channels", "2", "--out", str(tmp_path / "run.h5")]
    subprocess.run(["strace", "-f", "-c", "-o", str(tmp_path / "calls"), *words], check=True, capture_output=True)
    rows = [line.split() for line in (tmp_path / "calls").read_text().splitlines()[2:]]
    made = {row[-1] for row in rows if len(row) >= 5 and row[-1].isidentifier()} - {"total"}
    assert "pwrite64" in made or "io_uring_enter" in made
    assert made - allowed == set()
