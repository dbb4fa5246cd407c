"""Dashboards and alerts: a real Prometheus reads a running handler, host and recording, and sees their faults."""

import contextlib
import json
import os
import re
import shutil
import signal
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from prometheus import DEPLOY, Prometheus, hurried, installed, wait_until
from readout_programs import THALWEG, Program, Readout, card_name, free_ports

from dashboards.__main__ import files
from dashboards.alerts import ALERTS
from dashboards.metrics import PROGRAMS, metrics_of, read_table

BAD_CARD = ("--faults", "late=0.02,crc=0.02,lost_block=0.005")
RECORD = ("--channels", 2, "--samples", 64, "--rate", "500Hz", "--quiet")
FAST = ("--channels", 2, "--samples", 500, "--rate", "4kHz", "--quiet")


@dataclass
class Site:
    """A card with faults, its handler and a collector; a host of two handlers without cards, each of which is given up
    at its first failure; a recorder that syncs rarely, and one on a small disk."""

    readout: Readout
    card: Program
    handler: Program
    collector: Program
    host: Program
    recorder: Program
    full: Program
    ports: list[int]
    prometheus: Prometheus

    def seen(self) -> set[str]:
        """Returns the alerts that have fired so far."""
        return {
            each["metric"]["alertname"]
            for each in self.prometheus.ask('last_over_time(ALERTS{alertstate="firing"}[1h])')
        }

    def page(self, program: str) -> str:
        """Returns what /metrics of a program has, or nothing while the program begins."""
        port = {"readout": self.readout.port(1), "record": self.ports[0], "host": self.ports[2]}[program]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""


def always() -> str:
    """Rules that fire whatever the value is, so that every text of a notification is made once."""
    every = yaml.safe_load((DEPLOY / "alerts.yml").read_text())
    values = {alert.name: alert.value for alerts in ALERTS.values() for alert in alerts}
    for group in every["groups"]:
        group["name"] += "-always"
        for rule in group["rules"]:
            rule["expr"] = values[rule["alert"]]
            rule["alert"] += "Always"
    return hurried(yaml.safe_dump(every))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    installed()
    folder = Path(tempfile.mkdtemp(prefix="monitoring-"))
    ports = free_ports(3)
    readout = Readout(folder, card_name(), server='queued_total = "64MiB"')
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(readout.close)
        card = readout.card(*BAD_CARD)
        handler, collector = readout.handler(), readout.collector("run.root")
        hosted = Readout(folder, f"{card_name()}-none", handlers=2)
        names = hosted.config.read_text().replace('"dh', '"of-host')  # Prometheus tells handlers apart by their names
        hosted.config.write_text(names)
        host = hosted.start(
            "readout", "host", hosted.config, "--metrics", f"127.0.0.1:{ports[2]}", "--failures", 1, "--quiet"
        )
        readout.programs.append(host)
        recorder = readout.start(
            "record", "--out", folder / "run.h5", *RECORD, "--flush-interval", "1h", "--metrics", ports[0]
        )
        full = on_small_disk(readout, "--metrics", ports[1])
        prometheus = Prometheus(
            folder,
            [hurried((DEPLOY / "alerts.yml").read_text()), always()],
            readout=[f"127.0.0.1:{readout.port(1)}"],
            host=[f"127.0.0.1:{ports[2]}"],
            record=[f"127.0.0.1:{port}" for port in ports[:2]],
        )
        readout.programs.append(prometheus.program)
        readout.wait_for_clears()
        yield Site(readout, card, handler, collector, host, recorder, full, ports, prometheus)


def on_small_disk(readout: Readout, *options: object) -> Program:
    """Records some MB/s to a file system of 64 MB, which is a mount of this process alone."""
    place = readout.folder / "small"
    place.mkdir()
    words = [THALWEG, "record", "--out", place / "run.h5", *FAST, *options]
    unshare = ["--mount", *(["--user", "--map-root-user"] if os.geteuid() != 0 else [])]
    script = f'mount -t tmpfs -o size=64m none {place} && exec "$@"'
    return readout.start(*unshare, "sh", "-c", script, "sh", *words, program="unshare")


def queries() -> dict[str, str]:
    """Returns every query of the dashboards, as Grafana would send it, and of the alerts, without their bounds."""
    found = {}
    for program in PROGRAMS:
        dashboard = json.loads((DEPLOY / f"{program}.json").read_text())
        rows = [panel for panel in dashboard["panels"] if panel["type"] == "row"]
        for panel in [*dashboard["panels"], *(inner for row in rows for inner in row["panels"])]:
            for target in panel.get("targets", []):
                text = re.sub(r"\$(handler|instance)\b", ".*", target["expr"])
                found[f"{program}: {panel['title']}: {target['legendFormat']}"] = text.replace("$__rate_interval", "8s")
        for alert in ALERTS[program]:
            for query in alert.queries:
                found[f"{alert.name}: {query}"] = re.sub(r"\[\d+m\]", "[8s]", query)
    return found


