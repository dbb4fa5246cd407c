"""A node for pods: a network of its own, a /dev/shm of its own, and the root of the container's image.

No registry of images can be assumed, so the root is made of the read-only folders of this machine and the virtual
environment that is tested. Everything is inside one folder and one network namespace, and goes away with `close`.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

NETWORK, GATEWAY = "10.88.0.0/16", "10.88.0.1"
USER = 1000
CLONE_NEWNET = 0x40000000
VENV = Path(sys.prefix)
# These folders of this machine have the interpreter, and the libraries of the package.
READ_ONLY = ("/usr", "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime")
TINI = ["/usr/bin/tini", "--"]  # process 1 of the image
LINKS = ("bin", "lib", "lib64", "sbin")


def run(*words: object) -> str:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


@dataclass
class Image:
    """What a container sees as its root, and what its image says of it."""

    root: Path
    mounts: list[Path]
    entrypoint: list[str]
    path: str


def image_of_this_machine(folder: Path) -> Image:
    root = folder / "root"
    mounts = [*map(Path, READ_ONLY), VENV, Path(sys.base_prefix)]
    mounts = [each for each in dict.fromkeys(mounts) if each.exists() and each != Path("/usr/local")]
    for name in ("proc", "dev", "sys", "etc", "run", "data", "etc/thalweg", "run/secrets/thalweg"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for each in LINKS:
        (root / each).symlink_to(f"usr/{each}")
    for each in mounts:
        inside = root / each.relative_to("/")
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.mkdir(exist_ok=True) if each.is_dir() else inside.touch()
    (root / "etc" / "passwd").write_text(f"thalweg:x:{USER}:{USER}::/:/bin/sh\n")
    (root / "etc" / "group").write_text(f"thalweg:x:{USER}:\n")
    (root / "etc" / "nsswitch.conf").write_text("hosts: files\n")
    (root / "etc" / "hosts").touch()
    return Image(root, mounts, [*TINI, "thalweg"], f"{VENV / 'bin'}:/usr/bin:/bin")


def unpacked(layout: Path, folder: Path) -> Image:
    """Returns the image of a layout of OCI, unpacked into this folder."""
    run("umoci", "unpack", "--image", f"{layout}:thalweg", folder)
    process = json.loads((folder / "config.json").read_text())["process"]
    path = next(each for each in process["env"] if each.startswith("PATH="))
    return Image(folder / "rootfs", [], process["args"], path.removeprefix("PATH="))


@dataclass
class Node:
    folder: Path
    image: Image
    shm_bytes: int = 256 << 20
    names: dict[str, str] = field(default_factory=dict)  # of pods, and their addresses

    def __post_init__(self) -> None:
        self.name = f"thalweg-{os.getpid()}-{next(_numbers)}"
        self._addresses = itertools.count(2)
        self._pods: set[str] = set()
        self.shm.mkdir(parents=True)
        try:
            run("mount", "-t", "tmpfs", "-o", f"size={self.shm_bytes},mode=1777", "thalweg-shm", self.shm)
            run("ip", "netns", "add", self.name)
            for words in (
                "link set lo up",
                "link add pods type bridge",
                f"address add {GATEWAY}/16 dev pods",
                "link set pods up",
            ):
                self._ip(*words.split())
        except BaseException:
            self.close()
            raise

    def _ip(self, *words: object) -> None:
        run("ip", "-n", self.name, *words)

    @property
    def shm(self) -> Path:
        """The /dev/shm of this node: paths of the host lie in `folder`/host."""
        return self.folder / "host" / "dev" / "shm"

    def host_path(self, path: str) -> Path:
        return self.folder / "host" / path.lstrip("/")

    def connect(self, pod: str) -> tuple[Path, str]:
        """Gives a new pod a network with a new address, and returns both."""
        number = next(self._addresses)
        address, mine = f"10.88.{number // 250}.{number % 250 + 2}", f"pod{number}"
        inside = f"{self.name}-{number}"
        run("ip", "netns", "add", inside)
        self._pods.add(inside)
        self._ip("link", "add", mine, "type", "veth", "peer", "name", "eth0", "netns", inside)
        self._ip("link", "set", mine, "master", "pods", "up")
        for words in ("link set lo up", f"address add {address}/16 dev eth0", "link set eth0 up"):
            run("ip", "-n", inside, *words.split())
        self.names[pod] = address
        return Path("/run/netns") / inside, address

    def disconnect(self, network: Path) -> None:
        run("ip", "netns", "delete", network.name)
        self._pods.discard(network.name)

    def join(self) -> None:
        """Takes this thread, and no other, into the network of the node."""
        with open(f"/run/netns/{self.name}") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot join {self.name}")

    def close(self) -> None:
        for name in [*self._pods, self.name]:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
        subprocess.run(["umount", "--lazy", self.shm], capture_output=True, check=False)


_numbers = itertools.count()
