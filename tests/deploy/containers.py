"""What a container runtime is told (config.json of OCI) for a container of a pod, as the manifest has it."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

from node import USER, Image, Node, run

Manifest = dict[str, Any]
PERIOD_US = 100_000
SHARED = ("nosuid", "noexec", "nodev")


def expanded(text: str, variables: dict[str, str]) -> str:
    """Replaces $(NAME) as Kubernetes does: what is no variable stays as it is."""
    return re.sub(r"\$\(([^)]*)\)", lambda found: variables.get(found[1], found[0]), text)


def bytes_of(size: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([KMGT]i)?", size).groups()  # type: ignore[union-attr]
    return int(number) << {None: 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}[unit]


class Volumes:
    """The volumes of one pod, in a folder of their own, as a kubelet makes them."""

    def __init__(self, node: Node, folder: Path, pod: Manifest, objects: list[Manifest]) -> None:
        self._folder, self._objects = folder, objects
        self.group = pod["securityContext"]["fsGroup"]
        self._mounted: list[Path] = []
        self.paths = {each["name"]: self._make(node, each) for each in pod["volumes"]}

    def claim(self, name: str, folder: Path) -> None:
        """Adds the volume of a claim, which outlives its pod."""
        folder.mkdir(parents=True, exist_ok=True)
        os.chown(folder, 0, self.group)
        folder.chmod(0o2775)
        self.paths[name] = folder

    def _make(self, node: Node, volume: Manifest) -> Path:
        if "hostPath" in volume:
            return node.host_path(volume["hostPath"]["path"])
        path = self._folder / volume["name"]
        path.mkdir(parents=True)
        if "emptyDir" in volume:
            asked = volume["emptyDir"]
            size = bytes_of(asked.get("sizeLimit", "1Gi"))
            if asked.get("medium") == "Memory":
                run("mount", "-t", "tmpfs", "-o", f"size={size}", "thalweg-volume", path)
                self._mounted.append(path)
            os.chown(path, 0, self.group)
            path.chmod(0o2777)
        else:
            self.publish(volume)
        return path

    def publish(self, volume: Manifest) -> None:
        """Writes the files of a ConfigMap or a Secret beside each other and changes to them at once, by a link."""
        of_secret = "secret" in volume
        name = volume["secret"]["secretName"] if of_secret else volume["configMap"]["name"]
        kind = "Secret" if of_secret else "ConfigMap"
        data = next(it["data"] for it in self._objects if (it["kind"], it["metadata"]["name"]) == (kind, name))
        mode = (
            volume["secret"].get("defaultMode", 0o644) if of_secret else volume["configMap"].get("defaultMode", 0o644)
        )
        path = self._folder / volume["name"]
        version = path / f"..{len(list(path.iterdir()))}"
        version.mkdir()
        for key, value in data.items():
            file = version / key
            file.write_bytes(base64.b64decode(value) if of_secret else value.encode())
            os.chown(file, 0, self.group)
            file.chmod(mode)
        (path / "..data_tmp").symlink_to(version.name)
        (path / "..data_tmp").rename(path / "..data")
        for key in data:
            if not (path / key).is_symlink():
                (path / key).symlink_to(f"..data/{key}")

    def close(self) -> None:
        for path in self._mounted:
            run("umount", "--lazy", path)


def _bind(source: Path, destination: str, *, read_only: bool) -> Manifest:
    options = ["rbind", "ro" if read_only else "rw"]
    return {"destination": destination, "source": str(source), "type": "bind", "options": options}


def _mounts(container: Manifest, volumes: Volumes, image: Image, hosts: Path) -> list[Manifest]:
    made = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
        {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["newinstance", "gid=5"]},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": [*SHARED, "ro"]},
        {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": [*SHARED, "ro"]},
        *(_bind(each, str(each), read_only=True) for each in image.mounts),
        _bind(hosts, "/etc/hosts", read_only=True),
    ]
    if not any(each["mountPath"] == "/dev/shm" for each in container["volumeMounts"]):  # what containerd gives
        size = ["size=65536k", "mode=1777"]
        made.append({"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": [*SHARED, *size]})
    for each in container["volumeMounts"]:
        made.append(_bind(volumes.paths[each["name"]], each["mountPath"], read_only=each.get("readOnly", False)))
    return made


def _words(container: Manifest, image: Image, variables: dict[str, str]) -> list[str]:
    words = [*container.get("command", image.entrypoint), *container.get("args", [])]
    return [expanded(word, variables) for word in words]


def _variables(container: Manifest, name: str, address: str) -> dict[str, str]:
    fields = {"metadata.name": name, "status.podIP": address}
    return {
        each["name"]: each["value"] if "value" in each else fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in container.get("env", [])
    }


def configuration(
    name: str, pod: Manifest, node: Node, volumes: Volumes, network: tuple[Path, str], group: str, seccomp: Manifest
) -> Manifest:
    """Returns config.json for the one container of a pod."""
    container, security = pod["containers"][0], pod["securityContext"]
    own, limits = container["securityContext"], container["resources"]["limits"]
    assert security["seccompProfile"]["type"] == "RuntimeDefault"
    assert own["capabilities"] == {"drop": ["ALL"]}
    variables = _variables(container, name, network[1])
    user = {"uid": security["runAsUser"], "gid": security["runAsGroup"], "additionalGids": [security["fsGroup"]]}
    assert user["uid"] == USER or not security.get("runAsNonRoot")
    kinds = [{"type": each} for each in ("pid", "ipc", "uts", "mount")]
    return {
        "ociVersion": "1.0.2",
        "hostname": name,
        "root": {"path": str(node.image.root), "readonly": own["readOnlyRootFilesystem"]},
        "process": {
            "user": user,
            "args": _words(container, node.image, variables),
            "env": [f"PATH={node.image.path}", *(f"{key}={value}" for key, value in variables.items())],
            "cwd": "/",
            "capabilities": {},
            "noNewPrivileges": not own["allowPrivilegeEscalation"],
        },
        "mounts": _mounts(container, volumes, node.image, volumes.paths["/etc/hosts"]),
        "linux": {
            "cgroupsPath": group,
            "namespaces": [*kinds, {"type": "network", "path": str(network[0])}],
            "resources": {
                "memory": {"limit": bytes_of(limits["memory"])},
                "cpu": {"quota": int(float(limits["cpu"]) * PERIOD_US), "period": PERIOD_US},
                "devices": [{"allow": False, "access": "rwm"}],
            },
            "seccomp": seccomp,
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
            "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
        },
    }


def write(bundle: Path, spec: Manifest) -> None:
    bundle.mkdir(parents=True, exist_ok=True)
    (bundle / "config.json").write_text(json.dumps(spec))
