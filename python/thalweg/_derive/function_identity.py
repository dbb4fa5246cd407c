"""Hashes what a function does, so that a job is not resumed with another function."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The version of Python: bytecode of different versions cannot be compared."""


def hash_of(*functions: Any) -> str:
    """Returns a hash of functions: of their code, the values that they enclose, and what they use of their module.

    Objects of other modules count by their names.
    """
    digest = hashlib.blake2b(digest_size=16)
    for function in functions:
        for part in _parts(function, set(), getattr(function, "__module__", "")):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _parts(value: Any, seen: set[int], module: str) -> Iterator[bytes]:
    if id(value) in seen:
        return
    if isinstance(value, FunctionType) and value.__module__ == module:
        seen.add(id(value))
        yield from _code_parts(value.__code__)
        enclosed = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        for each in (*enclosed, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
            yield from _parts(each, seen, module)
        for name in _names(value.__code__):
            if name in value.__globals__:
                yield name.encode()
                yield from _parts(value.__globals__[name], seen, module)
    elif isinstance(value, str | bytes | int | float | complex | bool | None):
        yield repr(value).encode()
    elif isinstance(value, list | tuple | set | frozenset | dict):
        seen.add(id(value))
        items = value.items() if isinstance(value, dict) else sorted(value, key=repr) if _is_set(value) else value
        for item in items:
            yield from _parts(item, seen, module)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        yield f"{value.dtype}{value.shape}".encode()
        yield value.tobytes()
    elif hasattr(value, "func") and hasattr(value, "args"):  # functools.partial
        yield from _parts((value.func, tuple(value.args), dict(value.keywords)), seen, module)
    else:  # a module, a class, an object, or a function of another module counts by its name
        name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
        yield f"{type(value).__module__}.{type(value).__qualname__} {name}".encode()
        call = vars(type(value)).get("__call__")
        if isinstance(call, FunctionType):
            yield from _parts(call, seen, type(value).__module__)


def _code_parts(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield " ".join((*code.co_names, *code.co_varnames)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant).encode()


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_set(value: Any) -> bool:
    return isinstance(value, set | frozenset)
