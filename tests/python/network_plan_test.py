"""The plan of `thalweg readout network`: a pure function of the machine, the pinning and the card."""

import configparser
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_network import CARD, FakeHost

from thalweg import _core
from thalweg._base.errors import DataError, SystemError, UsageError  # noqa: A004
from thalweg._readout import plan as plans
from thalweg._readout.network.cards import Card, Count, queue_of
from thalweg._readout.network.disturbers import warnings_of
from thalweg._readout.network.formats import as_shell, write_tuned
from thalweg._readout.network.planning import compare
from thalweg._readout.network.settings import (
    Kind,
    NotThere,
    Setting,
    mask_of,
    processors_of,
    processors_text,
    text_of_mask,
)
from thalweg._readout.network.wishes import Wishes, wishes_of

SERVER_OF_THE_PAPER = "pack:2 numa:1 l3:12(size=33554432) core:8 pu:2"
TWO_NODES = "pack:2 numa:1 l3:1 core:4 pu:2"


def pinned(text: str, handlers: int, build: int, serve: int) -> tuple[_core.Topology, _core.Plan]:
    topology = _core.discover(text)
    return topology, plans.of_handlers(handlers, build, serve, topology)


def card(queues: int = 63, most: int = 63, node: int | None = 0) -> Card:
    channels = {"combined": Count(queues, most)} if most else {}
    interrupts = tuple(f"mlx5_comp{number}@pci:0000:41:00.0" for number in range(queues))
    return Card(CARD, 7, queues, queues, node, interrupts, channels, {"rx": Count(1024, 8192), "tx": Count(1024, 8192)})


def values(wishes: Wishes, kind: Kind, end: str = "") -> dict[str, str]:
    found = [wish for wish in wishes.wishes if wish.setting.kind is kind and wish.setting.name.endswith(end)]
    return {wish.setting.name: wish.value for wish in found}


def test_interrupts_and_queues_are_placed_on_the_cores_that_serve_near_the_card() -> None:
    topology, plan = pinned(TWO_NODES, 2, 2, 2)
    serving = {tuple(seat.processors) for seat in plan.placements if seat.role == "serve"}
    assert serving == {(4, 5), (6, 7), (12, 13), (14, 15)}
    wishes = wishes_of(topology, plan, [card(queues=2, most=2, node=1)])
    assert values(wishes, Kind.CHANNELS) == {"combined": "2"}
    assert values(wishes, Kind.INTERRUPT) == {
        "mlx5_comp0@pci:0000:41:00.0": "12",
        "mlx5_comp1@pci:0000:41:00.0": "14",
    }
    assert values(wishes, Kind.QUEUE, "xps_cpus") == {"tx-0/xps_cpus": "12,14", "tx-1/xps_cpus": "13,15"}
    assert set(values(wishes, Kind.QUEUE, "rps_cpus").values()) == {"none"}
    elsewhere = wishes_of(topology, plan, [card(queues=2, most=2, node=None)])
    assert values(elsewhere, Kind.CHANNELS) == {"combined": "2"}
    assert set(values(elsewhere, Kind.INTERRUPT).values()) == {"4", "6"}
    assert values(elsewhere, Kind.QUEUE, "rps_cpus") == {"rx-0/rps_cpus": "4,6,12,14", "rx-1/rps_cpus": "4,6,12,14"}


