"""What tests need of a kubelet and of the controller of StatefulSets: pods are run, asked, restarted and ended."""

from __future__ import annotations

import contextlib
import copy
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from containers import Manifest, Volumes, configuration, write
from node import Node
from readout_programs import wait_for

SHIM = Path(__file__).with_name("shim.py")
BACK_OFF_S = (0, 10, 20, 40, 80, 160, 300)  # before a container is started again


@dataclass(frozen=True)
class End:
    """How a container ended. `memory`: how many of its processes the kernel killed for its limit."""

    code: int
    memory: int
    said: str


@dataclass
class Pod:
    """One pod of one container, from the manifest of its set. It is asked, and restarted, until it is deleted."""

    node: Node
    name: str
    template: Manifest
    objects: list[Manifest]
    seccomp: Manifest
    folder: Path
    claims: dict[str, Path] = field(default_factory=dict)
    change: Callable[[Manifest], None] = lambda _: None  # of what the runtime is told, for faults
    restarts: int = 0
    restarts_long_ago: int = 0  # a kubelet forgets those before ten minutes in which the container has run
    ready: bool = False
    ends: list[End] = field(default_factory=list)
    answers: list[tuple[str, int, str]] = field(default_factory=list)  # of probes: path, status, text

    def __post_init__(self) -> None:
        self.spec: Manifest = copy.deepcopy(self.template["spec"])
        self.folder.mkdir(parents=True)
        self.network = self.node.connect(self.name)
        self.volumes = Volumes(self.node, self.folder / "volumes", self.spec, self.objects)
        for name, path in self.claims.items():
            self.volumes.claim(name, path)
        self.hosts = self.folder / "hosts"
        self.volumes.paths["/etc/hosts"] = self.hosts
        self.hosts.touch()
        self.is_leaving = threading.Event()
        self._is_deleted = threading.Event()
        self.container = self.spec["containers"][0]
        self.group = f"/{self.node.name}/{self.name}-{self.folder.name}"

    def start(self) -> None:
        self._threads = [threading.Thread(target=self._keep, daemon=True)]
        for kind in ("livenessProbe", "readinessProbe"):
            if kind in self.container:
                self._threads.append(threading.Thread(target=self._ask, args=(kind,), daemon=True))
        for each in self._threads:
            each.start()

    @property
    def address(self) -> str:
        return self.network[1]

    @property
    def log(self) -> Path:
        return self.folder / f"{self.restarts}.log"

    @property
    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    @property
    def pid(self) -> int:
        """Returns the number of the container's first process, as the node sees it."""
        return int((self._bundle / "pid").read_text())

    def is_up(self) -> bool:
        """Whether the container of the latest start has its first process."""
        return (self._bundle / "pid").exists() and not (self._bundle / "end").exists()

    @property
    def _id(self) -> str:
        return f"{self.node.name}-{self.name}-{self.folder.name}-{self.restarts}"

    @property
    def _bundle(self) -> Path:
        return self.folder / f"bundle{self.restarts}"

    def _keep(self) -> None:
        """Runs the container again and again, until the pod is deleted."""
        while not self.is_leaving.is_set():
            end = self._run_once()
            self.ends.append(end)
            self.ready = False
            delay_s = BACK_OFF_S[min(self.restarts - self.restarts_long_ago, len(BACK_OFF_S) - 1)]
            if not self.is_leaving.wait(delay_s):
                self.restarts += 1
        self._is_deleted.set()

    def _run_once(self) -> End:
        spec = configuration(self.name, self.spec, self.node, self.volumes, self.network, self.group, self.seccomp)
        self.change(spec)
        bundle = self._bundle
        write(bundle, spec)
        with self.log.open("w") as log:
            words = [sys.executable, SHIM, bundle, self._id, self.node.folder / "runc", self.group]
            subprocess.run([*map(str, words)], stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False)
        end = json.loads((bundle / "end").read_text())
        return End(end["code"], end["memory"], self.said)

    def signal(self, name: str) -> bool:
        """Sends a signal to the first process of the container, and returns whether there is one."""
        words = ["runc", "--root", self.node.folder / "runc", "kill", self._id, name]
        return subprocess.run([*map(str, words)], capture_output=True, check=False).returncode == 0

    def _ask(self, kind: str) -> None:
        """Asks as a kubelet does: each period, with its timeout, and acts when it failed so often in a row."""
        self.node.join()
        probe = self.container[kind]
        ports = {each["name"]: each["containerPort"] for each in self.container["ports"]}
        path, port = probe["httpGet"]["path"], ports[probe["httpGet"]["port"]]
        failures = 0
        while not self._is_deleted.wait(probe.get("periodSeconds", 10)):
            if kind == "livenessProbe" and self.is_leaving.is_set():
                return
            status, text = asked(self.address, port, path, probe.get("timeoutSeconds", 1))
            self.answers.append((path, status, text))
            failures = 0 if 200 <= status < 400 else failures + 1
            if kind == "readinessProbe":
                self.ready = failures == 0 or (self.ready and failures < probe.get("failureThreshold", 3))
            elif failures >= probe.get("failureThreshold", 3):
                failures = 0
                self.signal("TERM")

    def inside(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Runs a command in the container, as `kubectl exec` does."""
        runc = ["runc", "--root", self.node.folder / "runc", "exec", self._id, *words]
        return subprocess.run([*map(str, runc)], capture_output=True, text=True, check=False)

    def status(self, name: str) -> str:
        """Returns a line of /proc/PID/status of the first process."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))

    def page(self, path: str) -> tuple[int, str]:
        """Returns what a page of the pod says to a client on the node."""
        port = next(each["containerPort"] for each in self.container["ports"] if each["name"] == "metrics")
        return page_on(self.node, self.address, port, path)

    def metric(self, name: str, label: str = "") -> float:
        lines = self.page("/metrics")[1].splitlines()
        mine = (line for line in lines if line.startswith(f"thalweg_readout_{name}{{") and label in line)
        return sum(float(line.split()[-1]) for line in mine)

    def delete(self, grace_s: float | None = None) -> End:
        """Ends the pod as the API server asks for it: SIGTERM, and SIGKILL after the grace period. 0: at once."""
        grace = self.spec.get("terminationGracePeriodSeconds", 30) if grace_s is None else grace_s
        wait_for(lambda: self.is_up() or self.restarts < len(self.ends), f"{self.name} is made: {self.said}")
        self.is_leaving.set()
        if grace:
            self.signal("TERM")
        if not self._is_deleted.wait(grace):
            self.signal("KILL")
        assert self._is_deleted.wait(120), f"{self.name} does not end"
        for each in self._threads:
            each.join(60)
        self.volumes.close()
        self.node.disconnect(self.network[0])
        return self.ends[-1]


def asked(address: str, port: int, path: str, timeout_s: float) -> tuple[int, str]:
    """Returns status and text. Status 0: no answer in time."""
    connection = http.client.HTTPConnection(address, port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()


def page_on(node: Node, address: str, port: int, path: str) -> tuple[int, str]:
    """Returns what a page says to a client on this node."""
    answer: list[tuple[int, str]] = []

    def ask() -> None:
        node.join()
        answer.append(asked(address, port, path, 30))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return answer[0]


class Controller:
    """Makes the pods of StatefulSets, and gives them their names."""

    def __init__(self, node: Node, objects: list[Manifest], seccomp: Manifest) -> None:
        self.node, self.objects, self._seccomp = node, objects, seccomp
        self._sets = {each["metadata"]["name"]: each for each in objects if each["kind"] == "StatefulSet"}
        self.pods: dict[str, Pod] = {}
        self.made = 0

    def pod(self, of: str, number: int, **more: Any) -> Pod:
        """Makes the pod of this number of a set, and starts it."""
        made = self._sets[of]
        name, spec = f"{of}-{number}", made["spec"]
        claims = {
            each["metadata"]["name"]: self.node.folder / "claims" / f"{each['metadata']['name']}-{name}"
            for each in spec.get("volumeClaimTemplates", [])
        }
        return self.add(name, spec["template"], claims=claims, **more)

    def add(self, name: str, template: Manifest, **more: Any) -> Pod:
        self.made += 1
        folder = self.node.folder / "pods" / name / str(self.made)
        pod = Pod(self.node, name, template, self.objects, self._seccomp, folder, **more)
        self.pods[name] = pod
        self._name_all()
        pod.start()
        return pod

    def _name_all(self) -> None:
        """Says to all pods where all others are, in the place of a server of names: the file changes, and stays."""
        services = {name: each["spec"]["serviceName"] for name, each in self._sets.items()}
        lines = ["127.0.0.1 localhost"]
        for name, address in self.node.names.items():
            service = services.get(name.rpartition("-")[0])
            lines.append(f"{address} {name}{f' {name}.{service}' if service else ''}")
        for pod in self.pods.values():
            pod.hosts.write_text("\n".join(lines) + "\n")

    def all_of(self, of: str) -> list[Pod]:
        return [self.pod(of, number) for number in range(self._sets[of]["spec"]["replicas"])]

    def replace(self, pod: Pod, grace_s: float | None = None) -> tuple[End, Pod]:
        """Deletes a pod of a set, makes the next one of its name, and waits until that is ready."""
        of, _, number = pod.name.rpartition("-")
        end = pod.delete(grace_s)
        made = self.pod(of, int(number))
        wait_ready(made)
        return end, made

    def close(self) -> None:
        for pod in self.pods.values():
            if not pod._is_deleted.is_set():
                with contextlib.suppress(AssertionError):
                    pod.delete(0)
        for controller in Path("/sys/fs/cgroup").iterdir():
            group = controller / self.node.name
            for each in (*group.glob("*"), group):
                if each.is_dir():
                    with contextlib.suppress(OSError):
                        each.rmdir()


def wait_ready(pod: Pod) -> None:
    wait_for(lambda: pod.ready or pod.ends, f"{pod.name} is not ready: {pod.answers[-1:]}", 300)
    assert pod.ready, pod.ends
