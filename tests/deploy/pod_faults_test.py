"""What goes wrong around containers is named in a log line, and none of it ends a neighbour."""

import base64
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import MakeReadout
from containers import Manifest
from kubelet import Pod, wait_ready
from pods_test import BOOKS, end_of_all, expect_accounted, expect_drained
from readout_programs import wait_for
from readouts import OnNode


def expect_unharmed(readout: OnNode, *pods: Pod) -> None:
    """Checks that none of these was restarted, and that events go on to files."""
    for each in pods:
        assert each.ends == [], each.ends
        if "readinessProbe" in each.container:
            readout.wait_for_clears(int(each.name.rpartition("-")[2]))


def test_a_container_may_do_nothing_but_its_work(make_readout: MakeReadout) -> None:
    readout = make_readout(1)
    card, (handler,), collector = readout.run()
    for pod in (card, handler, collector):
        assert pod.status("Uid").split() == ["1000"] * 4
        assert (pod.status("CapEff"), pod.status("CapBnd")) == ("0" * 16, "0" * 16)
        assert (pod.status("NoNewPrivs"), pod.status("Seccomp")) == ("1", "2")
        assert "Read-only file system" in pod.inside("touch", "/etc/a-file").stderr
        assert pod.inside("sh", "-c", "ls -d /data /dev/shm").returncode == 0
    words = ["thalweg", "readout", "collect", "--config", "/etc/thalweg/readout.toml", "--out", "/events.root"]
    assert "cannot open /events.root.journal (Read-only file system)" in collector.inside(*words).stderr
    namespaces = {os.readlink(f"/proc/{pod.pid}/ns/pid") for pod in (card, handler, collector)}
    assert len(namespaces) == 3  # so pids in the buffer's head mean nothing to the others
    second = readout.controller.add("card-2", card.template)
    wait_for(lambda: second.ends, second.said)
    assert second.ends[0].code == 2
    assert re.search(r"a card in another pid namespace, where its process is \d+", second.ends[0].said)
    expect_unharmed(readout, card, handler)
    second.delete(0)
    for end in end_of_all(readout):
        expect_drained(end)
    expect_accounted(readout)


def without_shm(spec: Manifest) -> None:
    spec["mounts"] = [each for each in spec["mounts"] if each["destination"] != "/dev/shm"]


def test_no_shared_memory(make_readout: MakeReadout) -> None:
    readout = make_readout(2)
    card, (first, second), _ = readout.run()
    second.delete()
    broken = readout.controller.pod("dh", 1, change=without_shm)
    wait_for(lambda: "waiting for the card" in broken.said or broken.ends, "it says so")
    assert "cannot open /dev/shm/thalweg-felix-card-1 (No such file or directory)" in broken.said
    assert "/dev/shm/thalweg-felix-card-1" in broken.page("/readyz")[1]
    assert broken.page("/healthz")[0] == 200
    broken.delete()
    lonely = readout.controller.pods["collector-0"]
    wait_ready(readout.controller.pod("dh", 1))
    expect_unharmed(readout, card, first, lonely)
    lonely.delete()
    blind = readout.controller.pod("collector", 0, change=without_shm)
    readout.wait_for_clears()
    expect_unharmed(readout, blind)  # its memory is in files beside the file then


def test_shared_memory_that_is_too_small(make_readout: MakeReadout) -> None:
    readout = make_readout(1, shm_bytes=4 << 20)
    card = readout.card(buffer="8MiB")
    wait_for(lambda: card.ends, card.said)
    assert card.ends[0].code == 1
    assert "cannot allocate 8.39 MB of shared memory in /dev/shm (there is no room: No space left" in card.ends[0].said
    card.delete(0)
    card = readout.card(buffer="2MiB")
    handler = readout.controller.pod("dh", 0)
    wait_ready(handler)
    small = readout.controller.pod("collector", 0, change=with_small_memory)
    readout.wait_for_clears()
    expect_unharmed(readout, small)


