"""The manifests, as kustomize makes them: they fit each other and the program, and planted faults are found."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_checks import KUBERNETES, problems
from planted_manifests import FAULTS

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


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, base: str) -> None:
    old, new = FAULTS[name]
    assert old in base
    documents: list[Any] = list(yaml.safe_load_all(base.replace(old, new)))
    assert problems(documents) != []