def test_the_server_of_the_paper_gets_what_the_paper_has_set() -> None:
    topology, plan = pinned(SERVER_OF_THE_PAPER, 24, 3, 4)
    wishes = wishes_of(topology, plan, [card(queues=63, most=63, node=None)])
    assert wishes.warnings == []
    assert values(wishes, Kind.CHANNELS) == {"combined": "63"}
    assert values(wishes, Kind.SYSCTL) == {
        "net.core.rps_sock_flow_entries": "131072",
        "net.core.netdev_budget": "1200",
        "net.core.netdev_budget_usecs": "8000",
        "net.ipv4.tcp_rto_min_us": "5000",
        "vm.percpu_pagelist_high_fraction": "96",
        "kernel.numa_balancing": "0",
    }
    assert values(wishes, Kind.COALESCE) == {
        "adaptive-rx": "0", "adaptive-tx": "0",
        "rx-usecs": "256", "rx-frames": "512", "tx-usecs": "64", "tx-frames": "512",
    }  # fmt: skip
    steered = values(wishes, Kind.QUEUE, "rps_cpus")
    serving = sorted(seat.processors[0] for seat in plan.placements if seat.role == "serve")
    assert len(steered) == 63
    assert {tuple(processors_of(text)) for text in steered.values()} == {tuple(serving)}  # 96 cores, 63 queues
    flows = {int(count) for count in values(wishes, Kind.QUEUE, "rps_flow_cnt").values()}
    assert flows == {131072 // 63}
    assert all(wish.why and wish.source for wish in wishes.wishes)


def test_every_processor_that_serves_sends_through_one_queue() -> None:
    topology, plan = pinned(SERVER_OF_THE_PAPER, 12, 3, 4)
    queues = values(wishes_of(topology, plan, [card(node=0)]), Kind.QUEUE, "xps_cpus")
    dealt = [number for text in queues.values() for number in processors_of(text)]
    serving = {number for seat in plan.placements if seat.role == "serve" for number in seat.processors}
    near = {number for each in topology.chiplets if each.numa_node == 0 for core in each.cores for number in core}
    assert sorted(dealt) == sorted(serving & near)


def test_without_pinned_threads_no_place_is_chosen() -> None:
    topology = _core.discover(TWO_NODES)
    wishes = wishes_of(topology, plans.of_handlers(2, 2, 2, topology, "none"), [card()])
    assert {wish.setting.kind for wish in wishes.wishes} == {Kind.COALESCE, Kind.RING, Kind.SYSCTL}
    assert "net.core.rps_sock_flow_entries" not in values(wishes, Kind.SYSCTL)
    assert "no thread that serves is pinned" in wishes.warnings[0]
    partly = wishes_of(topology, plans.of_handlers(1, 2, 2, topology, "build=0-3,serve=2-3"), [card()])
    assert "build and serve share the processors 2-3" in partly.warnings[0]


def test_new_queues_are_in_the_plan_before_they_are_there() -> None:
    topology, plan = pinned(TWO_NODES, 2, 2, 2)
    wishes = wishes_of(topology, plan, [card(queues=1, most=8, node=None)])
    assert {wish.setting.name for wish in wishes.wishes if wish.is_new} == {
        f"{queue}/{file}"
        for number in (1, 2, 3)
        for queue, file in (
            (f"rx-{number}", "rps_cpus"),
            (f"rx-{number}", "rps_flow_cnt"),
            (f"tx-{number}", "xps_cpus"),
        )
    }
    assert "the interrupts of 3 new queues have no names yet" in wishes.warnings[0]
    both = replace(card(queues=1, most=0, node=None), channels={"rx": Count(1, 2), "tx": Count(1, 3)})
    assert values(wishes_of(topology, plan, [both]), Kind.CHANNELS) == {"rx": "2", "tx": "3"}


def test_what_is_enough_is_kept_and_what_is_not_there_is_named() -> None:
    topology, plan = pinned(TWO_NODES, 2, 2, 2)
    wishes = wishes_of(topology, plan, [card(queues=4, most=4, node=None)])
    now: dict[Setting, str | NotThere] = {wish.setting: wish.value for wish in wishes.wishes}
    assert compare(wishes, now).changes == []
    budget, pages = (
        Setting(Kind.SYSCTL, "", f"{name}") for name in ("net.core.netdev_budget", "vm.percpu_pagelist_high_fraction")
    )
    flows = Setting(Kind.SYSCTL, "", "net.core.rps_sock_flow_entries")
    timer = Setting(Kind.SYSCTL, "", "net.ipv4.tcp_rto_min_us")
    usecs = Setting(Kind.COALESCE, CARD, "rx-usecs")
    others = {budget: "4000", pages: "8", flows: "1024", timer: "1000", usecs: NotThere("it has none")}
    made = compare(wishes, now | others)
    assert [(each.setting, each.before, each.after) for each in made.changes] == [(flows, "1024", "131072")]
    assert {budget, pages, timer} <= {each.setting for each in made.kept if each.before == each.after}
    assert [(each.setting, each.reason) for each in made.absent] == [(usecs, "it has none")]
    raised = compare(wishes, now | {timer: "200000"})
    assert [(each.setting, each.before, each.after) for each in raised.changes] == [(timer, "200000", "5000")]


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        *(("eth0-TxRx-3", 3), ("ens1f0-rx-12", 12), ("mlx5_comp4@pci:0000:41:00.0", 4), ("virtio2-input.0", 0)),
        *(("virtio2-output.1", 1), ("i40e-eth2-TxRx-0", 0), ("gve-ntfy-block.7@pci:0000:00:04.0", 7)),
        *(("mlx5_async0@pci:0000:41:00.0", None), ("virtio2-config", None), ("eth0", None), ("ice-eth1-ctrl.0", None)),
    ],
)  # fmt: skip
def test_interrupts_of_queues_are_known_by_their_names(name: str, queue: int | None) -> None:
    assert queue_of(name) == queue


@pytest.mark.parametrize(
    ("processors", "text", "mask"),
    [([], "none", "0"), ([0], "0", "1"), ([0, 1, 2, 8], "0-2,8", "107"), ([33, 64], "33,64", "1,00000002,00000000")],
)
def test_processors_and_masks(processors: list[int], text: str, mask: str) -> None:
    assert processors_text(processors) == text
    assert processors_of(text) == processors
    assert mask_of(text) == mask
    assert text_of_mask(f"{mask}\n") == text