def test_the_table_is_what_the_programs_have(site: Site) -> None:
    table = read_table(DEPLOY / "metrics.json")
    wait_until(lambda: "thalweg_triggers_total{" in site.page("record"), lambda: site.recorder.said)
    for program in PROGRAMS:
        assert metrics_of(site.page(program), program) == table[program], "run `make metrics`"


def test_every_query_has_an_answer(site: Site) -> None:
    asked = queries()
    assert len(asked) > 100
    assert site.prometheus.ask("thalweg_no_such_metric") == []
    silent: dict[str, str] = {}

    def all_answer() -> bool:
        nonlocal silent
        silent = {what: query for what, query in asked.items() if not site.prometheus.ask(query)}
        return not silent

    wait_until(all_answer, lambda: silent)


def test_notifications_name_what_they_are_about(site: Site) -> None:
    wanted = {alert.name: alert for alerts in ALERTS.values() for alert in alerts}
    wait_until(
        lambda: {f"{name}Always" for name in wanted} <= site.prometheus.firing(),
        lambda: {f"{name}Always" for name in wanted} - site.prometheus.firing(),
    )
    for made in site.prometheus.alerts():
        alert = wanted[made["labels"]["alertname"].removesuffix("Always")]
        missing = set(re.findall(r"\$labels\.(\w+)", alert.says)) - set(made["labels"])
        assert not missing, f"{alert.name}: an alert has no label {missing}"
        text = made["annotations"]["summary"]
        assert "error" not in text.replace("have errors", ""), text
        assert "{{" not in text


def expect_to_fire(site: Site, *names: str) -> None:
    wait_until(lambda: set(names) <= site.seen(), lambda: f"{set(names) - site.seen()} did not fire")


def test_faults_of_a_hosted_handler_are_seen(site: Site) -> None:
    of_a_handler = {"ThalwegHostedHandlerNotUp", "ThalwegHostedHandlerFails", "ThalwegHostedHandlerGivenUp"}
    wait_until(lambda: not (of_a_handler | {"ThalwegHostDown"}) & site.prometheus.firing(), site.prometheus.firing)
    first, second = handlers_of(site.host)
    os.kill(first, signal.SIGSTOP)  # it does not answer
    expect_to_fire(site, "ThalwegHostedHandlerNotUp")
    os.kill(first, signal.SIGCONT)
    os.kill(second, signal.SIGKILL)
    expect_to_fire(site, "ThalwegHostedHandlerFails", "ThalwegHostedHandlerGivenUp")
    site.host.kill()
    expect_to_fire(site, "ThalwegHostDown")


def handlers_of(host: Program) -> list[int]:
    """Returns the processes of its two handlers, which it has started."""
    children = Path(f"/proc/{host.process.pid}/task/{host.process.pid}/children")
    wait_until(lambda: len(children.read_text().split()) == 2, lambda: host.said)
    first, second = map(int, children.read_text().split())
    return [first, second]


def test_real_faults_are_seen(site: Site) -> None:
    assert not {"ThalwegNoCollector", "ThalwegCardGone", "ThalwegHandlerDown"} & site.prometheus.firing()
    expect_to_fire(site, "ThalwegStreamLags", "ThalwegFrontEndErrors", "ThalwegBlocksLost")
    site.collector.kill()
    expect_to_fire(site, "ThalwegNoCollector", "ThalwegIndexFills", "ThalwegReadingStopped", "ThalwegNoPackets")
    site.card.kill()
    expect_to_fire(site, "ThalwegCardGone")
    site.handler.kill()
    expect_to_fire(site, "ThalwegHandlerDown")
    expect_to_fire(site, "ThalwegDurableLag")
    # The recorder on the small disk may have ended before, so the alert of this one counts.
    recorder = f"127.0.0.1:{site.ports[0]}"
    wait_until(lambda: recorder not in recorders_down(site), lambda: site.recorder.said)
    site.recorder.kill()
    wait_until(lambda: recorder in recorders_down(site), lambda: recorders_down(site))


def recorders_down(site: Site) -> set[str]:
    """Returns the addresses of the recorders for which the alert fires now."""
    labels = [alert["labels"] for alert in site.prometheus.alerts()]
    return {each["instance"] for each in labels if each["alertname"] == "ThalwegRecordDown"}


def test_a_disk_that_fills_is_seen(site: Site) -> None:
    if "mount:" in site.full.said or "unshare:" in site.full.said:
        pytest.skip(f"no file system can be mounted here: {site.full.said}")
    wait_until(lambda: "ThalwegDiskNearlyFull" in site.seen() and site.full.has_ended, lambda: site.full.said)
    assert "No space left on device" in site.full.said
    expect_to_fire(site, "ThalwegRecordDown")


def test_files_are_made_from_the_table(repository: Path) -> None:
    for path, text in files(repository).items():
        assert path.read_text() == text, f"{path}: run `make metrics`"
