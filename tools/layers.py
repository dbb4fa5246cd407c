"""layers.py: names every use between folders of thalweg/, and between rooms of python/thalweg, that LAYERS does not
allow, and every use that LAYERS lists and that is in no file. It also names circles of Python's modules, and imports
that are hidden in functions, in strings or in calls of `import_module`."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Layers = dict[str, set[str]]
Uses = Callable[[Path], Iterator[tuple[str, str, str]]]  # file, user, used
OF_TESTS = re.compile(r"\.(test|bench|fuzz)\.cc$")
OPTIONAL = {"awkward", "h5py", "mpi4py", "pandas", "pyarrow", "uproot"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]thalweg/([^">]+)[">]', re.MULTILINE)


def read_layers(text: str) -> Layers:
    """Returns what each name may use itself. It may use only what stands above its line, so there is no cycle."""
    layers: Layers = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        user, _, uses = line.partition(":")
        if user != user.strip() or len(user.split()) != 1:
            raise ValueError(f"LAYERS: '{user}' is not one name: give each name a line of its own")
        if user in layers:
            raise ValueError(f"LAYERS: {user} has two lines")
        for used in uses.split():
            if used not in layers:
                raise ValueError(f"LAYERS: {user} uses {used}, which does not stand above it")
        layers[user] = set(uses.split())
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
            if not used:  # a header in include/thalweg, which is of no folder
                continue
            is_of_whole = above in layers and OF_TESTS.search(name) and used not in {folder, *layers.get(folder, ())}
            yield name, above if is_of_whole else folder, used


def imports(root: Path) -> Iterator[tuple[str, str, str]]:
    """The layers of the Python package: by the room, which is a folder or a module that lies in the package itself."""
    for path in sorted(root.rglob("*.py")):
        name = str(path.relative_to(root))
        module = _room(root, path.relative_to(root).with_suffix("").parts)
        yield name, module, module
        for node in ast.walk(ast.parse(path.read_text())):
            for imported in [*_imported(node), *_named(node, root.name)]:
                words = imported.split(".")
                if words[0] == root.name:
                    yield name, module, _room(root, tuple(words[1:]))


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _named(node: ast.AST, package: str) -> list[str]:
    """Names of modules in strings, which `import_module`, `__import__` or `python -m` take."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if re.fullmatch(rf"{package}(\.\w+)+", node.value) else []
    return []


def _room(root: Path, words: tuple[str, ...]) -> str:
    """The first word where it is a room; else it is a name that `__init__` gives."""
    first = words[0] if words else "__init__"
    is_room = first == "_core" or (root / first).is_dir() or (root / f"{first}.py").exists()
    return first if is_room else "__init__"


def _may_be_late(root: Path, path: Path) -> bool:
    """Only the package's `__init__` and its commands choose by a name what they import, or import it late."""
    parts = path.relative_to(root).parts
    return parts == ("__init__.py",) or parts[0] == "cli"


def hidden(root: Path) -> Iterator[str]:
    """Imports that a reader of the first lines of a file does not see."""
    for path in sorted(root.rglob("*.py")):
        if _may_be_late(root, path):
            continue
        name = path.relative_to(root)
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
                yield f"{name}:{node.lineno}: calls {_called(node)}, by which only __init__ and cli may import"
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                for module in _modules_of(root, node):
                    if not _needs_a_library(root, module):
                        yield f"{name}:{node.lineno}: imports {module} in a function, as only __init__ and cli may"


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _modules_of(root: Path, node: ast.AST) -> list[str]:
    """The modules of the package that a statement imports."""
    found = []
    for imported in _imported(node):
        words = imported.split(".")
        if words[0] != root.name:
            continue
        is_module = _file_of(root, words[1:]) is not None
        found.append(".".join(words if is_module else words[:-1]))
    return sorted(set(found))


def _file_of(root: Path, words: list[str]) -> Path | None:
    place = root.joinpath(*words)
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.exists():
            return path
    return None


def _needs_a_library(root: Path, module: str) -> bool:
    """It cannot be imported without a library that users may not have, and so is imported where that is there."""
    path = _file_of(root, module.split(".")[1:])
    body = ast.parse(path.read_text()).body if path else []
    return any(imported.split(".")[0] in OPTIONAL for node in body for imported in _imported(node))


def circles(root: Path) -> Iterator[str]:
    """Modules that import each other, at any place of a file, if need be through others."""
    uses: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        words = [root.name, *path.relative_to(root).with_suffix("").parts]
        module = ".".join(words[:-1] if words[-1] == "__init__" else words)
        nodes = list(ast.walk(ast.parse(path.read_text())))
        uses[module] = {used for node in nodes for used in _modules_of(root, node)} - {module, root.name}
    while leaves := {module for module, used in uses.items() if not used & uses.keys()}:
        uses = {module: used for module, used in uses.items() if module not in leaves}
    users = uses
    while roots := users.keys() - {used for each in users.values() for used in each}:
        users = {module: used for module, used in users.items() if module not in roots}
    if users:
        yield f"these modules import each other: {', '.join(sorted(users))}"


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
            left.discard((user, used))
    for user, used in sorted(left):
        yield f"LAYERS: {user} does not use {used} itself; take it out of its line"


def main() -> int:
    package = Path("python/thalweg")
    found = [*violations(Path("thalweg")), *violations(package, imports), *hidden(package), *circles(package)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
