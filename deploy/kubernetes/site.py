"""site.py CONFIG OUT --image IMAGE --token FILE [--topology TEXT]: writes the overlay of a site for `kubectl`.

The configuration is checked by the program itself. Handlers and their threads are those of `thalweg readout plan`, and
each thread gets a processor of its own; the memory of a handler is that of its index and its answers.
"""

import argparse
import json
import os
import shutil
import sys
import tomllib
from pathlib import Path

try:
    import yaml
except ImportError:
    sys.exit("site.py reads and writes YAML, and PyYAML is not installed: run `pip install pyyaml` for this Python")

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._readout import configuration

BASE = Path(__file__).resolve().parent / "base"
EVENTS_PORT, METRICS_PORT = 7700, 7800
TOKEN = "/run/secrets/thalweg/token"
PROGRAM_BYTES = 256 << 20  # the interpreter, its libraries, stacks
GIB = 1 << 30


def check(config: Path, token: Path) -> tuple[str, list[_core.HandlerConfig]]:
    """Returns the configuration as JSON, and its handlers. Raises UsageError if the manifests could not run them."""
    read = configuration.load_configuration(config)
    tables = json.loads(read.json)
    if tables.get("server", {}).get("token_file") != TOKEN:
        raise UsageError(f'{config}: the secret is mounted elsewhere: write token_file = "{TOKEN}" in [server]')
    tables["server"]["token_file"] = str(token.absolute())  # the same text, where it lies here
    handlers, _ = _core.handlers_of(json.dumps(tables), read.handlers[0])
    for number, handler in enumerate(handlers):
        _check_handler(config, number, handler)
    return json.dumps(tables), handlers


def _check_handler(config: Path, number: int, handler: _core.HandlerConfig) -> None:
    if handler.name != f"dh-{number}":
        raise UsageError(
            f"{config}: handler {number} is named {handler.name} (a pod of the StatefulSet finds its handler by its "
            f'own name): write name = "dh-{number}"'
        )
    table = tomllib.loads(config.read_text())["handler"][number]
    name = handler.name
    wanted = {
        "listen": f"{name}:{EVENTS_PORT}",
        "address": f"{name}.dh:{EVENTS_PORT}",
        "metrics": f"{name}:{METRICS_PORT}",
    }
    for key, value in wanted.items():
        if table.get(key) != value:
            raise UsageError(
                f"{config}: {name} has {key} = {table.get(key)!r} (probes, Prometheus and collectors use the ports of "
                f'the manifests): write {key} = "{value}"'
            )


def resources(config: str, handlers: list[_core.HandlerConfig], topology: str) -> dict[str, str]:
    """Returns what each handler asks for: of several handlers the most that one of them needs."""
    made = _core.place_configured(config, _core.discover(topology), "auto")
    threads: dict[str, int] = {}
    for seat in made.placements:
        threads[seat.application] = threads.get(seat.application, 0) + 1
    most = max(handler.index_bytes + handler.queued_total_bytes for handler in handlers) + PROGRAM_BYTES
    return {"cpu": str(max(threads.values())), "memory": f"{-(-most // GIB)}Gi"}


def overlay(image: str, handlers: int, asked: dict[str, str], base: str) -> dict[str, object]:
    name, _, tag = image.rpartition(":") if ":" in image.rsplit("/", 1)[-1] else (image, "", "latest")
    container = "/spec/template/spec/containers/0/resources"
    patch = [
        {"op": "replace", "path": "/spec/replicas", "value": handlers},
        {"op": "replace", "path": container, "value": {"requests": dict(asked), "limits": dict(asked)}},
    ]
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "thalweg",
        "resources": [base],
        "images": [{"name": "thalweg", "newName": name, "newTag": tag}],
        "configMapGenerator": [{"name": "readout", "behavior": "replace", "files": ["readout.toml"]}],
        "secretGenerator": [{"name": "token", "behavior": "replace", "files": ["token"]}],
        "patches": [{"target": {"kind": "StatefulSet", "name": "dh"}, "patch": yaml.safe_dump(patch, sort_keys=False)}],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--image", required=True)
    parser.add_argument("--topology", default="", help="of the nodes, as for `thalweg readout plan`")
    parser.add_argument("--token", type=Path, required=True, help="file whose first line is the secret")
    given = parser.parse_args()
    try:
        config, handlers = check(given.config, given.token)
        asked = resources(config, handlers, given.topology)
    except Error as error:
        print(f"site.py: {error}", file=sys.stderr)
        return 2
    text = yaml.safe_dump(overlay(given.image, len(handlers), asked, os.path.relpath(BASE, given.out.resolve())))
    try:
        given.out.mkdir(parents=True, exist_ok=True)
        shutil.copy(given.config, given.out / "readout.toml")
        shutil.copy(given.token, given.out / "token")
        (given.out / "kustomization.yaml").write_text(text)
    except OSError as error:
        print(f"site.py: cannot write the overlay {given.out} ({error})", file=sys.stderr)
        return 2
    print(f"{len(handlers)} handlers, each with {asked['cpu']} processors and {asked['memory']}: {given.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