def with_small_memory(spec: Manifest) -> None:
    kept = [each for each in spec["mounts"] if each["destination"] != "/dev/shm"]
    options = ["size=64k", "mode=1777"]
    spec["mounts"] = [*kept, {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": options}]


def test_a_token_that_is_rotated(make_readout: MakeReadout) -> None:
    """Handlers read it when they start: nothing happens until one is restarted. Then the collector is refused, reads
    its file again, and goes on."""
    readout = make_readout(2)
    card, (first, second), collector = readout.run()
    secret = next(each for each in readout.documents if each["kind"] == "Secret")
    secret["data"]["token"] = base64.b64encode(b"another\n").decode()
    for pod in (first, second, collector):
        for volume in pod.spec["volumes"]:
            if "secret" in volume:
                pod.volumes.publish(volume)
        assert pod.inside("cat", "/run/secrets/thalweg/token").stdout == "another\n"
    expect_unharmed(readout, card, first, second, collector)
    _, second = readout.controller.replace(second)
    wait_for(lambda: "/run/secrets/thalweg/token has another token" in collector.said, "it reads the file again")
    readout.wait_for_clears(1)
    assert second.metric("refusals_total", "not_allowed") > 0
    for each in (card, first, second, collector):
        assert each.ends == []
    readout.controller.replace(first)
    readout.wait_for_clears(0)
    readout.wait_for_clears(1)
    for end in collector.ends:  # with the run of the first handler
        assert end.code == 0, end


@pytest.mark.parametrize("of", ["dh", "collector"])
@pytest.mark.parametrize("delay_s", [0.01, 0.03, 0.1, 0.6])
def test_sigterm_in_the_first_second(make_readout: MakeReadout, delay_s: float, of: str) -> None:
    """It ends long before its grace is over, also if the interpreter has not begun: then no process takes the signal
    but process 1, which passes it on."""
    readout = make_readout(1)
    pod = readout.controller.pod(of, 0)
    wait_for(pod.is_up, "it is made")
    while "runc" in os.readlink(f"/proc/{pod.pid}/exe"):
        time.sleep(0.001)
    time.sleep(delay_s)
    pod.is_leaving.set()
    begin_s = time.monotonic()
    os.kill(pod.pid, signal.SIGTERM)  # `runc kill` would take another tenth of a second
    wait_for(lambda: pod.ends, f"it ends: {pod.said}", 20)
    end = pod.delete(0)
    print(f"code {end.code} after {time.monotonic() - begin_s:.2f} s")
    # Code 1 is of a collector that has reached no handler.
    assert end.code in (0, 128 + signal.SIGTERM, *([1] if of == "collector" else [])), end


def test_a_node_that_is_drained(make_readout: MakeReadout) -> None:
    """All its pods are evicted at once, and made again. None is killed, and what no collector could fetch any more is
    in the handlers' account."""
    readout = make_readout(2)
    card, handlers, collector = readout.run()
    with ThreadPoolExecutor() as pool:
        *ends, end = pool.map(lambda each: each.delete(), [*handlers, collector])
    assert end.code == 0, end
    discarded = 0
    for each in ends:
        assert each.code in (0, 1), each
        assert BOOKS in each.said
        found = re.search(r"([\d,]+) fragments are discarded", each.said)
        assert bool(found) == (each.code == 1), each
        discarded = max(discarded, int(found[1].replace(",", "")) if found else 0)
    assert card.ends == []
    readout.controller.all_of("dh")
    readout.controller.pod("collector", 0)
    for number in range(2):
        readout.wait_for_clears(number)
    end_of_all(readout)
    events = readout.read()
    assert readout.tally["events"] - len(np.unique(events.event)) <= discarded


def test_probes_while_a_handler_drains(make_readout: MakeReadout) -> None:
    readout = make_readout(2)
    _, (first, second), collector = readout.run()
    collector.delete()
    second.is_leaving.set()
    second.signal("TERM")
    wait_for(lambda: "stopping" in second.said, "it drains")
    wait_for(lambda: second.page("/readyz")[0] == 503 or second.ends, "it reads no more blocks")
    why = second.page("/readyz")[1]
    assert "dh-1 is stopped" in why
    assert "collectors fetch the rest of run 1" in why
    assert second.page("/healthz") == (200, "ok\n")
    end = second.delete()
    assert end.code == 1
    assert BOOKS in end.said
    assert "discarded" in end.said
    assert first.ends == []


def test_a_memory_limit_that_is_reached(make_readout: MakeReadout) -> None:
    readout = make_readout(2)
    card, (first, second), collector = readout.run()
    second.delete()

    def limited(spec: Manifest) -> None:
        spec["linux"]["resources"]["memory"]["limit"] = 40 << 20

    small = readout.controller.pod("dh", 1, change=limited)
    wait_for(lambda: len(small.ends) >= 2, small.said, 300)
    assert all((end.code, end.memory > 0) == (137, True) for end in small.ends)
    assert small.restarts >= 1
    small.delete(0)
    wait_ready(readout.controller.pod("dh", 1))
    readout.wait_for_clears(1)
    expect_unharmed(readout, card, first, collector)


def times_throttled(group: Path) -> int:
    counts = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(counts["nr_throttled"])


def test_a_processor_limit_that_throttles(make_readout: MakeReadout) -> None:
    """The card waits, nothing is lost, and neighbours keep their speed."""
    readout = make_readout(2)
    card, (first, second), _ = readout.run()
    group = Path("/sys/fs/cgroup/cpu") / second.group.lstrip("/")
    (group / "cpu.cfs_quota_us").write_text("2000")  # of 100,000
    wait_for(lambda: times_throttled(group) > 100, "it is throttled")
    assert second.page("/healthz")[0] in (0, 200)
    (group / "cpu.cfs_quota_us").write_text("200000")
    readout.wait_for_clears(1)
    expect_unharmed(readout, card, first, second)
    for end in end_of_all(readout):
        expect_drained(end)
    expect_accounted(readout)
