"""The image that `make image` builds: what it is, and how soon it has an event in a file."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from cluster import BIN, needed
from conftest import MakeReadout
from node import TINI, unpacked
from readout_programs import wait_for

import thalweg

MOST_BYTES = 200e6
MOST_S = 60  # on a machine that does nothing else; the limit of the test leaves room for what else it does


@pytest.fixture
def layout(repository: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip("the image is built as root only: run `make check-deploy` as root")
    return needed(repository / "build" / "image" / "oci", "run `make image` as root")


def blob(layout: Path, digest: str) -> Path:
    return layout / "blobs" / digest.replace(":", "/")


def test_hadolint_finds_nothing_in_the_container_file(repository: Path) -> None:
    done = subprocess.run([BIN / "hadolint", repository / "Containerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_is_small_and_its_user_is_not_root(layout: Path) -> None:
    index = json.loads((layout / "index.json").read_text())
    manifest = json.loads(blob(layout, index["manifests"][0]["digest"]).read_text())
    size = sum(each["size"] for each in manifest["layers"])
    print(f"{size / 1e6:.0f} MB compressed")
    assert size <= MOST_BYTES
    config = json.loads(blob(layout, manifest["config"]["digest"]).read_text())["config"]
    assert (config["User"], config["Entrypoint"]) == ("1000:1000", [*TINI, "thalweg"])


def test_the_first_event_is_soon_in_a_file(layout: Path, make_readout: MakeReadout, tmp_path: Path) -> None:
    """It takes a card, two handlers and a collector, each in a container of the image, on a read-only root."""
    begin_s = time.monotonic()
    readout = make_readout(2, unpacked(layout, tmp_path / "bundle"))
    unpacked_s = time.monotonic() - begin_s
    card = readout.card()
    handlers, collector = readout.controller.all_of("dh"), readout.controller.pod("collector", 0)
    wait_for(lambda: any(map(events_of, readout.all_files())), f"{card.said}{handlers[0].said}{collector.said}")
    took_s = time.monotonic() - begin_s
    print(f"first event after {took_s:.1f} s, of which {unpacked_s:.1f} s to unpack the image")
    assert took_s <= 5 * MOST_S
    assert collector.inside("thalweg", "--version").stdout == f"thalweg {thalweg.__version__}\n"
    for pod in (card, *handlers, collector):
        pod.delete(0)
    shutil.rmtree(tmp_path / "bundle")


def events_of(path: Path) -> int:
    try:
        return len(thalweg.open(path)["events"])
    except thalweg.Error:
        return 0
