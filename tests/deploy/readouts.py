"""A readout on a node: a card in a container of its own, and the pods of an overlay that `site.py` wrote."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cluster import BIN
from containers import Manifest
from kubelet import Controller, Pod, wait_ready
from manifest_checks import KUBERNETES, kinds, problems
from readout_judge import Events, expect_right
from readout_programs import RATE_AND_INDEX, wait_for

import thalweg

LINKS = 3
CONFIGURATION = f"""{RATE_AND_INDEX}[server]
allow = ["10.88.0.0/16"]
token_file = "/run/secrets/thalweg/token"
lease = "5s"
outstanding_events = 4096
threads = 1
"""
HANDLER = """
[[handler]]
name = "dh-{number}"
card = "card"
dma = {number}
listen = "dh-{number}:7700"
address = "dh-{number}.dh:7700"
metrics = "dh-{number}:7800"
[[handler.group]]
source_id = {number}
elinks = ["{first}-{last}"]
"""


def overlay(
    folder: Path, handlers: int, *, token: str = "secret", links: int = LINKS, edits: dict[str, str] | None = None
) -> list[Manifest]:
    """Returns the manifests of a site with so many handlers, as `site.py` and `kubectl kustomize` make them. `edits`:
    what stands in the configuration, and what is put in its place."""
    folder.mkdir(parents=True)
    parts = [HANDLER.format(number=it, first=it * links, last=it * links + links - 1) for it in range(handlers)]
    text = CONFIGURATION + "".join(parts)
    for old, new in (edits or {}).items():
        assert old in text
        text = text.replace(old, new)
    (folder / "readout.toml").write_text(text)
    (folder / "token").write_text(f"{token}\n")
    words = [folder / "readout.toml", folder / "site", "--image", "example.org/thalweg:1", "--token", folder / "token"]
    words += ["--topology", "pack:1 numa:1 l3:4 core:8 pu:2"]
    subprocess.run([sys.executable, KUBERNETES / "site.py", *words], check=True, capture_output=True)
    text = subprocess.run([BIN / "kubectl", "kustomize", folder / "site"], check=True, capture_output=True, text=True)
    documents = list(yaml.safe_load_all(text.stdout))
    assert problems(documents) == []
    return documents


def card_template(documents: list[Manifest], words: list[str]) -> Manifest:
    """Returns a pod for the program of the card, which the manifests leave to the site: it sees the same /dev/shm, has
    the same user, and no probes."""
    handlers = next(each for each in kinds(documents, "StatefulSet") if each["metadata"]["name"] == "dh")
    template: Manifest = copy.deepcopy(handlers["spec"]["template"])
    container = template["spec"]["containers"][0]
    for key in ("livenessProbe", "readinessProbe", "ports", "env"):
        del container[key]
    container["args"] = ["readout", "emulate", "--name", "card", "--interval", "1min", *words]
    container["volumeMounts"] = [each for each in container["volumeMounts"] if each["mountPath"] == "/dev/shm"]
    container["volumeMounts"].append({"mountPath": "/out", "name": "out"})
    template["spec"]["volumes"].append({"name": "out", "hostPath": {"path": "/out"}})
    return template


@dataclass
class OnNode:
    """The readout of one test. `sources` and `links` are for `expect_right`."""

    controller: Controller
    documents: list[Manifest]
    handlers: int
    links: int = LINKS

    @property
    def sources(self) -> list[int]:
        return list(range(self.handlers))

    @property
    def folder(self) -> Path:
        return self.controller.node.folder

    def card(self, *words: object, rate: str = "2kHz", buffer: str = "8MiB", **more: Any) -> Pod:
        out = self.controller.node.host_path("/out")
        out.mkdir(parents=True, exist_ok=True)
        out.chmod(0o777)
        fixed = ["--buffers", self.handlers, "--elinks", self.handlers * self.links, "--buffer-size", buffer]
        fixed += ["--packet-bytes", "8-40", "--rate", rate, "--tally", "/out/tally.json", *words]
        return self.controller.add("card", card_template(self.documents, [*map(str, fixed)]), **more)

    @property
    def tally(self) -> Any:
        return json.loads((self.controller.node.host_path("/out") / "tally.json").read_text())

    def run(self, **options: Any) -> tuple[Pod, list[Pod], Pod]:
        """Starts a card, all handlers and a collector, and waits until events are safe in its file."""
        card = self.card(**options)
        handlers, collector = self.controller.all_of("dh"), self.controller.pod("collector", 0)
        for each in handlers:
            wait_ready(each)
        self.wait_for_clears()
        return card, handlers, collector

    def handler(self, number: int) -> Pod:
        return self.controller.pods[f"dh-{number}"]

    def wait_for_clears(self, handler: int = 0, more: int = 2, seconds: float = 180) -> None:
        pod = self.handler(handler)
        enough = pod.metric("fragments_cleared_total") + more
        wait_for(lambda: pod.metric("fragments_cleared_total") >= enough, f"clears of {pod.name}: {pod.said}", seconds)

    def end_of_collector(self) -> None:
        """Waits until the collector has completed its file because the run was over, and ends the one after it."""
        collector = self.controller.pods["collector-0"]
        wait_for(lambda: collector.ends and collector.is_up(), f"it ends: {collector.said}")
        assert collector.ends[-1].code == 0, collector.ends
        collector.delete(0)

    def files(self) -> list[Path]:
        """Returns those that are complete: a collector that was killed, or is killed before it meets a run, leaves a
        journal beside its file."""
        return [path for path in self.all_files() if not path.with_name(f"{path.name}.journal").exists()]

    def all_files(self) -> list[Path]:
        return sorted((self.folder / "claims" / "data-collector-0").glob("*.root"))

    def read(self) -> Events:
        """Reads all files of the collector, each checked byte by byte against what the card sends."""
        return Events.together([expect_right(path, self) for path in self.files()])  # type: ignore[arg-type]

    def counters(self) -> dict[str, int]:
        """Returns what collectors counted, as it is kept in their files."""
        total: dict[str, int] = {}
        for path in self.files():
            for name, count in json.loads(thalweg.open(path).metadata["counters"]).items():
                total[name] = total.get(name, 0) + count
        return total
