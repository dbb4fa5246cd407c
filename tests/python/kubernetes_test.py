"""The manifests, as kustomize makes them: they fit each other and the program, and planted faults are found."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_checks import KUBERNETES, problems

TOPOLOGY = "pack:1 numa:1 l3:4 core:8 pu:2"


def kustomized(folder: Path) -> str:
    kubectl = Path(sys.executable).with_name("kubectl")
    return subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=True).stdout


def overlay(config: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    (folder.parent / "token").write_text("secret\n")
    words = [config, folder, "--image", "example.org/thalweg:1", "--token", folder.parent / "token"]
    program = [sys.executable, KUBERNETES / "site.py", *words, "--topology", TOPOLOGY]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def base() -> str:
    return kustomized(KUBERNETES / "base")


def test_nothing_is_wrong(base: str) -> None:
    assert problems(list(yaml.safe_load_all(base))) == []


def test_the_overlay_of_a_site(tmp_path: Path) -> None:
    """Three handlers; each building thread and each serving thread of the plan has a processor."""
    text = (KUBERNETES / "base" / "readout.toml").read_text()
    third = text[text.index('[[handler]]\nname = "dh-1"') :].replace("dh-1", "dh-2").replace("dma = 1", "dma = 2")
    config = tmp_path / "readout.toml"
    config.write_text(text + third.replace("0x1001", "0x1002"))
    done = overlay(config, tmp_path / "site")
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "3 handlers, each with 3 processors and 1Gi"), (
        done.stderr
    )
    documents = list(yaml.safe_load_all(kustomized(tmp_path / "site")))
    assert problems(documents) == []
    made = next(
        each["spec"] for each in documents if each["kind"] == "StatefulSet" and each["metadata"]["name"] == "dh"
    )
    assert made["replicas"] == 3
    container = made["template"]["spec"]["containers"][0]
    assert container["image"] == "example.org/thalweg:1"
    assert container["resources"]["limits"] == {"cpu": "3", "memory": "1Gi"}


def test_the_memory_of_a_handler_has_room_for_what_it_may_queue(tmp_path: Path) -> None:
    text = (KUBERNETES / "base" / "readout.toml").read_text()
    (tmp_path / "readout.toml").write_text(text.replace("[server]\n", '[server]\nqueued_total = "5GiB"\n'))
    done = overlay(tmp_path / "readout.toml", tmp_path / "site")
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "2 handlers, each with 3 processors and 6Gi"), (
        done.stderr
    )
    (tmp_path / "taken").write_text("")
    refused = overlay(tmp_path / "readout.toml", tmp_path / "taken")
    assert refused.returncode == 2
    assert refused.stderr.startswith("site.py: cannot write the overlay")


def test_a_configuration_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    text = (KUBERNETES / "base" / "readout.toml").read_text()
    (tmp_path / "readout.toml").write_text(text.replace('"dh-1"', '"other"'))
    done = overlay(tmp_path / "readout.toml", tmp_path / "site")
    assert done.returncode == 2
    assert 'write name = "dh-1"' in done.stderr
    assert not (tmp_path / "site").exists()


FAULTS = {
    "misspelt field": ("terminationGracePeriodSeconds: 25", "terminationGracePeriod: 25"),
    "misspelt probe": ("livenessProbe:", "liveProbe:"),
    "a budget that is no number": ("maxUnavailable: 1", "maxUnavailable: one"),
    "budget of all": ("maxUnavailable: 1", "maxUnavailable: 2"),
    "replicas as text": ("replicas: 2", 'replicas: "two"'),
    "a pod too many": ("replicas: 2", "replicas: 3"),
    "label of the pods": ("labels:\n        app.kubernetes.io/name: thalweg-readout", "labels:\n        app: thalweg"),
    "selector of a service": (
        "selector:\n    app.kubernetes.io/name: thalweg-collector",
        "selector:\n    app: collector",
    ),
    "source of the policy": (
        "podSelector:\n        matchLabels:\n          app.kubernetes.io/name: thalweg-collector",
        "podSelector:\n        matchLabels:\n          app.kubernetes.io/name: collectors",
    ),
    "name of the service": ("serviceName: dh", "serviceName: handlers"),
    "label of the job": ("jobLabel: app.kubernetes.io/name", "jobLabel: app"),
    "unknown probe port": ("path: /healthz\n            port: metrics", "path: /healthz\n            port: http"),
    "probe at the wrong port": ("path: /readyz\n            port: metrics", "path: /readyz\n            port: events"),
    "unknown page": ("path: /healthz", "path: /health"),
    "killed without a card": ("path: /healthz", "path: /readyz"),
    "ready without a card": ("path: /readyz", "path: /healthz"),
    "port of the container": ("containerPort: 7800", "containerPort: 7801"),
    "port of the service": ("port: 7700\n    targetPort", "port: 7701\n    targetPort"),
    "target of the service": ("targetPort: events", "targetPort: event"),
    "port of the policy": ("- port: metrics\n  podSelector", "- port: monitor\n  podSelector"),
    "scraped port": ("path: /metrics\n    port: metrics", "path: /metrics\n    port: web"),
    "misspelt option": ("- --drain", "- --drains"),
    "misspelt command": ("- serve", "- server"),
    "option of another command": ("readout collect --config", "readout collect --handlers x --config"),
    "variable without value": ("$(POD_NAME)", "$(POD)"),
    "variable of another field": ("fieldPath: metadata.name", "fieldPath: metadata.namespace"),
    "too short to drain": ("terminationGracePeriodSeconds: 25", "terminationGracePeriodSeconds: 20"),
    "too short for a file": ("terminationGracePeriodSeconds: 150", "terminationGracePeriodSeconds: 30"),
    "colon in a path": ("mountPath: /data", "mountPath: /data:rw"),
    "folder of the configuration": ("mountPath: /etc/thalweg", "mountPath: /etc/readout"),
    "folder of the file": ("--out /data/", "--out /files/"),
    "unknown volume": ("mountPath: /dev/shm\n          name: card", "mountPath: /dev/shm\n          name: cards"),
    "no buffers": ("path: /dev/shm", "path: /dev/memory"),
    "root": ("runAsNonRoot: true", "runAsNonRoot: false"),
    "writable root": ("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"),
    "rights": ("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true"),
    "capabilities": ("drop:\n            - ALL", "add:\n            - SYS_ADMIN"),
    "token of the cluster": ("automountServiceAccountToken: false", "automountServiceAccountToken: true"),
    "network of the host": (
        "automountServiceAccountToken: false",
        "automountServiceAccountToken: false\n      hostNetwork: true",
    ),
    "requests above limits": ('requests:\n            cpu: "3"', 'requests:\n            cpu: "4"'),
    "shared processors": ('cpu: "3"', 'cpu: "2.5"'),
    "names of pods that drain": ("publishNotReadyAddresses: true", "publishNotReadyAddresses: false"),
    "unknown key of the readout": ("expected_rate =", "rate ="),
    "rate without unit": ('expected_rate = "100kHz"', 'expected_rate = "100 per s"'),
    "two groups with one source id": ("source_id = 0x1001", "source_id = 0x1000"),
    "two handlers of one buffer": ("dma = 1", "dma = 0"),
    "network that is none": ("10.0.0.0/8", "10.0.0.0/40"),
    "name of a handler": ('name = "dh-1"', 'name = "dh1"'),
    "address of a handler": ('address = "dh-1.dh:7700"', 'address = "dh-1:7700"'),
    "port of the metrics": ('metrics = "dh-0:7800"', 'metrics = "dh-0:7900"'),
    "token elsewhere": ("/run/secrets/thalweg/token", "/run/secrets/token"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, base: str) -> None:
    old, new = FAULTS[name]
    assert old in base
    documents: list[Any] = list(yaml.safe_load_all(base.replace(old, new)))
    assert problems(documents) != []