def test_what_is_no_list_of_processors_is_refused() -> None:
    with pytest.raises(DataError, match="'a-b' is not a list"):
        processors_of("a-b")
    with pytest.raises(DataError, match="'xyz' is not a mask"):
        text_of_mask("xyz")


# From files of a machine


def test_a_plan_of_files(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    made, cards = host.planner(*pinned(TWO_NODES, 2, 2, 2))()
    assert (cards[0].interrupts, cards[0].numa_node) == (("eth4-TxRx-0", "eth4-TxRx-1"), 0)
    lines = {each.setting.what: (each.before, each.after) for each in made.changes}
    assert lines["eth4 rx-0/rps_cpus"] == ("0-1", "none")
    assert lines["eth4 interrupt eth4-TxRx-1"] == ("9", "6")
    assert lines["eth4 ring rx"] == ("512", "1024")
    assert lines["net.core.netdev_budget"] == ("300", "1200")


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    planner = host.planner(*pinned(TWO_NODES, 2, 2, 2))
    budget = tmp_path / "proc/sys/net/core/netdev_budget"
    budget.unlink()
    assert [each.setting.what for each in planner()[0].absent] == ["net.core.netdev_budget"]
    budget.mkdir()
    with pytest.raises(SystemError, match=r"cannot read .*netdev_budget \(Is a directory\)"):
        planner()
    with pytest.raises(UsageError, match=r"no interface 'eth5' \(did you mean 'eth4'\?\)"):
        host.machine.card("eth5")


def test_programs_that_would_undo_it_are_named(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    assert list(warnings_of(host.machine)) == []
    host.write("proc/812/comm", "irqbalance")
    host.write("proc/900/comm", "tuned")
    host.write("etc/tuned/active_profile", "network-latency")
    balance, tuned = warnings_of(host.machine)
    assert balance.startswith("irqbalance runs (process 812)")
    assert "process 900, profile network-latency" in tuned


# For other programs


def test_the_shell_script_sets_what_the_plan_says(tmp_path: Path) -> None:
    """It runs here for the files of the host, with a program `ethtool` that only notes what it is asked."""
    host = FakeHost(tmp_path / "host", channels=4, most_channels=4)
    made, _ = host.planner(*pinned(TWO_NODES, 2, 2, 2))()
    script = as_shell(made).replace("/proc/", f"{host.root}/proc/").replace("/sys/class", f"{host.root}/sys/class")
    program = tmp_path / "ethtool"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    program.chmod(0o755)
    run = ["env", f"PATH={tmp_path}:/usr/bin:/bin", "sh", "-c", script]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert "-L eth4 combined 2" in asked
    assert "-C eth4 adaptive-rx off" in asked
    assert "-G eth4 rx 1024" in asked
    after = {each.setting.what for each in host.planner(*pinned(TWO_NODES, 2, 2, 2))()[0].changes}
    assert after == {
        each.setting.what for each in made.changes if each.setting.kind in ("channels", "coalesce", "ring")
    }
    (host.root / f"proc/irq/40/{CARD}-TxRx-0").rmdir()
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (1, "there is no interrupt eth4-TxRx-0\n")


def test_the_profile_of_tuned(tmp_path: Path) -> None:
    host = FakeHost(tmp_path / "host", channels=4, most_channels=4)
    made, _ = host.planner(*pinned(TWO_NODES, 2, 2, 2))()
    write_tuned(made, tmp_path / "thalweg")
    read = configparser.RawConfigParser(strict=True)
    read.read(tmp_path / "thalweg" / "tuned.conf")
    assert read["sysctl"]["net.core.netdev_budget"] == "1200"
    assert dict(read["net_eth4"]) == {
        "type": "net",
        "devices": "eth4",
        "channels": "combined 2",
        "ring": "rx 1024",
        "coalesce": "adaptive-rx off adaptive-tx off rx-usecs 256 rx-frames 512 tx-usecs 64 tx-frames 512",
    }
    assert read["sysfs"]["/sys/class/net/eth4/queues/rx-0/rps_cpus"] == "0"
    assert read["script"]["script"] == "${i:PROFILE_DIR}/interrupts.sh"
    script = (tmp_path / "thalweg" / "interrupts.sh").read_text()
    script = script.replace("/proc/", f"{host.root}/proc/").replace("/run/", f"{tmp_path}/")
    for word, affinity in (("start", "4"), ("verify", "4"), ("start", "4"), ("stop", "8"), ("stop", "8")):
        subprocess.run(["sh", "-c", script, "interrupts.sh", word], check=True, timeout=60)
        assert host.read("proc/irq/40/smp_affinity_list") == affinity, word
    write_tuned(replace(made, changes=made.changes[:0]), tmp_path / "empty")
    assert not (tmp_path / "empty" / "interrupts.sh").exists()
