"""layers.py: names every include under thalweg/ that thalweg/LAYERS does not allow."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

Layers = dict[str, set[str]]
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]thalweg/([^">]+)[">]', re.MULTILINE)


def read_layers(text: str) -> Layers:
    """Folder → the folders it may include from. A folder may use only those on lines above its own: no cycles."""
    layers: Layers = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        folder, _, uses = line.partition(":")
        for used in uses.split():
            if used not in layers:
                raise ValueError(f"LAYERS: {folder} uses {used}, which does not stand above it")
        layers[folder] = set(uses.split())
    return layers


def violations(root: Path) -> Iterator[str]:
    layers = read_layers((root / "LAYERS").read_text())
    for path in sorted([*root.rglob("*.h"), *root.rglob("*.cc")]):
        name = str(path.relative_to(root))
        folder = name.rpartition("/")[0]
        if folder not in layers:
            yield f"{name}: its folder has no line in LAYERS"
            continue
        for included in INCLUDE.findall(path.read_text()):
            target = included.rpartition("/")[0]
            if target != folder and target not in layers[folder]:
                yield f"{name}: includes thalweg/{included}, and LAYERS does not let {folder} use {target}"


def main() -> int:
    found = list(violations(Path("thalweg")))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
