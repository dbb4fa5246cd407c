"""Faults of one handler of a host: its neighbour loses nothing, and the pages of the host answer meanwhile.

Each handler has a card and a collector of its own. A collector that also asks the handler which is stopped would wait
for it, as it should.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import needed
import pytest
from hosts import PATIENCE_S, Host, MakeHost, facts_of, hostile_hook
from readout_programs import Program, wait_for

PAGE_S = 20.0  # a second is promised; a test that holds on a busy machine shows that no page waits for a handler
GOOD, BAD = 0, 1  # the numbers of the handlers


@dataclass
class Asked:
    """How long each page took while something was wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"/metrics": [], "/healthz": [], "control": []})
    statuses: set[int] = field(default_factory=set)  # of control of the handler that is wrong

    def worst_s(self) -> float:
        return max(max(each) for each in self.seconds.values())


@contextlib.contextmanager
def asking(host: Host) -> Iterator[Asked]:
    """Asks for the pages again and again, and sends `resume`, which a handler that runs refuses."""
    asked, is_over = Asked(), threading.Event()

    def timed(what: str, page: str, method: str = "GET") -> int:
        began_s = time.monotonic()
        status, _ = host.ask(page, method)
        asked.seconds[what].append(time.monotonic() - began_s)
        return status

    def ask_on() -> None:
        while not is_over.wait(0.1):
            timed("/metrics", "/metrics")
            timed("/healthz", "/healthz")
            asked.statuses.add(timed("control", f"/control/dh{BAD}/resume", "POST"))

    asker = threading.Thread(target=ask_on)
    asker.start()
    try:
        yield asked
    finally:
        is_over.set()
        asker.join()
    for what, seconds in asked.seconds.items():
        print(f"{what}: {len(seconds)} answers, at most {max(seconds):.3f} s")


def begun(host: Host, *options: object) -> tuple[Program, list[Program], list[Program]]:
    """Starts the host, and cards and collectors; the neighbour has events in its file already."""
    supervisor = host.supervisor(*options)
    host.wait_until_up(GOOD, BAD)
    collectors = [host.collector(number) for number in (GOOD, BAD)]
    cards = [host.card(number) for number in (GOOD, BAD)]
    host.wait_for_progress(GOOD, 1000)
    return supervisor, cards, collectors


def finish(
    host: Host, supervisor: Program, cards: dict[int, Program], collectors: list[Program], code: int = 1
) -> None:
    """The neighbour goes on. Its file, and that of each handler with a card here, has every event that was sent."""
    host.wait_for_progress(GOOD)
    assert host.metric("host_handler_starts_total", GOOD) == 1
    for card in cards.values():
        card.stop()
    supervisor.terminate()
    for number in cards:
        host.expect_nothing_lost(number, collectors[number])
    if code:
        supervisor.terminate()  # the other one may not end by itself
    supervisor.end(code, seconds=PATIENCE_S)
    assert host.processes() == []


@pytest.fixture
def compiler() -> str:
    return needed.program("cc", "gcc", "clang")


def test_a_hook_that_never_returns(make_host: MakeHost, tmp_path: Path, compiler: str) -> None:
    host = make_host(hooks={BAD: hostile_hook(tmp_path, compiler, "spin 3000")})
    supervisor, cards, collectors = begun(host, "--drain", "1s")
    wait_for(lambda: host.metric("readout_packets_total", BAD) > 0, "packets come", PATIENCE_S)
    with asking(host) as asked:
        host.wait_for_progress(GOOD)
    assert asked.worst_s() < PAGE_S
    assert host.metric("host_handler_up", BAD) == 1  # a builder hangs, and its pages do not
    finish(host, supervisor, {GOOD: cards[GOOD]}, collectors)


def test_what_a_hook_refuses_is_said_at_the_end(make_host: MakeHost, tmp_path: Path, compiler: str) -> None:
    """The fragments are in the file, and marked, so the exit code is 0; the report says that the hook has failed."""
    host = make_host(hooks={BAD: hostile_hook(tmp_path, compiler, "refuse 100")})
    supervisor, cards, collectors = begun(host)
    host.wait_for_progress(BAD)
    failures = host.metric("readout_hook_failures_total", BAD)
    cards[BAD].stop()
    finish(host, supervisor, {GOOD: cards[GOOD]}, [collectors[GOOD]], 0)
    collectors[BAD].end(seconds=PATIENCE_S)
    runs = {number: facts_of(supervisor, number)["runs"][0] for number in (GOOD, BAD)}
    assert (runs[GOOD]["problems"], runs[BAD]["lost"]) == ([], 0)
    said = [problem.split() for problem in runs[BAD]["problems"] if "hook failures" in problem]
    assert [int(words[0].replace(",", "")) >= failures > 0 for words in said] == [True]


