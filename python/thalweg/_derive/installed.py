"""Tells what installed packages have from what the user has written, and hashes the sources of the latter."""

from __future__ import annotations

import dis
import hashlib
import importlib.metadata
import site
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

_HAVE_UFUNCS = ("numpy", "scipy.special")
_FOLDERS = tuple(
    {
        str(Path(each).resolve())
        for each in (
            *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
            *site.getsitepackages(),
            site.getusersitepackages(),
        )
    }
)


def is_installed_path(path: str) -> bool:
    """Returns whether a file belongs to Python or to an installed package."""
    if path.startswith("<"):
        return path.startswith("<frozen")
    whole = Path(path).resolve()
    return (
        "dist-packages" in whole.parts
        or "site-packages" in whole.parts
        or any(whole.is_relative_to(each) for each in _FOLDERS)
    )


@cache
def installed_version(module: str) -> str | None:
    """Returns the version of the package that has a module, or None if the module is the user's."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return "Python"
    path = _file_of(top)
    if path is None or not is_installed_path(path):
        return "Thalweg" if top == "thalweg" else None
    if version := getattr(sys.modules.get(top), "__version__", ""):
        return str(version)
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return "installed"


def what_has(value: Any) -> tuple[str, str, str] | None:
    """Returns package, name and version of an object that an installed package has under its name, or None."""
    module, name = _module_and_name(value)
    if isinstance(value, np.ufunc) and not module:  # a ufunc does not tell its module
        module = next((each for each in _HAVE_UFUNCS if vars(sys.modules.get(each, sys)).get(name) is value), "")
    if not module or not name or (version := installed_version(module)) is None:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name, version) if found is value else None


def hash_of_sources(module: str) -> str:
    """Returns a hash of the source of a module of the user, and of the modules of the user that it imports.

    No module is imported for that. The hash is empty if the module has no file.
    """
    found: dict[str, bytes] = {}
    _find_sources(module, found)
    if not found:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for name, source in sorted(found.items()):
        digest.update(f"{name} {len(source)} ".encode() + source)
    return digest.hexdigest()


def imports_of(code: CodeType, package: str) -> Iterator[str]:
    """Yields the names of the modules that code imports when it runs, and of what may be modules inside them."""
    each = list(dis.get_instructions(code))
    for level, names, instruction in zip(each, each[1:], each[2:], strict=False):
        if instruction.opname == "IMPORT_NAME":
            name = str(instruction.argval)
            if isinstance(level.argval, int) and level.argval > 0:
                base = package.split(".")
                name = ".".join((*base[: len(base) - level.argval + 1], *filter(None, [name])))
            yield name
            yield from (f"{name}.{member}" for member in names.argval or () if member != "*")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from imports_of(constant, package)


def _find_sources(module: str, found: dict[str, bytes]) -> None:
    path = _file_of(module)
    if module in found or path is None or not path.endswith(".py") or installed_version(module) is not None:
        return
    try:
        found[module] = Path(path).read_bytes()
        code = compile(found[module], path, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return
    package = module if Path(path).name == "__init__.py" else module.rpartition(".")[0]
    for name in imports_of(code, package):
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            _find_sources(".".join(parts[:count]), found)


def _module_and_name(value: Any) -> tuple[str, str]:
    try:
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        module = getattr(value, "__module__", None)
    except Exception:  # an object of the user may raise anything
        return "", ""
    return (module if isinstance(module, str) else "", name if isinstance(name, str) else "")


def _file_of(module: str) -> str | None:
    if module in sys.modules:
        loaded = sys.modules[module]
        path = getattr(loaded, "__file__", None) or next(iter(getattr(loaded, "__path__", ())), None)
        return str(path) if path else None
    parent, _, _ = module.rpartition(".")
    if not parent:
        folders = None
    elif (path := _file_of(parent)) is not None:
        folders = [path if Path(path).is_dir() else str(Path(path).parent)]
    else:
        return None
    try:
        spec = PathFinder.find_spec(module, folders)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or ()), None)
