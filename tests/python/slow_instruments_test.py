"""EPICS, VISA and MQTT with the libraries that users have, against a soft IOC, a simulated instrument and a broker."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import paho.mqtt.publish
import pytest
from raw_rows import free_port
from recording import recording, wait_for
from slow_test import changes_of, table

import thalweg as tw

HERE, IOC, BROKER = Path(__file__).parent, "slow_ioc.py", "slow_broker.py"
LAKE = """\
spec: "1.0"
devices:
  lake:
    eom:
      ASRL INSTR: {q: "\\r\\n", r: "\\n"}
    dialogues:
      - {q: "FLOW?", r: "none"}
    properties:
      temperature:
        default: 77.35
        getter: {q: "KRDG? A", r: "+{:.2f}"}
        specs: {type: float}
resources:
  ASRL1::INSTR: {device: lake}
"""


@contextlib.contextmanager
def program(name: str, argument: object) -> Iterator[subprocess.Popen[str]]:
    """Begins one, and returns when clients can connect to it."""
    words = [sys.executable, str(HERE / name), str(argument)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = ""
        while "ready" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        yield process
    finally:
        process.kill()
        process.communicate()


def seen(path: Path, name: str) -> list[float | None]:
    """The values that a reader of the run sees so far, each once while it stays the same."""
    return changes_of(tw.open(path)[name].read(["value"])["value"])


def test_a_variable_of_epics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPICS_CA_SERVER_PORT", str(free_port(socket.SOCK_DGRAM)))
    monkeypatch.setenv("EPICS_CAS_INTF_ADDR_LIST", "127.0.0.1")
    path = tmp_path / "run.root"
    channels = {"temperature": "LAB:TEMP", "field": "LAB:FIELD"}
    device = table("epics", every="change", address="127.0.0.1", channels=channels)
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(program(IOC, "LAB:"))
        recorder = stack.enter_context(recording(path, *device, "--flush-interval", "50ms"))
        wait_for(lambda: len(seen(path, "temperature")) > 5)
        first.kill()
        wait_for(lambda: seen(path, "temperature")[-1] is None and seen(path, "field")[-1] is None)
        stack.enter_context(program(IOC, "LAB:"))
        wait_for(lambda: len(seen(path, "temperature")) - seen(path, "temperature").index(None) > 5)
        recorder.signal(signal.SIGINT)
        report = recorder.report(code=0)
    assert report["problems"] == []
    run = tw.open(path)
    assert [run.schema[name]["value"].unit for name in channels] == ["K", "T"]
    assert seen(path, "field") == [1.5, None, 1.5]
    rows = run["temperature"].read()
    is_gap = np.isnan(rows["value"])
    assert np.array_equal(rows["severity"][is_gap], [3])
    assert np.array_equal(rows["severity"][~is_gap], 1 - rows["value"][~is_gap] % 2)
    before = rows["value"][: np.flatnonzero(is_gap)[0]]
    assert np.all(np.diff(before) == 1)  # every change is a row


def test_an_instrument_over_visa(tmp_path: Path) -> None:
    (tmp_path / "lake.yaml").write_text(LAKE)
    visa = {"resource": "ASRL1::INSTR", "library": f"{tmp_path / 'lake.yaml'}@sim", "write_termination": "\r\n"}
    channels = {"lake": {"query": "KRDG? A", "unit": "K"}}
    path = tmp_path / "run.h5"
    devices = table("visa", every="20ms", channels=channels, **visa)
    with recording(path, *devices) as recorder:
        wait_for(lambda: len(tw.open(path)["lake"]) > 20)
        recorder.signal(signal.SIGINT)
        report = recorder.report(code=0)
    assert report["problems"] == []
    run = tw.open(path)
    assert run.schema["lake"]["value"].unit == "K"
    assert seen(path, "lake") == [77.35]
    assert json.loads(run.metadata["source_settings"])["resource"] == "ASRL1::INSTR"


def test_an_answer_that_is_no_number_is_a_gap(tmp_path: Path) -> None:
    from thalweg._instruments.visa import Visa
    from thalweg.sources import DeviceLost

    (tmp_path / "lake.yaml").write_text(LAKE)
    library = f"{tmp_path / 'lake.yaml'}@sim"
    lake = Visa("ASRL1::INSTR", {"flow": {"query": "FLOW?"}}, library=library, write_termination="\r\n")
    with contextlib.closing(lake), pytest.raises(DeviceLost, match="answer to FLOW\\? is 'none', which is no number"):
        lake.read()


def test_topics_of_mqtt(tmp_path: Path) -> None:
    port = free_port(socket.SOCK_STREAM)
    path = tmp_path / "run.root"
    channels = {
        "room": {"topic": "lab/room", "unit": "°C"},
        "humidity": {"topic": "lab/air", "unit": "%", "key": "humidity"},
        "absent": {"topic": "lab/nothing"},
    }
    device = table("mqtt", every="change", broker=f"127.0.0.1:{port}", channels=channels)

    def published(topic: str, payload: str) -> None:
        paho.mqtt.publish.single(topic, payload, hostname="127.0.0.1", port=port)

    def shows(name: str, values: list[float | None]) -> None:
        wait_for(lambda: seen(path, name) == values)

    with contextlib.ExitStack() as stack:
        first = stack.enter_context(program(BROKER, port))
        recorder = stack.enter_context(recording(path, *device, "--flush-interval", "50ms"))
        shows("absent", [None])
        published("lab/room", "21.5")
        published("lab/air", json.dumps({"humidity": 40, "pressure": 1013}))
        shows("room", [None, 21.5])
        shows("humidity", [None, 40])
        published("lab/air", "wet")
        shows("humidity", [None, 40, None])
        published("lab/air", json.dumps({"humidity": 41}))
        shows("humidity", [None, 40, None, 41])
        first.kill()
        shows("humidity", [None, 40, None, 41, None])
        stack.enter_context(program(BROKER, port))

        def back() -> bool:  # the client connects again by itself
            published("lab/room", "22")
            return seen(path, "room")[-1] == 22

        wait_for(back)
        recorder.signal(signal.SIGINT)
        report = recorder.report(code=0)
    assert report["problems"] == []
    assert seen(path, "room") == [None, 21.5, None, 22]
    assert tw.open(path).schema["room"]["value"].unit == "°C"


def test_a_topic_that_falls_silent_is_a_gap() -> None:
    from thalweg._instruments.mqtt import Mqtt

    port = free_port(socket.SOCK_STREAM)
    with (
        program(BROKER, port),
        contextlib.closing(Mqtt(f"127.0.0.1:{port}", {"a": {"topic": "a"}}, stale=0.05)) as client,
    ):
        paho.mqtt.publish.single("a", "1", hostname="127.0.0.1", port=port)
        found: list[Any] = []
        wait_for(lambda: bool(found.extend(client.changes(0.02)) or len(found) > 1))
    assert [(name, value and value.value) for name, value in found] == [("a", 1), ("a", None)]


@pytest.mark.parametrize(
    ("source", "settings", "what"),
    [
        ("visa", {"resource": "ASRL1::INSTR", "channels": {"a": {"qeury": "X"}}}, "did you mean 'query'?"),
        ("mqtt", {"broker": "127.0.0.1", "channels": {"a": {"unit": "K"}}}, "channel 'a' has no topic"),
        ("mqtt", {"broker": "127.0.0.1:1", "channels": {"a": {"topic": "a"}}}, "mqtt cannot be opened (Connection"),
    ],
)
def test_wrong_settings_begin_no_run(
    tmp_path: Path, thalweg_command: Any, source: str, settings: dict[str, Any], what: str
) -> None:
    done = thalweg_command("record", "--out", tmp_path / "run.h5", *table(source, **settings))
    assert done.returncode != 0
    assert what in done.stderr
    assert not (tmp_path / "run.h5").exists()


def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from thalweg._base.errors import UsageError
    from thalweg._instruments.epics import Epics
    from thalweg._instruments.mqtt import Mqtt
    from thalweg._instruments.visa import Visa

    for module in ("caproto", "caproto.threading", "paho", "paho.mqtt", "pyvisa"):
        monkeypatch.setitem(sys.modules, module, None)
    makers = {
        "epics": lambda: Epics({"a": "A"}),
        "mqtt": lambda: Mqtt("host", {"a": {"topic": "a"}}),
        "visa": lambda: Visa("ASRL1::INSTR", {"a": {"query": "?"}}),
    }
    for extra, make in makers.items():
        with pytest.raises(UsageError, match=rf"is not installed\): pip install 'thalweg\[{extra}\]'"):
            make()
