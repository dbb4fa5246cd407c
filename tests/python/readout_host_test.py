"""The parts of `thalweg readout host`, without handlers. tests/faults/host_test.py has whole hosts."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg import _core
from thalweg._base.errors import SystemError, UsageError  # noqa: A004
from thalweg._readout import configuration
from thalweg._readout.host import launch, shares
from thalweg._readout.host.belonging import NamedHandler, chosen, handlers_of, is_own_address
from thalweg._readout.host.exposition import families_of, joined, number
from thalweg._readout.host.groups import Share
from thalweg._readout.host.http import Admission
from thalweg._readout.host.restarts import RestartOptions, Restarts

PATH = Path("readout.toml")
ELSEWHERE = "192.0.2.7:7700"  # an address that is kept for documents


def names(*addresses: str, named: tuple[str, ...] = (), host: str = "") -> list[str]:
    handlers = [NamedHandler(f"dh{number}", address) for number, address in enumerate(addresses)]
    return chosen(handlers, named, host, PATH)


# Which handlers belong to this host


def test_handlers_whose_address_is_here_belong_to_this_host() -> None:
    own = socket.gethostname()
    here = ("127.0.0.1:7700", "[::1]:7700", "localhost:1", f"{own}:2", "unix:/run/dh.sock", "127.0.0.5:3")
    assert names(*here, ELSEWHERE) == [f"dh{number}" for number in range(len(here))]


def test_a_host_or_handlers_can_be_named() -> None:
    addresses = (ELSEWHERE, "DAQ7.example.org:7700", "daq8.example.org:7700", "0.0.0.0:7701")
    assert names(*addresses[:3], host="daq7.example.org") == ["dh1"]
    assert names(*addresses, named=("dh3", "dh0")) == ["dh0", "dh3"]
    with pytest.raises(UsageError, match="has no handler 'dh9': it has dh0, dh1"):
        names(*addresses[:2], named=("dh9",))


@pytest.mark.parametrize("address", ["0.0.0.0:7700", "[::]:7700"])
def test_an_address_that_names_no_host_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match=r"does not say on which host dh1 runs .*--handler"):
        names("127.0.0.1:1", address)


def test_no_handler_of_this_host_is_an_error() -> None:
    with pytest.raises(UsageError, match=f"no handler of this host .*dh0 at {ELSEWHERE}"):
        names(ELSEWHERE)


def test_a_name_that_cannot_be_looked_up_is_no_answer() -> None:
    with pytest.raises(SystemError, match="cannot say whether dh0 belongs to this host"):
        names("no-such-host.invalid:7700")


def test_addresses_have_the_defaults_of_handlers() -> None:
    tables = {"handler": [{}, {"name": "b", "listen": "0.0.0.0:1", "address": "daq:1"}, {"listen": "unix:/a"}]}
    found = [(each.name, each.address) for each in handlers_of(tables)]
    assert found == [("dh0", "127.0.0.1:7700"), ("b", "daq:1"), ("dh2", "unix:/a")]


def test_an_address_of_this_machine_is_known_without_a_list() -> None:
    assert is_own_address("127.0.0.1")
    assert not is_own_address("192.0.2.7")


# When a handler is started again


def test_the_delay_doubles_up_to_a_limit_and_then_it_is_given_up() -> None:
    restarts = Restarts(RestartOptions(0.5, 3.0, failures=6, within_s=60))
    assert [restarts.delay_s(float(at)) for at in range(6)] == [0.5, 1.0, 2.0, 3.0, 3.0, None]


def test_failures_that_are_long_ago_count_no_more() -> None:
    restarts = Restarts(RestartOptions(0.5, 30, failures=3, within_s=10))
    assert [restarts.delay_s(at) for at in (0.0, 9.0, 18.0, 40.0, 41.0, 42.0)] == [0.5, 1.0, 1.0, 0.5, 1.0, None]


# Which part of the machine a handler gets


def tables(count: int, pinning: str = "none") -> dict[str, Any]:
    return {
        "readout": {"pinning": pinning},
        "server": {"threads": 1},
        "handler": [
            {
                "dma": number,
                "listen": f"127.0.0.1:{7700 + number}",
                "group": [{"source_id": number, "elinks": [number]}],
            }
            for number in range(count)
        ],
    }


def planned(count: int, topology: str, keep: list[str], given: str = "auto") -> dict[str, Share]:
    alone = shares.only(tables(count), keep, given)
    found, _ = shares.planned(alone, _core.discover(topology), dict.fromkeys(keep, 5))
    return found


def test_only_handlers_of_this_host_are_planned_a_whole_chiplet_each() -> None:
    found = planned(4, "pack:2 numa:1 l3:1 core:4 pu:1", ["dh1", "dh3"])
    assert found == {"dh1": Share([0, 1, 2, 3], [0], 5), "dh3": Share([4, 5, 6, 7], [1], 5)}


def test_handlers_that_share_a_chiplet_get_the_processors_of_their_threads() -> None:
    found = planned(2, "pack:1 numa:1 l3:1 core:8 pu:1", ["dh0", "dh1"])
    assert [list(share.processors) for share in found.values()] == [[0, 1], [2, 3]]


def test_a_handler_that_may_run_anywhere_gets_no_processors_of_its_own() -> None:
    assert planned(1, "l3:1 core:4 pu:1", ["dh0"], "") == {"dh0": Share((), [], 5)}


def test_the_pinning_of_the_file_is_kept() -> None:
    some = tables(2)
    some["handler"][1]["pinning"] = "build=1,serve=2"
    alone = shares.only(some, ["dh0", "dh1"], "auto")
    assert shares.pinnings_of(alone) == {"dh0": "auto", "dh1": "build=1,serve=2"}


def test_the_memory_of_a_handler_has_room_for_its_index_and_its_answers() -> None:
    handlers, _ = _core.handlers_of(json.dumps(tables(2)), "dh0")
    assert shares.limits(handlers, ["dh1"], 77) == {"dh1": 77}
    limit = shares.limits(handlers, ["dh0"], None)["dh0"]
    assert limit >= handlers[0].index_bytes + handlers[0].queued_total_bytes + (256 << 20)


def test_one_handler_of_a_configuration_is_changed() -> None:
    text = configuration.changed(json.dumps(tables(2)), "dh1", pinning="auto", control_socket="")
    assert [each.get("pinning") for each in json.loads(text)["handler"]] == [None, "auto"]
    assert "control_socket" not in text


# What the pages show

PAGE = """\
# HELP x_total Some
# TYPE x_total counter
x_total{{handler="{name}"}} {value}
# HELP wait_seconds From a to b
# TYPE wait_seconds histogram
wait_seconds_bucket{{handler="{name}",le="0.1"}} 1
wait_seconds_bucket{{handler="{name}",le="+Inf"}} 2
wait_seconds_sum{{handler="{name}"}} 0.5
wait_seconds_count{{handler="{name}"}} 2
"""


def test_pages_are_joined_with_all_samples_of_a_name_together() -> None:
    pages = [families_of(PAGE.format(name=name, value=value)) for name, value in (("a", 1), ('b\\"# HELP', 2))]
    for _ in range(2):  # nothing is kept of the first time
        text = joined(pages)
        assert text.count("# TYPE") == 2
        found = {family.name: family for family in text_string_to_metric_families(text)}
        assert [(it.labels["handler"], it.value) for it in found["x"].samples] == [("a", 1.0), ('b"# HELP', 2.0)]
        assert len(found["wait_seconds"].samples) == 8
    assert number(pages[1], "x_total") == 2.0
    assert number(pages[1], "y_total") is None


def test_clients_are_admitted_as_the_handlers_do_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\nmore\n")
    admission = Admission.of({"token_file": str(tmp_path / "token"), "allow": ["10.0.0.0/8", "::1/128"]})
    assert admission.token == "secret"
    assert [admission.allows(each) for each in ("10.1.2.3", "::ffff:10.1.2.3", "::1", "127.0.0.1", "fe80::1%eth0")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert Admission.of({}).allows("127.0.0.9")


# How a process of a handler begins


def launched(
    *command: str, parent: int | None = None, join: tuple[str, ...] = (), processors: tuple[int, ...] = (),
    nodes: tuple[int, ...] = (),
) -> "subprocess.CompletedProcess[str]":  # fmt: skip
    settings = json.dumps({"join": join, "processors": processors, "memory_nodes": nodes})
    words = [sys.executable, "-I", "-S", launch.__file__, str(parent or os.getpid()), settings, *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def test_a_command_gets_its_processors_and_memory_nodes() -> None:
    mine = sorted(os.sched_getaffinity(0))[-1]
    done = launched("/bin/cat", "/proc/self/status", "/proc/self/numa_maps", processors=(mine,), nodes=(0,))
    if "not granted" in done.stderr:
        pytest.skip(done.stderr)
    assert f"Cpus_allowed_list:\t{mine}\n" in done.stdout
    if "Mems_allowed_list" in done.stdout and Path("/proc/self/numa_maps").exists():
        assert " bind:0 " in done.stdout


def test_what_is_refused_is_said_and_the_command_runs(tmp_path: Path) -> None:
    procs = tmp_path / "none" / "cgroup.procs"
    done = launched("/bin/echo", "here", join=(str(procs),), processors=(1000,), nodes=(900,))
    assert (done.returncode, done.stdout) == (0, "here\n")
    assert f"the control group {procs.parent} is not granted (No such file or directory)" in done.stderr
    assert "the use of processors [1000] alone is not granted (Invalid argument)" in done.stderr
    assert "memory of the nodes [900] alone is not granted" in done.stderr


def test_a_command_whose_parent_has_ended_does_not_begin() -> None:
    done = launched("/bin/echo", "here", parent=1)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_command_ends_with_its_parent_also_if_it_is_stopped() -> None:
    program = (
        "import os, subprocess, sys; words = [sys.executable, '-I', '-S', sys.argv[1], str(os.getpid()), sys.argv[2]]; "
        "child = subprocess.Popen([*words, '/bin/sleep', '1000'], stdout=subprocess.DEVNULL); "
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    settings = json.dumps({"join": [], "processors": [], "memory_nodes": []})
    words = [sys.executable, "-c", program, launch.__file__, settings]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        wait_for(lambda: Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"/bin/sleep"))
        os.kill(child, signal.SIGSTOP)
        parent.kill()
    wait_for(lambda: not is_alive(child))


def wait_for(condition: Any) -> None:
    end_s = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
