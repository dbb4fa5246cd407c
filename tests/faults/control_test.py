"""Tests which clients may control a handler, its answers to requests that make no sense, and where its token must never
appear."""

import http.client
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from readout_programs import THALWEG, Make, Program, Readout, wait_for

Answer = tuple[int, str]

TOKEN = "open-sesame-4711"
UNCOLLECTED = (0, 1)  # 1: a handler has built events that no collector took


class LocalConnection(http.client.HTTPConnection):
    """Speaks HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def ask(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, str]:
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except ConnectionError:
        return 0, ""
    finally:
        connection.close()


def over_tcp(readout: Readout) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", readout.port(1), timeout=60)


def held(readout: Readout) -> Program:
    """Makes a handler that waits to be started."""
    handler = readout.handler(0, "--hold", "--drain", "100ms")
    handler.wait_for("control: ")
    return handler


def started_card(readout: Readout) -> Program:
    card = readout.card()
    wait_for(Path(f"/dev/shm/thalweg-felix-{readout.card_name}-0").exists, "the card has its buffer")
    return card


def test_control_needs_the_token_and_a_name_of_this_machine(make: Make) -> None:
    readout = make(token=TOKEN, server='host_names = ["dh0.readout"]')
    handler = held(readout)
    right = {"Authorization": f"Bearer {TOKEN}"}
    for headers, status in [
        ({}, 401),
        ({"Authorization": "Bearer guess"}, 401),
        ({"Authorization": TOKEN}, 401),
        (right | {"Host": "rebound.example"}, 421),
        (right | {"Origin": "http://rebound.example"}, 403),
    ]:
        code, text = ask(over_tcp(readout), "POST", "/control/start", **headers)
        assert (code, TOKEN in text) == (status, False), text
    assert ask(over_tcp(readout), "GET", "/metrics", Host="rebound.example")[0] == 421
    assert ask(over_tcp(readout), "GET", "/metrics", Host="DH0.readout:80")[0] == 200
    assert ask(over_tcp(readout), "GET", "/readyz") == (503, "dh0 is configured: POST /control/start begins a run\n")
    card = started_card(readout)
    assert ask(over_tcp(readout), "POST", "/control/start", **right) == (200, "dh0 is running in run 1\n")
    handler.stop(*UNCOLLECTED)
    card.stop()


def test_a_network_that_is_not_allowed_gets_nothing(make: Make) -> None:
    readout = make(token=TOKEN, server='allow = ["10.0.0.0/8"]')
    handler = held(readout)
    for method, path in [("GET", "/metrics"), ("POST", "/control/start")]:
        code, text = ask(over_tcp(readout), method, path, Authorization=f"Bearer {TOKEN}")
        assert (code, "thalweg_" in text) in [(403, False), (0, False)]
    handler.stop(*UNCOLLECTED)


def test_what_makes_no_sense_is_answered_with_a_sentence(make: Make) -> None:
    readout = make(token=TOKEN)
    handler, card = held(readout), started_card(readout)

    def post(verb: str, body: bytes = b"") -> tuple[int, str]:
        return ask(over_tcp(readout), "POST", f"/control/{verb}", body, Authorization=f"Bearer {TOKEN}")

    for body in [
        b"0",
        b"-1",
        b"1.5",
        b"1e3",
        b"4294967296",
        b"9" * 4000,
        b"seven",
        b"\xc2\xb2",
        b"\xff",
        b"\0",
        b"1 2",
    ]:
        code, text = post("start", body)
        assert code == 400, (body, text)
        assert text.endswith("\n")
        assert len(text) < 200
        assert "Traceback" not in text
    assert post("start", b"9" * 5000)[0] == 413
    for verb in ["hurry", "Start", "", "start/1", "%73tart", "__init__", "a" * 100]:
        assert post(verb)[0] == 404
    assert post("resume")[0] == 409
    assert post("stop")[0] == 409
    assert post("start", b" 4294967295\r\n") == (200, "dh0 is running in run 4294967295\n")
    assert post("pause", b"5")[0] == 400
    assert post("start", b"7")[0] == 409
    assert post("stop")[0] == 200
    assert post("configure")[0] == 200
    code, text = post("start")
    assert code == 409, text
    assert "there is no run number after 4294967295" in text
    handler.stop(*UNCOLLECTED)
    card.stop()


def test_pages_answer_while_a_run_drains(make: Make) -> None:
    readout = make(token=TOKEN)
    handler = readout.handler(0, "--hold", "--drain", "60s")
    handler.wait_for("control: ")
    card = started_card(readout)
    assert readout.control("start") == 200
    wait_for(lambda: readout.metric("fragments_kept") > 0, "events wait for a collector")

    def stop() -> None:
        stopped.append(ask(over_tcp(readout), "POST", "/control/stop", Authorization=f"Bearer {TOKEN}"))

    stopped: list[Answer] = []
    stopping = threading.Thread(target=stop)
    stopping.start()
    draining = (503, "dh0 is stopped: collectors fetch the rest of run 1\n")
    wait_for(lambda: readout.ask("/readyz") == draining, "the run drains", seconds=30)
    for page in ["/healthz", "/metrics"]:
        begin_s = time.monotonic()
        assert readout.ask(page)[0] == 200
        assert time.monotonic() - begin_s < 10  # and not the 60 s of the drain
    assert not stopped
    later = threading.Thread(target=readout.control, args=("pause",))  # it waits, while the handler ends
    later.start()
    handler.terminate()
    readout.collector("rest.h5").end()
    stopping.join()
    assert stopped == [(200, "dh0 is stopped\n")]
    handler.end()
    later.join()
    card.stop()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (package prometheus)")
def test_promtool_finds_nothing_wrong_with_the_metrics(make: Make) -> None:
    readout = make(token=TOKEN)
    card = readout.card()
    handler = readout.handler()
    wait_for(lambda: readout.metric("fragments_kept") > 0, "events wait for a collector")
    metrics = readout.ask("/metrics")[1]
    checked = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    handler.stop(*UNCOLLECTED)
    card.stop()


def test_who_may_open_the_socket_may_control(make: Make) -> None:
    readout = make()
    socket_file = readout.folder / "dh0.sock"
    text = readout.config.read_text()
    readout.config.write_text(text.replace("metrics =", 'control_socket = "dh0.sock"\nmetrics ='))
    handler, card = held(readout), started_card(readout)
    assert stat.S_IMODE(socket_file.stat().st_mode) == 0o600
    assert ask(over_tcp(readout), "POST", "/control/start")[0] == 403
    assert ask(LocalConnection(socket_file), "POST", "/control/start") == (200, "dh0 is running in run 1\n")
    assert ask(LocalConnection(socket_file), "GET", "/healthz") == (200, "ok\n")
    handler.kill()
    assert socket_file.exists()
    handler = held(readout)
    assert ask(LocalConnection(socket_file), "POST", "/control/start")[0] == 200
    handler.stop(*UNCOLLECTED)
    assert not socket_file.exists()
    card.stop()


def test_a_handler_that_no_client_could_start_is_refused(make: Make) -> None:
    handler = make().handler(0, "--hold").end(2)
    assert "control_socket" in handler.said
    assert "token_file" in handler.said


def start_ignoring(readout: Readout, *words: object) -> Program:
    """Ignores SIGINT, as nohup does, and as shells do with what they start in the background."""
    trap = f"trap '' HUP INT; exec {THALWEG} \"$@\""
    return readout.start("-c", trap, "sh", *words, program="/bin/sh")


@pytest.mark.parametrize("command", ["emulate", "serve", "collect", "record"])
def test_signals_that_were_ignored_at_start_stay_ignored(make: Make, command: str) -> None:
    readout = make()
    words = {
        "emulate": ["readout", "emulate", "--name", readout.card_name, "--rate", "1kHz"],
        "serve": ["readout", "serve", "--config", readout.config, "--handler", "dh0"],
        "collect": ["readout", *readout.collect(readout.folder / "x.h5")[1:]],
        "record": ["record", "--out", readout.folder / "x.h5", "--rate", "1MB/s", "--duration", "300s"],
    }[command]
    program = start_ignoring(readout, *words)
    status = Path(f"/proc/{program.process.pid}/status")

    def is_listening() -> bool:
        assert not program.has_ended, program.said
        masks = dict(line.split(":\t") for line in status.read_text().splitlines() if line.startswith("Sig"))
        return bool(int(masks["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1)

    wait_for(is_listening, "it listens to signals")
    for number in (signal.SIGHUP, signal.SIGINT):
        program.process.send_signal(number)
    ignored = int(dict(line.split(":\t") for line in status.read_text().splitlines() if "SigIgn" in line)["SigIgn"], 16)
    assert ignored >> (signal.SIGHUP - 1) & 1
    assert ignored >> (signal.SIGINT - 1) & 1
    assert not program.has_ended
    assert "stopp" not in program.said
    program.stop(*UNCOLLECTED)


FIRST_PROCESS = """
import os, signal, sys, time
sys.argv[0] = "thalweg"
import thalweg._base.signals
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(5)
"""


def test_the_first_process_of_a_container_ends_on_sigterm_also_while_it_begins() -> None:
    """The kernel drops the signal if such a process does not handle it."""
    unshare = ["unshare", "--pid", "--fork", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("this user may not make a pid namespace here")
    words = [*unshare, sys.executable, "-c", FIRST_PROCESS]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")


def test_the_token_never_leaves_the_configuration(make: Make) -> None:
    readout = make(token=TOKEN)
    readout.config.write_text(f"# the old one was {TOKEN} # '{TOKEN}'\n" + readout.config.read_text())
    card = readout.card()
    handler = readout.handler()
    path = readout.folder / "run.h5"
    collector = readout.collector("run.h5", "--events", 2000)
    for program in (handler, collector):
        process = Path(f"/proc/{program.process.pid}")
        assert TOKEN not in (process / "cmdline").read_text() + (process / "environ").read_text()
    # One message clears all of these events on a slow machine, perhaps before this test looks.
    wait_for(lambda: readout.metric("requests_total", '"clear"') > 0, "a range is safe", 120)
    pages = [readout.ask(page)[1] for page in ("/metrics", "/healthz", "/readyz", "/nothing")]
    collector.end()
    handler.stop(*UNCOLLECTED)
    card.stop()
    shown = [readout.start("inspect", *options, path).end() for options in ([], ["--json"])]
    assert TOKEN.encode() not in path.read_bytes()
    assert "expected_rate" in str(shown[1].answer)
    said = [program.said + program._out.read_text() for program in (card, handler, collector, *shown)]
    assert not [text for text in [*pages, *said] if TOKEN in text]
    wrong = f'[server]\ntoken = ["{TOKEN}"]\n[[handler]]\n'
    readout.config.write_text(wrong)
    refused = [readout.handler().end(2), readout.collector("two.h5").end(2)]
    assert not [program.said for program in refused if TOKEN in program.said or "token" not in program.said]
