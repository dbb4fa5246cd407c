"""layers.py: names every use between folders of thalweg/, and between modules of python/thalweg, that LAYERS does
not allow, and every use that LAYERS lists and no file has."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Layers = dict[str, set[str]]
Uses = Callable[[Path], Iterator[tuple[str, str, str]]]  # file, user, used
OF_TESTS = re.compile(r"\.(test|bench|fuzz)\.cc$")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]thalweg/([^">]+)[">]', re.MULTILINE)


def read_layers(text: str) -> Layers:
    """Returns, for each name, what it may use itself. A name may use only names on lines above its own, so there are
    no cycles, except between names that share a line."""
    layers: Layers = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        users, _, uses = line.partition(":")
        for used in uses.split():
            if used not in layers:
                raise ValueError(f"LAYERS: {users} uses {used}, which does not stand above it")
        for user in users.split():
            if user in layers:
                raise ValueError(f"LAYERS: {user} has two lines")
            layers[user] = set(uses.split()) | set(users.split()) - {user}
    return layers


def includes(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yields the includes of the C++ folders and of their tests. A test may use the folder above its own, and what that
    one may use: what it does not find in its own line is a use of the folder above.
    """
    layers = read_layers((root / "LAYERS").read_text())
    for path in sorted([*root.rglob("*.h"), *root.rglob("*.cc")]):
        name = str(path.relative_to(root))
        folder = name.rpartition("/")[0]
        yield name, folder, folder
        above = folder.rpartition("/")[0]
        for included in INCLUDE.findall(path.read_text()):
            used = included.rpartition("/")[0]
            is_of_whole = above in layers and OF_TESTS.search(name) and used not in {folder, *layers.get(folder, ())}
            yield name, above if is_of_whole else folder, used


def imports(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yields the uses of the Python package: by module if it lies in the package itself, otherwise by folder."""
    for path in sorted(root.rglob("*.py")):
        name = str(path.relative_to(root))
        module = _module(root, path.relative_to(root).with_suffix("").parts)
        yield name, module, module
        for node in ast.walk(ast.parse(path.read_text())):
            for imported in _imported(node):
                words = imported.split(".")
                if words[0] == root.name:
                    yield name, module, _module(root, tuple(words[1:]))


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _module(root: Path, words: tuple[str, ...]) -> str:
    """The first word where it is a module; else it is a name that `__init__` gives."""
    first = words[0] if words else "__init__"
    is_module = first == "_core" or (root / first).is_dir() or (root / f"{first}.py").exists()
    return first if is_module else "__init__"


def violations(root: Path, uses: Uses = includes) -> Iterator[str]:
    layers = read_layers((root / "LAYERS").read_text())
    left = {(user, used) for user, each in layers.items() for used in each}
    for name, user, used in uses(root):
        if user not in layers:
            if user == used:
                yield f"{name}: {user or 'its folder'} has no line in LAYERS"
        elif used != user and used not in layers[user]:
            yield f"{name}: uses {used}, and LAYERS does not let {user} use it"
        else:
            left -= {(sharer, used) for sharer in [user, *_sharing_a_line(layers, user)]}
    for user, used in sorted(left):
        if user not in layers[used]:
            yield f"LAYERS: {user} does not use {used} itself; take it out of its line"


def _sharing_a_line(layers: Layers, user: str) -> Iterator[str]:
    return (other for other in layers[user] if user in layers[other])


def main() -> int:
    found = [*violations(Path("thalweg")), *violations(Path("python/thalweg"), imports)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
