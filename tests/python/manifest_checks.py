"""What no schema knows of the manifests: whether names, ports, paths and options fit each other and the program."""

import base64
import contextlib
import importlib.util
import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
from recording import THALWEG

from thalweg._base.errors import Error

Documents = list[dict[str, Any]]
KUBERNETES = Path(__file__).parents[2] / "deploy" / "kubernetes"
PAGES = ("/healthz", "/readyz", "/metrics")
TINI = ["/usr/bin/tini", "--"]
JOB = "thalweg-readout"  # what alerts and dashboards ask for


def load_site() -> Any:
    spec = importlib.util.spec_from_file_location("site_overlay", KUBERNETES / "site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def help_of(*words: str) -> str:
    return subprocess.run([THALWEG, *words, "--help"], capture_output=True, text=True, check=True).stdout


def kinds(documents: Documents, *names: str) -> Documents:
    return [each for each in documents if each["kind"] in names]


def problems(documents: Documents) -> list[str]:
    checks = (of_schemas, of_selectors, of_ports, of_commands, of_mounts, of_security, of_ends, of_configuration)
    return [problem for check in checks for problem in check(documents)]


def of_schemas(documents: Documents) -> Iterator[str]:
    for each in documents:
        if each["kind"] == "PodMonitor":  # it is no kind of Kubernetes itself
            continue
        try:
            kubernetes_validate.validate(each, "1.34", strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{each['kind']}: {error.message}"


def pods(documents: Documents) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"]["template"] for each in kinds(documents, "StatefulSet")}


def of_selectors(documents: Documents) -> Iterator[str]:
    labels = [pod["metadata"]["labels"] for pod in pods(documents).values()]
    for each in documents:
        spec = each.get("spec", {})
        name = "podSelector" if each["kind"] == "NetworkPolicy" else "selector"
        selector = spec.get(name, {})
        wanted = selector if each["kind"] == "Service" else selector.get("matchLabels", {})
        if name in spec and not (wanted and any(wanted.items() <= has.items() for has in labels)):
            yield f"{each['kind']} {each['metadata']['name']} selects no pod"
        sources = [source for rule in spec.get("ingress", []) for source in rule["from"] if "podSelector" in source]
        for source in sources:
            if not any(source["podSelector"]["matchLabels"].items() <= has.items() for has in labels):
                yield "the network policy lets no pod in"
    services = {each["metadata"]["name"] for each in kinds(documents, "Service")}
    for each in kinds(documents, "StatefulSet"):
        if each["spec"]["serviceName"] not in services:
            yield f"there is no service {each['spec']['serviceName']}"
    for each in kinds(documents, "PodMonitor"):
        label = each["spec"].get("jobLabel")
        if pods(documents)["dh"]["metadata"]["labels"].get(label) != JOB:
            yield f"the label {label} does not make the job {JOB}"


def containers(documents: Documents) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for pod in pods(documents).values():
        for container in pod["spec"]["containers"]:
            yield pod["spec"], container


def of_ports(documents: Documents) -> Iterator[str]:
    named = {port["name"]: port["containerPort"] for _, it in containers(documents) for port in it.get("ports", [])}
    asked = [
        (port.get("targetPort"), port["port"])
        for it in kinds(documents, "Service")
        for port in it["spec"].get("ports", [])
    ]
    for target, number in asked:
        if named.get(target) != number:
            yield f"a service sends {number} to {target}, which is {named.get(target)}"
    probes = [it[name]["httpGet"] for _, it in containers(documents) for name in it if name.endswith("Probe")]
    rules = [
        port for it in kinds(documents, "NetworkPolicy") for rule in it["spec"]["ingress"] for port in rule["ports"]
    ]
    scraped = [it for each in kinds(documents, "PodMonitor") for it in each["spec"]["podMetricsEndpoints"]]
    for each in [*probes, *rules, *scraped]:
        if each["port"] not in named:
            yield f"no container has a port {each['port']}"
        elif each["port"] != "metrics" and "path" in each:
            yield f"pages are not served at {each['port']}"
        if each.get("path", "/metrics") not in PAGES:
            yield f"there is no page {each['path']}"
    if not rules or {rule["port"] for rule in rules} != set(named):
        yield "the network policy leaves a port out"


def words_of(container: dict[str, Any]) -> list[str]:
    text = " ".join([*container.get("command", ["thalweg"]), *container["args"]])
    return text[text.index("thalweg") :].split()[1:]


def of_commands(documents: Documents) -> Iterator[str]:
    for _, container in containers(documents):
        if container.get("command", TINI)[: len(TINI)] != TINI:
            yield f"process 1 of {container['name']} is not tini, so a SIGTERM that comes early is dropped"
        words = words_of(container)
        try:
            known = help_of(*words[:2])
        except subprocess.CalledProcessError:
            yield f"there is no command {words[:2]}"
            continue
        unknown = [word for word in words if word.startswith("--") and not re.search(rf"{word}\b(?!-)", known)]
        if unknown:
            yield f"{words[1]} has no {unknown}"
        variables = {each["name"] for each in container.get("env", [])}
        given = set(re.findall(r"\$\((\w+)\)", " ".join(words)))
        if given - variables:
            yield f"no variable {given - variables} is set"
        fields = {each.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath") for each in container.get("env", [])}
        if given and fields != {"metadata.name"}:
            yield "a handler does not get the name of its pod"


def of_mounts(documents: Documents) -> Iterator[str]:
    objects = {(each["kind"], each["metadata"]["name"]) for each in documents}
    claims = {
        it["metadata"]["name"]
        for each in kinds(documents, "StatefulSet")
        for it in each["spec"].get("volumeClaimTemplates", [])
    }
    for pod, container in containers(documents):
        volumes = {each["name"]: each for each in pod["volumes"]}
        mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
        for path, mount in mounts.items():
            if mount["name"] not in {*volumes, *claims} or ":" in path or not path.startswith("/"):
                yield f"nothing can be mounted at {path}"
        for each in volumes.values():
            if "configMap" in each and ("ConfigMap", each["configMap"]["name"]) not in objects:
                yield f"there is no {each['configMap']}"
            if "secret" in each and ("Secret", each["secret"]["secretName"]) not in objects:
                yield f"there is no {each['secret']}"
        words = words_of(container)
        for option in ("--config", "--out"):
            if option in words and str(Path(words[words.index(option) + 1]).parent) not in mounts:
                yield f"{option} names a folder that is not mounted"
        if "--out" in words and mounts.get("/data", {}).get("readOnly"):
            yield "/data is read-only"
        memory = volumes.get(mounts.get("/dev/shm", {}).get("name", ""), {})
        if (
            memory.get("hostPath", {}).get("path") != "/dev/shm"
            and memory.get("emptyDir", {}).get("medium") != "Memory"
        ):
            yield f"{container['name']} has no memory at /dev/shm"
        if container["name"] == "handler" and "hostPath" not in memory:
            yield "the handler does not see the buffers of the card"


def of_security(documents: Documents) -> Iterator[str]:
    for pod, container in containers(documents):
        own = container["securityContext"]
        wanted = {
            "a user that is not root": pod["securityContext"].get("runAsNonRoot")
            and pod["securityContext"].get("runAsUser"),
            "a read-only root": own.get("readOnlyRootFilesystem"),
            "no further rights": own.get("allowPrivilegeEscalation") is False and not own.get("privileged"),
            "no capabilities": own.get("capabilities", {}).get("drop") == ["ALL"] and "add" not in own["capabilities"],
            "filtered system calls": pod["securityContext"].get("seccompProfile", {}).get("type") == "RuntimeDefault",
            "no token of the cluster": pod.get("automountServiceAccountToken") is False,
            "a network for which policies hold": not pod.get("hostNetwork"),
        }
        yield from (f"{container['name']} lacks {what}" for what, holds in wanted.items() if not holds)
        asked = container["resources"]
        if asked.get("requests") != asked.get("limits") or not str(asked["limits"].get("cpu", "")).isdigit():
            yield f"{container['name']} has no processors of its own"
        if "memory" not in asked["limits"] or any("hugepages" in key for key in asked["limits"]):
            yield f"{container['name']} has no limit of memory, or asks for huge pages"


def of_ends(documents: Documents) -> Iterator[str]:
    for pod, container in containers(documents):
        words = words_of(container)
        needed = int(words[words.index("--drain") + 1].removesuffix("s")) + 15 if "--drain" in words else 135
        if pod.get("terminationGracePeriodSeconds", 30) < needed:
            yield f"{container['name']} is killed before it has drained"
        if "lifecycle" in container:
            yield f"{container['name']} has a hook, and SIGTERM is enough"
        if container["name"] == "handler" and not {"livenessProbe", "readinessProbe"} <= set(container):
            yield "the handler is not probed"
        if container.get("livenessProbe", {}).get("httpGet", {}).get("path", "/healthz") != "/healthz":
            yield "a handler that waits for its card would be killed"
        if container.get("readinessProbe", {}).get("httpGet", {}).get("path", "/readyz") != "/readyz":
            yield "a handler would be ready without its card"
    budgets = [each["spec"].get("maxUnavailable") for each in kinds(documents, "PodDisruptionBudget")]
    if budgets != [1]:
        yield "handlers may be evicted together"
    for each in kinds(documents, "Service"):
        if each["metadata"]["name"] == "dh" and each["spec"].get("publishNotReadyAddresses") is not True:
            yield "collectors do not find a handler that drains"
        if each["spec"].get("clusterIP") != "None":
            yield "pods have no names"


def of_configuration(documents: Documents) -> Iterator[str]:
    site = load_site()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in kinds(documents, "ConfigMap"):
            (folder / "readout.toml").write_text(each["data"].get("readout.toml", ""))
        for each in kinds(documents, "Secret"):
            (folder / "token").write_bytes(base64.b64decode(each["data"].get("token", "")))
        handlers: list[Any] = []
        with contextlib.suppress(FileNotFoundError):
            try:
                handlers = site.check(folder / "readout.toml", folder / "token")[1]
            except Error as error:
                yield f"readout.toml: {error}"
    ports = {port["name"]: port["containerPort"] for _, it in containers(documents) for port in it.get("ports", [])}
    if ports != {"events": site.EVENTS_PORT, "metrics": site.METRICS_PORT}:
        yield f"the containers have {ports}, and readout.toml has others"
    for each in kinds(documents, "StatefulSet"):
        if each["metadata"]["name"] == "dh" and each["spec"]["replicas"] != len(handlers):
            yield f"{each['spec']['replicas']} pods are for {len(handlers)} handlers"
