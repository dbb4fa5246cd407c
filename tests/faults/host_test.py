"""`thalweg readout host` with real handlers: how it starts, restarts, gives up and ends them."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import needed
import pytest
from hosts import PATIENCE_S, Host, MakeHost, facts_of
from prometheus_client.parser import text_string_to_metric_families
from readout_programs import Program, wait_for

LIMIT_FILES = ("memory.limit_in_bytes", "memory.max")
DISCARDS = 1  # the exit code of a handler that had events for which no collector came


def ended(host: Host, supervisor: Program, *codes: int) -> None:
    supervisor.end(*codes, seconds=PATIENCE_S)
    assert host.processes() == []


def test_all_handlers_run_and_a_signal_drains_them(make_host: MakeHost) -> None:
    host = make_host()
    supervisor = host.supervisor()
    cards = [host.card(number) for number in range(2)]
    collectors = [host.collector(number) for number in range(2)]
    host.wait_until_up(0, 1)
    for number in range(2):
        host.wait_for_progress(number)
    for card in cards:
        card.stop()
    supervisor.terminate()
    for number in range(2):
        host.expect_nothing_lost(number, collectors[number])
    ended(host, supervisor)
    for number in range(2):
        facts = facts_of(supervisor, number)
        assert (facts["starts"], facts["given_up"], len(facts["runs"])) == (1, False, 1)
        assert [(it["code"], it["asked"]) for it in facts["endings"]] == [(0, True)]
        assert facts["runs"][0]["balances"]
        assert facts["runs"][0]["lost"] == 0


def test_one_page_has_the_metrics_of_all(make_host: MakeHost) -> None:
    host = make_host()
    host.supervisor()
    host.wait_until_up(0, 1)
    status, text = host.ask("/metrics")
    assert status == 200
    found = {family.name: family.samples for family in text_string_to_metric_families(text)}
    for name in ("thalweg_readout_state", "thalweg_host_handler_up", "thalweg_host_handler_starts"):
        assert {sample.labels["handler"] for sample in found[name]} == {"dh0", "dh1"}, name
    words = [needed.program("promtool", why=": install Debian's package prometheus"), "check", "metrics"]
    judged = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert (judged.returncode, judged.stdout + judged.stderr) == (0, "")
    assert host.ask("/healthz") == (200, "ok\n")
    # There are no cards, which a handler knows once it has looked for its own.
    wait_for(lambda: host.ask("/readyz")[1].count(" has no card (") == 2, "both have looked", PATIENCE_S)
    status, why = host.ask("/readyz")
    assert (status, why.count("\n")) == (503, 2), why
    for line, number in zip(why.splitlines(), range(2), strict=True):
        assert f"to begin a run: handler dh{number} has no card (" in line
        assert host.card_name(number) in line
    assert host.ask("/none")[0] == 404


def test_each_handler_is_in_the_groups_that_were_granted(make_host: MakeHost) -> None:
    """The kernel says in which groups a process is, and what their limits are."""
    host = make_host()
    supervisor = host.supervisor("--memory", "700MiB", "--drain", "100ms")
    host.wait_until_up(0, 1)
    granted = [name for name in ("cpuset", "memory") if host.metric("host_handler_granted", 0, f'"{name}"') == 1]
    if not granted:
        assert "dh0 has no control group for memory (" in supervisor.said
        pytest.skip(next(line for line in supervisor.said.splitlines() if "no control group" in line))
    places = [groups_of(host.process(number)) for number in range(2)]
    assert all(places[0][name] != places[1][name] for name in granted), places
    if "memory" in granted:
        limits = [(folder / name) for folder in (at["memory"] for at in places) for name in LIMIT_FILES]
        assert [int(each.read_text()) for each in limits if each.exists()] == [700 << 20] * 2
    supervisor.terminate()
    ended(host, supervisor)
    assert not any(folder.exists() for at in places for name, folder in at.items() if name in granted)


def groups_of(process: int) -> dict[str, Path]:
    """Returns the folder of the group of each controller."""
    found = {}
    for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for mount in Path("/proc/self/mountinfo").read_text().splitlines():
            fields, options = mount.split(), mount.rsplit(" ", 1)[1].split(",")
            is_of_1 = controllers != "" and set(controllers.split(",")) <= set(options) and " - cgroup " in mount
            if is_of_1 or (controllers == "" and " - cgroup2 " in mount):
                names = controllers.split(",") if controllers else ["cpuset", "memory"]
                for name in names:
                    found.setdefault(name, Path(fields[4]) / path.removeprefix(fields[3]).lstrip("/"))
    return found


def test_control_is_passed_on(make_host: MakeHost) -> None:
    host = make_host()
    cards = [host.card(number) for number in range(2)]
    supervisor = host.supervisor("--hold", "--drain", "100ms")
    host.wait_until_up(0, 1)
    for number in range(2):
        wait_for(Path(f"/dev/shm/thalweg-felix-{host.card_name(number)}-0").exists, "the card has its buffer")
    assert host.control(1, "pause")[0] == 409
    wait_for(lambda: host.control(1, "start") == (200, "dh1 is running in run 1\n"), "dh1 is started")
    wait_for(lambda: host.metric("readout_state", 1) == 2, "dh1 runs")
    assert host.metric("readout_state", 0) == 1
    assert host.control(7, "start")[0] == 404
    assert host.control(0, "st4rt")[0] == 404
    assert host.ask("/control/dh0/start")[0] == 405
    for card in cards:
        card.stop()
    supervisor.stop(0, DISCARDS)
    ended(host, supervisor, 0, DISCARDS)


def test_without_a_token_there_is_no_control_over_tcp(make_host: MakeHost) -> None:
    host = make_host()
    host.supervisor()
    host.wait_until_up(0)
    with socket.create_connection(("127.0.0.1", host.metrics_port), timeout=120) as client:
        client.sendall(b"POST /control/dh0/start HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        assert b" 403 " in client.recv(4096)
    with socket.create_connection(("127.0.0.1", host.metrics_port), timeout=120) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: rebound.example\r\n\r\n")
        assert b" 421 " in client.recv(4096)


def test_a_killed_handler_comes_back_in_its_run(make_host: MakeHost) -> None:
    host = make_host()
    supervisor = host.supervisor("--hold")
    cards = [host.card(number) for number in range(2)]
    collectors = [host.collector(number) for number in range(2)]
    host.wait_until_up(0, 1)
    for number in range(2):
        path = f"/control/dh{number}/start"
        wait_for(lambda p=path: host.ask(p, "POST")[0] in (200, 409), "it is started", PATIENCE_S)
        host.wait_for_progress(number, 1000)
    first = host.process(1)
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: host.metric("host_handler_starts_total", 1) == 2, "it is started again", PATIENCE_S)
    host.wait_until_up(0, 1)
    assert host.process(1) != first
    host.wait_for_progress(1)  # no request for control was sent to the new process
    host.wait_for_progress(0)
    assert host.metric("host_handler_failures_total", 1, 'why="signal"') == 1
    for card in cards:
        card.stop()
    supervisor.terminate()
    host.expect_nothing_lost(0, collectors[0])
    ended(host, supervisor, 1)
    assert "dh1: it was ended by SIGKILL; it is started again in 0.1 s" in supervisor.said
    codes = [(it["code"], it["asked"]) for it in facts_of(supervisor, 1)["endings"]]
    assert codes == [(-9, False), (0, True)]


def test_a_handler_that_cannot_run_is_given_up_and_the_others_go_on(make_host: MakeHost) -> None:
    host = make_host()
    with socket.create_server(("127.0.0.1", host.ports[1])):
        supervisor = host.supervisor("--failures", "3")
        card, collector = host.card(0), host.collector(0)
        wait_for(lambda: host.metric("host_handler_given_up", 1) == 1, "it is given up", PATIENCE_S)
        host.wait_until_up(0)
        host.wait_for_progress(0)
    assert "dh1: cannot listen" in supervisor.said.replace("thalweg: ", "")
    assert "it is given up, and not started again (it has failed 3 times within 120 s)" in supervisor.said
    assert host.metric("host_handler_starts_total", 1) == 3
    assert host.control(1, "start")[0] == 503
    of_dh1 = next(line for line in host.ask("/readyz")[1].splitlines() if line.startswith("dh1: "))
    assert of_dh1.startswith("dh1: it is given up (it has ended with exit code ")
    assert "after it had said: thalweg: cannot listen" in of_dh1  # what an operator would look for in the log
    card.stop()
    supervisor.terminate()
    host.expect_nothing_lost(0, collector)
    ended(host, supervisor, 1)
    assert facts_of(supervisor, 1)["given_up"]


def test_a_host_whose_handlers_are_all_given_up_ends(make_host: MakeHost) -> None:
    host = make_host()
    with socket.create_server(("127.0.0.1", host.ports[0])), socket.create_server(("127.0.0.1", host.ports[1])):
        supervisor = host.supervisor("--failures", "1")
        ended(host, supervisor, 1)


def test_a_stopped_handler_does_not_keep_the_host_from_ending(make_host: MakeHost) -> None:
    host = make_host()
    supervisor = host.supervisor("--drain", "100ms")
    host.wait_until_up(0, 1)
    os.kill(host.process(1), signal.SIGSTOP)
    supervisor.terminate()
    wait_for(lambda: "waiting for dh1" in supervisor.said, "the other has ended", PATIENCE_S)
    supervisor.terminate()  # a second signal waits for a few seconds only
    ended(host, supervisor, 1)
    assert supervisor.answer["killed"] == ["dh1"]


@pytest.mark.parametrize("is_stopped", [False, True])
def test_no_handler_stays_when_the_host_is_killed(make_host: MakeHost, is_stopped: bool) -> None:
    host = make_host()
    supervisor = host.supervisor()
    host.wait_until_up(0, 1)
    assert len(host.processes()) == 2
    if is_stopped:
        os.kill(host.process(1), signal.SIGSTOP)
    os.kill(supervisor.process.pid, signal.SIGKILL)
    supervisor.process.wait()
    wait_for(lambda: host.processes() == [], "no handler stays", PATIENCE_S)
    (left,) = Path(host.sockets).glob("thalweg-host-*")
    host.supervisor()
    host.wait_until_up(0, 1)
    (folder,) = Path(host.sockets).glob("thalweg-host-*")
    assert folder != left


def test_the_second_host_has_no_address(make_host: MakeHost) -> None:
    host = make_host()
    host.supervisor()
    host.wait_until_up(0)
    second = host.supervisor()
    second.end(1, 2)
    assert "cannot listen at" in second.said
    assert len(host.processes()) == 2