def test_a_hook_that_takes_all_memory(make_host: MakeHost, tmp_path: Path, compiler: str) -> None:
    """The hook takes 1 GiB at most, so that the machine is in no danger if there is no limit."""
    host = make_host(hooks={BAD: hostile_hook(tmp_path, compiler, "take 3000")})
    supervisor = host.supervisor("--memory", "600MiB", "--failures", "2", "--drain", "1s")
    host.wait_until_up(GOOD, BAD)
    if host.metric("host_handler_granted", BAD, 'controller="memory"') != 1:
        assert "dh1 has no control group for memory (" in supervisor.said
        pytest.skip(next(line for line in supervisor.said.splitlines() if "no control group for memory" in line))
    collector, card = host.collector(GOOD), host.card(GOOD)
    host.wait_for_progress(GOOD, 1000)
    bad_card = host.card(BAD)
    with asking(host) as asked:
        wait_for(lambda: host.metric("host_handler_given_up", BAD) == 1, "it is given up", PATIENCE_S)
        host.wait_for_progress(GOOD)
    assert asked.worst_s() < PAGE_S
    assert host.metric("host_handler_failures_total", BAD, 'why="memory"') == 2
    assert "dh1: the kernel has killed it, because it has taken all memory of its control group" in supervisor.said
    bad_card.kill()
    finish(host, supervisor, {GOOD: card}, [collector])
    assert [it["why"] for it in facts_of(supervisor, BAD)["endings"]] == ["memory"] * 2


def test_a_handler_that_is_killed_again_and_again(make_host: MakeHost) -> None:
    host = make_host()
    supervisor, cards, collectors = begun(host, "--failures", "10", "--drain", "5s")
    with asking(host) as asked:
        for times in range(1, 4):
            os.kill(host.process(BAD), signal.SIGKILL)
            wait_for(
                lambda n=times: host.metric("host_handler_starts_total", BAD) == n + 1, "it is started", PATIENCE_S
            )
            host.wait_until_up(BAD)
    assert asked.worst_s() < PAGE_S
    host.wait_for_progress(BAD)
    finish(host, supervisor, {GOOD: cards[GOOD]}, collectors)


def test_a_handler_that_is_stopped(make_host: MakeHost) -> None:
    host = make_host()
    supervisor, cards, collectors = begun(host)
    host.wait_for_progress(BAD, 1000)
    stopped = host.process(BAD)
    os.kill(stopped, signal.SIGSTOP)
    with asking(host) as asked:
        wait_for(lambda: host.metric("host_handler_up", BAD) == 0, "it is marked", PATIENCE_S)
        host.wait_for_progress(GOOD)
        assert host.metric("host_handler_age_seconds", BAD) > 5
        assert host.metric("readout_packets_total", BAD) > 0  # what was known is still shown
        assert "is not up (it has not answered for" in host.control(BAD, "pause")[1]
        assert host.ask("/healthz")[0] == 200
    assert asked.worst_s() < PAGE_S
    assert 503 in asked.statuses
    os.kill(stopped, signal.SIGCONT)
    host.wait_until_up(BAD)
    host.wait_for_progress(BAD)
    assert host.metric("host_handler_starts_total", BAD) == 1
    finish(host, supervisor, dict(enumerate(cards)), collectors, 0)  # its card has waited, and nothing is lost


@pytest.fixture
def small_memory() -> Iterator[list[object]]:
    """Words before a command for which /dev/shm is a small file system, which no other process of the machine has."""
    words = [needed.program("unshare"), "--mount", "sh", "-c"]
    script = "mount -t tmpfs -o size=96m none /dev/shm && echo ready && exec sleep 100000"
    with subprocess.Popen([*words, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stderr
        try:
            if holder.stdout.readline() != "ready\n":
                pytest.skip(f"no file system can be mounted here: {holder.stderr.read().strip()}")
            yield [needed.program("nsenter"), f"--mount=/proc/{holder.pid}/ns/mnt", "--"]
        finally:
            holder.kill()


def test_no_shared_memory_is_left(make_host: MakeHost, small_memory: list[object]) -> None:
    host = make_host(prefix=small_memory)
    supervisor, cards, collectors = begun(host, "--drain", "5s")
    host.wait_for_progress(BAD, 1000)
    fill = [*map(str, small_memory), "dd", "if=/dev/zero", "of=/dev/shm/full", "bs=64k"]
    filled = subprocess.run(fill, capture_output=True, text=True, check=False, timeout=120)
    assert "No space left on device" in filled.stderr
    with asking(host) as asked:
        os.kill(host.process(BAD), signal.SIGKILL)
        wait_for(lambda: host.metric("host_handler_starts_total", BAD) == 2, "it is started again", PATIENCE_S)
        host.wait_until_up(BAD)
        host.wait_for_progress(BAD)
    assert asked.worst_s() < PAGE_S
    finish(host, supervisor, {GOOD: cards[GOOD]}, collectors)
