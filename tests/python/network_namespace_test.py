"""`thalweg readout network` on real interfaces, veth and TAP with many queues, in a network namespace of its own."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import needed
import pytest

from thalweg import _core

PATIENCE_S = 120
THALWEG = str(Path(sys.executable).with_name("thalweg"))
# The values of the whole machine are replaced by files, so that nothing outside is changed.
GLOBAL = ("vm/percpu_pagelist_high_fraction", "kernel/numa_balancing", "net/core/netdev_budget",
          "net/core/netdev_budget_usecs", "net/core/rps_sock_flow_entries")  # fmt: skip
TIMER = "net/ipv4/tcp_rto_min_us"  # of the namespace
SET_UP = f"""
set -e
mount -t sysfs none /sys
for name in {" ".join(GLOBAL)}; do
    if [ -e /proc/sys/$name ]; then
        file=$1/$(echo $name | tr / -)
        cat /proc/sys/$name > $file
        mount --bind $file /proc/sys/$name
    fi
done
ip link add va numrxqueues 4 numtxqueues 4 type veth peer name vb numrxqueues 4 numtxqueues 4
ip tuntap add dev t0 mode tap multi_queue
ip link set va up; ip link set vb up; ip link set t0 up
echo ready
exec cat
"""
CONFIGURATION = """
[readout]
pinning = "build={first},serve={serve}"
[server]
threads = {threads}
[[handler]]
name = "dh0"
dma = 0
threads = 1
listen = "127.0.0.1:7700"
[[handler.group]]
source_id = 16
elinks = [10]
"""


class Network:
    """The namespace: `words` go before a command that runs there."""

    def __init__(self, holder: int, folder: Path, serving: list[int]) -> None:
        self.words = ["nsenter", "--target", str(holder), "--net", "--mount"]
        self.folder = folder
        self.serving = serving
        self.journal = folder / "state" / "network.json"
        self.configuration = folder / "readout.toml"
        serve = ",".join(map(str, serving))
        self.configuration.write_text(CONFIGURATION.format(first=serving[0], serve=serve, threads=len(serving)))

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([*self.words, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout if code != 2 else done.stderr

    def ask(self, *options: str, code: int = 0) -> Any:
        words = [THALWEG, "readout", "network", *options, "--journal", str(self.journal), "--json"]
        return json.loads(self.run(*words, code=code))

    def apply(self, card: str, code: int = 0) -> dict[str, dict[str, str]]:
        facts = self.ask("--apply", "--config", str(self.configuration), "--interface", card, code=code)
        return {each["what"]: each for each in facts["settings"]}

    def values(self, card: str) -> str:
        """Returns what the kernel says of the queues, without any code of ours."""
        files = f"/sys/class/net/{card}/queues/*/[rx]ps_* {' '.join(f'/proc/sys/{name}' for name in (TIMER, *GLOBAL))}"
        return self.run("sh", "-c", f"grep -H . {files} 2>/dev/null || true")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    for program in ("unshare", "nsenter", "ip"):
        needed.program(program)
    if os.geteuid() != 0:
        pytest.skip("the kernel lets root alone change queues, also in a namespace of its own")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("queues are dealt among processors (this machine has one for us)")
    cores = [core for chiplet in _core.discover("").chiplets for core in chiplet.cores]
    serving = sorted(core[0] for core in cores)[:2]
    folder = tmp_path_factory.mktemp("network")
    words = ["unshare", "--net", "--mount", "sh", "-c", SET_UP, "sh", str(folder)]
    with subprocess.Popen(words, stdin=-1, stdout=-1, stderr=-1, text=True) as holder:
        assert holder.stdin
        assert holder.stdout
        assert holder.stderr
        if holder.stdout.readline() != "ready\n":
            pytest.skip(f"no namespaces with such interfaces can be made here ({holder.stderr.read().strip()})")
        yield Network(holder.pid, folder, serving)
        holder.stdin.close()


@contextlib.contextmanager
def unchanged(network: Network, card: str) -> Iterator[None]:
    before = network.values(card)
    assert "rps_cpus" in before
    yield
    assert network.values(card) == before


def test_veth_is_set_read_back_and_restored(network: Network) -> None:
    network.run("sh", "-c", "echo 1 > /sys/class/net/va/queues/rx-3/rps_cpus")
    network.run("sh", "-c", "echo 64 > /sys/class/net/va/queues/rx-0/rps_flow_cnt")
    with unchanged(network, "va"):
        done = network.apply("va")
        count = len(network.serving)
        assert {done[f"va channels {name}"]["state"] for name in ("rx", "tx")} == {"applied"}
        assert (done["va channels rx"]["from"], done["va channels rx"]["found"]) == ("4", str(count))
        assert done["va rx-0/rps_flow_cnt"]["found"] == str(131072 // count)
        assert done["va coalesce rx-usecs"]["state"] == "absent"
        timer = done["net.ipv4.tcp_rto_min_us"]
        if Path("/proc/sys", TIMER).exists():
            assert (timer["from"], timer["found"], timer["state"]) == ("200000", "5000", "applied")
            assert network.run("cat", f"/proc/sys/{TIMER}") == "5000\n"
        else:
            assert timer["state"] == "absent"
        files = network.run("sh", "-c", "cd /sys/class/net/va/queues; ls; cat tx-1/xps_cpus").split()
        assert files[:-1] == [f"{way}-{queue}" for way in ("rx", "tx") for queue in range(count)]
        assert int(files[-1], 16) == 1 << network.serving[1]
        checked = {each["state"] for each in network.ask("--check")["settings"]}
        assert checked == {"applied"}
        network.run("sh", "-c", "echo 3 > /sys/class/net/va/queues/tx-0/xps_cpus")
        checked = {each["what"]: each["state"] for each in network.ask("--check", code=1)["settings"]}
        assert {what for what, state in checked.items() if state == "overridden since"} == {"va tx-0/xps_cpus"}
        network.ask("--revert")
    assert not network.journal.exists()
    words = [THALWEG, "readout", "network", "--revert", "--journal", str(network.journal)]
    assert "nothing was applied" in network.run(*words, code=2)


def test_tap_rounds_and_has_fewer_queues_than_processors(network: Network) -> None:
    with unchanged(network, "t0"):
        done = network.apply("t0")
        frames = done["t0 coalesce rx-frames"]
        assert (frames["to"], frames["found"], frames["state"]) == ("512", "64", "rounded")
        assert done["t0 coalesce rx-usecs"]["state"] == "absent"
        steered = done["t0 rx-0/rps_cpus"]
        mask = network.run("cat", "/sys/class/net/t0/queues/rx-0/rps_cpus").strip()
        assert int(mask.replace(",", ""), 16) == sum(1 << number for number in network.serving)
        assert (steered["from"], steered["state"]) == ("none", "applied")
        checked = {each["what"]: each["state"] for each in network.ask("--check")["settings"]}
        assert checked["t0 coalesce rx-frames"] == "rounded"
        network.ask("--revert")


BY_HAND = """
import json, sys
from pathlib import Path
from thalweg._readout.network.applying import apply, revert
from thalweg._readout.network.journal import Journal
from thalweg._readout.network.machine import Machine
from thalweg._readout.network.planning import Change, NetworkPlan
from thalweg._readout.network.settings import Kind, Setting

