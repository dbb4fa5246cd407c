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


def test_one_command_leads_from_the_image_to_a_file(layout: Path, repository: Path, tmp_path: Path) -> None:
    """Podman has a storage of its own here. Its containers get low limits, since not every root may raise them."""
    limits = ["nofile=1024:1024", "nproc=1024:1024"]
    engine = 'cgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "runc"\n'
    (tmp_path / "containers.conf").write_text(f"[containers]\ndefault_ulimits = {limits}\n[engine]\n{engine}")
    places = f'graphroot = "{tmp_path}/storage"\nrunroot = "{tmp_path}/run"\n'
    (tmp_path / "storage.conf").write_text(f'[storage]\ndriver = "overlay"\n{places}')
    names = {"CONTAINERS_CONF": tmp_path / "containers.conf", "CONTAINERS_STORAGE_CONF": tmp_path / "storage.conf"}
    environment = os.environ | {name: str(path) for name, path in names.items()}
    words = [repository / "deploy" / "podman" / "first_event", tmp_path / "first", f"oci:{layout}:thalweg"]
    try:
        done = subprocess.run([*map(str, words)], env=environment, capture_output=True, text=True, check=False)
        print(done.stdout)
        assert done.returncode == 0, done.stderr
        left = subprocess.run(["podman", "ps", "-aq"], env=environment, capture_output=True, text=True, check=True)
    finally:
        subprocess.run(["podman", "rmi", "-af"], env=environment, capture_output=True, check=True)
        subprocess.run(["umount", "--lazy", tmp_path / "storage" / "overlay"], capture_output=True, check=False)
    assert left.stdout == ""
    assert int(done.stdout.split()[-2]) <= 5 * MOST_S
    assert "is complete" in (tmp_path / "first" / "collector.log").read_text()
    assert events_of(tmp_path / "first" / "events.root") > 0
    again = subprocess.run([*map(str, words)], env=environment, capture_output=True, text=True, check=False)
    assert (again.returncode, "first is there already" in again.stderr) == (1, True)


def events_of(path: Path) -> int:
    try:
        return len(thalweg.open(path)["events"])
    except thalweg.Error:
        return 0
