"""What the programs of the readout say of a configuration that fits neither the card nor the other handlers."""

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401 (h5py reads the default codec with it)
import pytest
from readout_programs import Program, Readout, wait_for

OVERFLOW = 1 << 8  # docs/formats/fragment.md, "Status"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Readout]:
    made = Readout(tmp_path, f"said-{os.getpid()}", groups=1)
    yield made
    made.close()


def handler_of(site: Readout, *options: object) -> Program:
    """Starts the handler as a user does, who reads what it says."""
    return site.start("readout", "serve", "--config", site.config, *options)


def configure(site: Readout, old: str, new: str) -> None:
    text = site.config.read_text()
    assert old in text
    site.config.write_text(text.replace(old, new))


def test_payloads_that_do_not_fit_are_said_by_both_ends(site: Readout) -> None:
    """Three payloads of 8 to 40 bytes do not always fit behind the 80 bytes of header and entries."""
    configure(site, "[[handler.group]]\n", "[[handler.group]]\nfragment_bytes = 160\n")
    card, handler, collector = site.card(), handler_of(site), site.collector("run.h5")
    handler.wait_for(
        "payloads are left out of fragments (they do not fit into fragment_bytes of their group): raise it"
    )
    card.stop()
    wait_for(lambda: "stopped" in site.ask("/readyz")[1], "the handler says that the card has stopped")
    handler.stop(1)
    collector.end()
    with h5py.File(site.folder / "run.h5") as file:
        status = file["events/status"][:]
    cut = int(((status & OVERFLOW) != 0).sum())
    assert 0 < cut < len(status)
    assert collector.answer["counters"]["overflowing"] == cut
    assert collector.answer["counters"]["flagged"] == 0
    (left_out,) = re.findall(r"([\d,]+) payloads are in no fragment \(they do not fit into", handler.result)
    assert int(left_out.replace(",", "")) >= cut


def test_a_card_whose_links_are_in_no_group_is_not_ready(site: Readout) -> None:
    configure(site, "elinks = [0, 1, 2]", "elinks = [100, 101]")
    site.card()
    handler, collector = site.handler(), site.collector("run.h5")
    reason = f"the card of thalweg-felix-{site.card_name}-0 sends only blocks of e-links that are in no group, such as "
    wait_for(lambda: reason in site.ask("/readyz")[1], "the handler says why it reads nothing")
    assert site.ask("/readyz")[0] == 503
    handler.wait_for(reason)
    collector.wait_for("no handler has an event yet (their /readyz says whether they wait for a card")


def test_a_second_handler_of_a_buffer_is_told_of_the_first_one(site: Readout) -> None:
    """It cannot listen either, and another port would not help it."""
    site.card()
    first = site.handler()
    wait_for(lambda: site.ask("/readyz")[0] == 200, "the first one is in a run")
    second = site.handler().end(2)
    assert f"process {first.process.pid} does, and a buffer has one reader): stop that one first" in second.said


def test_a_port_that_another_program_has_is_said_with_a_free_one(site: Readout) -> None:
    site.card()
    with socket.create_server(("127.0.0.1", site.port())):
        said = site.handler().end(1).said
    assert f"cannot listen at {site.address()} (another program listens there): choose another port: " in said


def test_a_collector_that_asks_the_port_of_metrics_is_told_so(site: Readout) -> None:
    site.card()
    site.handler()
    wait_for(lambda: site.ask("/readyz")[0] == 200, "it is in a run")
    address = f"127.0.0.1:{site.port(1)}"
    collector = site.start("readout", "collect", "--handler", address, "--out", site.folder / "none.h5")
    collector.wait_for(f"{address} (it sends no welcome, as the port of its metrics would)")


def test_what_no_collector_came_for_asks_for_one(site: Readout) -> None:
    card, handler = site.card(), handler_of(site, "--drain", "100ms")
    wait_for(lambda: site.metric("packets_total") > 1000, "there are events")
    card.stop()
    handler.stop(1)
    assert "(the run is over, and no collector has fetched any event): start a collector for each run" in handler.result