machine, journal = Machine(), Journal(Path(sys.argv[1]))
wanted = {"rx-1/rps_flow_cnt": "4000", "rx-1/rps_cpus": "0-4095"}
settings = {Setting(Kind.QUEUE, "va", name): value for name, value in wanted.items()}
changes = [Change(each, machine.read(each), value, "", "") for each, value in settings.items()]
report = apply(machine, lambda settled: (NetworkPlan(changes, [], [], []), [machine.card("va")]), journal)
print(json.dumps([each.to_dict() for each in report.outcomes]))
revert(machine, journal)
"""


def test_a_count_that_is_rounded_and_a_mask_that_is_refused(network: Network) -> None:
    with unchanged(network, "va"):
        told = network.run(sys.executable, "-c", BY_HAND, str(network.journal))
        flows, mask = json.loads(told)
    assert (flows["found"], flows["state"], flows["reason"]) == ("4096", "rounded", "4000 became 4096")
    assert mask["state"] == "refused"
    assert mask["reason"]  # EOVERFLOW or EINVAL, by the size of the mask


KILLED = """
import os, signal, sys
from thalweg import cli
from thalweg._readout.network.machine import Machine

left, write = int(sys.argv.pop(1)), Machine.write

def killed(*given):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    write(*given)

Machine.write = killed
sys.exit(cli.run())
"""


@pytest.mark.parametrize("writes", [2, 6])
def test_what_a_killed_program_has_set_is_restored(network: Network, writes: int) -> None:
    with unchanged(network, "va"):
        words = [sys.executable, "-c", KILLED, str(writes), "readout", "network", "--apply"]
        options = ["--config", str(network.configuration), "--interface", "va", "--journal", str(network.journal)]
        network.run(*words, *options, code=-9)
        states = {each["state"] for each in network.ask("--check", code=1)["settings"]}
        assert "not finished" in states
        network.ask("--revert")


def test_sysfs_of_another_namespace_is_an_error(network: Network) -> None:
    """It would show, and change, interfaces that are not those of this process."""
    words = [THALWEG, "readout", "network", "--config", str(network.configuration), "--interface", "va"]
    done = subprocess.run(
        [*network.words, "unshare", "--net", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "is an interface of another network namespace" in done.stderr


def test_people_get_a_table(network: Network) -> None:
    words = [THALWEG, "readout", "network", "--config", str(network.configuration), "--interface", "t0"]
    told = network.run(*words)
    assert "what" in told.splitlines()[0]
    assert "t0 rx-0/rps_cpus" in told
    assert "not on this machine: t0 coalesce" not in told
