"""The manifests and overlays are given to a real API server of Kubernetes, and so is each planted fault."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster import BIN, Cluster
from manifest_checks import KUBERNETES, kinds, of_schemas, problems
from planted_manifests import FAULTS

NAMESPACE = "thalweg"
# What the server refuses; it takes all other faults, since they are in what it does not know: ports of other objects,
# labels, options, paths, and the configuration.
REFUSED = {
    "misspelt field", "misspelt probe", "a budget that is no number", "replicas as text", "label of the pods",
    "unknown volume", "requests above limits",
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    built = repository / "build" / "apiserver"
    started = Cluster(tmp_path_factory.mktemp("cluster"), built)
    try:
        for words in (("create", "namespace", NAMESPACE), ("apply", "--server-side", "-f", built / "kinds.yaml")):
            done = started.kubectl(*words)
            assert done.returncode == 0, done.stderr
        done = started.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        assert done.returncode == 0, done.stderr
        yield started
    finally:
        started.close()


@pytest.fixture(scope="module")
def base() -> str:
    done = subprocess.run([BIN / "kubectl", "kustomize", KUBERNETES / "base"], capture_output=True, check=True)
    return done.stdout.decode()


def apply(cluster: Cluster, *words: object, given: str = "") -> subprocess.CompletedProcess[str]:
    return cluster.kubectl("apply", "--server-side", "--validate=strict", *words, given=given)


def names(documents: list[Any]) -> set[str]:
    """Returns what `kubectl apply` calls these objects, without their groups."""
    return {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in documents}


def applied(text: str) -> set[str]:
    return {re.sub(r"^([a-z]+)[a-z0-9.]*/", r"\1/", line.split()[0]) for line in text.splitlines()}


def test_the_server_takes_each_planted_fault_or_refuses_it(cluster: Cluster, base: str) -> None:
    """Nothing is kept by the server (`--dry-run=server`), and our own tests find every fault before that."""
    verdicts: dict[str, tuple[bool, bool]] = {}
    assert apply(cluster, "--dry-run=server", "-f", "-", given=base).returncode == 0
    for name, (old, new) in FAULTS.items():
        planted = base.replace(old, new)
        documents = list(yaml.safe_load_all(planted))
        assert problems(documents) != [], name
        done = apply(cluster, "--dry-run=server", "-f", "-", given=planted)
        verdicts[name] = (done.returncode != 0, bool(list(of_schemas(documents))))
        print(f"{name}: server {'refuses' if done.returncode else 'takes'}, schemas {verdicts[name][1]}", done.stderr)
    assert {name for name, (refuses, _) in verdicts.items() if refuses} == REFUSED
    assert cluster.get("all", "--namespace", NAMESPACE)["items"] == []
    found = sum(by_schemas for _, by_schemas in verdicts.values())
    print(f"of {len(verdicts)} faults schemas find {found}, the server {len(REFUSED)}, our tests {len(verdicts)}")


def test_the_base_is_applied_and_kept_as_it_is_written(cluster: Cluster, base: str) -> None:
    done = apply(cluster, "-k", KUBERNETES / "base")
    assert done.returncode == 0, done.stderr
    documents = list(yaml.safe_load_all(base))
    assert applied(done.stdout) == names(documents)
    assert cluster.kubectl("diff", "--server-side", "-k", KUBERNETES / "base").stdout == ""
    kept = [cluster.get(each["kind"], each["metadata"]["name"], "--namespace", NAMESPACE) for each in documents]
    assert problems(without_servers_own(kept)) == []


def without_servers_own(kept: list[Any]) -> list[Any]:
    for each in kept:
        each.pop("status", None)
    return kept


def test_an_overlay_of_a_site_takes_the_place_of_the_base(cluster: Cluster, tmp_path: Path) -> None:
    assert apply(cluster, "-k", KUBERNETES / "base").returncode == 0
    text = (KUBERNETES / "base" / "readout.toml").read_text()
    third = text[text.index('[[handler]]\nname = "dh-1"') :].replace("dh-1", "dh-2").replace("dma = 1", "dma = 2")
    (tmp_path / "readout.toml").write_text(text + third.replace("0x1001", "0x1002"))
    (tmp_path / "token").write_text("secret\n")
    words = [tmp_path / "readout.toml", tmp_path / "site", "--image", "example.org/thalweg:1"]
    words += ["--token", tmp_path / "token", "--topology", "pack:1 numa:1 l3:4 core:8 pu:2"]
    subprocess.run([sys.executable, KUBERNETES / "site.py", *words], check=True, capture_output=True)
    done = apply(cluster, "-k", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    spec = cluster.get("statefulset", "dh", "--namespace", NAMESPACE)["spec"]
    assert spec["replicas"] == 3
    assert spec["template"]["spec"]["containers"][0]["image"] == "example.org/thalweg:1"
    volumes = {each["name"]: each for each in spec["template"]["spec"]["volumes"]}
    configuration = cluster.get("configmap", volumes["configuration"]["configMap"]["name"], "--namespace", NAMESPACE)
    assert configuration["data"]["readout.toml"].count("[[handler]]") == 3


def pod_of(base: str, name: str, namespace: str) -> str:
    """Returns the pod that the controller of StatefulSets would make, which does not run here."""
    sets = {each["metadata"]["name"]: each for each in kinds(list(yaml.safe_load_all(base)), "StatefulSet")}
    template = sets[name]["spec"]["template"]
    for claim in sets[name]["spec"].get("volumeClaimTemplates", []):
        source = {"persistentVolumeClaim": {"claimName": f"{claim['metadata']['name']}-{name}-0"}}
        template["spec"]["volumes"].append({"name": claim["metadata"]["name"], **source})
    metadata = {**template["metadata"], "name": f"{name}-0", "namespace": namespace}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})


@pytest.mark.parametrize("name", ["dh", "collector"])
def test_the_server_calls_the_pods_guaranteed(cluster: Cluster, base: str, name: str) -> None:
    done = apply(cluster, "-f", "-", given=pod_of(base, name, NAMESPACE))
    assert done.returncode == 0, done.stderr
    assert cluster.get("pod", f"{name}-0", "--namespace", NAMESPACE)["status"]["qosClass"] == "Guaranteed"


def test_which_pods_a_namespace_with_a_standard_of_security_takes(cluster: Cluster, base: str) -> None:
    """Collectors fulfil the strictest one. Handlers see the /dev/shm of their node, which even `baseline` forbids."""
    for level in ("baseline", "restricted"):
        assert cluster.kubectl("create", "namespace", level).returncode == 0
        label = f"pod-security.kubernetes.io/enforce={level}"
        assert cluster.kubectl("label", "namespace", level, label).returncode == 0
        done = apply(cluster, "-f", "-", given=pod_of(base, "collector", level))
        assert done.returncode == 0, done.stderr
        done = apply(cluster, "-f", "-", given=pod_of(base, "dh", level))
        assert done.returncode != 0
        assert "hostPath" in done.stderr
        assert re.findall(r"violates PodSecurity \"\w+:latest\": ([^(]*)", done.stderr), done.stderr
