"""Compares what functions do, so that a job is not resumed with other functions."""

from __future__ import annotations

import copyreg
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from thalweg._derive.installed import hash_of_sources, imports_of, installed_version, is_installed_path, what_has

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The version of Python: bytecode of different versions cannot be compared."""

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...), type(NotImplemented), range, slice)
_OF_CLASSES = frozenset(
    [
        "__dict__",
        "__weakref__",
        "__module__",
        "__doc__",
        "__annotations__",
        "__slots__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__firstlineno__",
        "__static_attributes__",
        "__abstractmethods__",
        "_abc_impl",
        "__orig_bases__",
        "__parameters__",
    ]
)
_BUILTIN = (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
_INNER = ("__wrapped__", "py_func", "pyfunc", "_dispatcher")
"""The attributes in which wrappers of lru_cache, Numba and NumPy hold the function of the user."""


@dataclass(frozen=True)
class Identity:
    digest: str
    not_compared: tuple[str, ...]
    """The values that functions use and that cannot be compared, each with its place and its reason."""


def identity_of(*functions: Any) -> Identity:
    """Returns what identifies functions: their code, and the values and the functions that they use.

    Functions and classes of the user count by their code, modules of the user by their source as well, other objects
    by what `pickle` would store. What an installed package has counts by its name and by the version of the package.
    """
    walk = _Walk()
    for function in functions:
        walk.add(function, getattr(function, "__qualname__", type(function).__qualname__))
    return Identity(walk.digest.hexdigest(), tuple(walk.not_compared))


class _Walk:
    """Adds values to a digest, each object once."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self.not_compared: list[str] = []
        self._used: set[tuple[str, str]] = set()  # modules of the user, with the names that functions use
        self._seen: dict[int, tuple[int, Any]] = {}  # keeps the objects, so that no address is used twice

    def add(self, value: Any, where: str) -> None:
        if type(value) in _PLAIN:
            self._put(type(value).__name__, repr(value))
            return
        if id(value) in self._seen:
            self._put("again", str(self._seen[id(value)][0]))
            return
        self._seen[id(value)] = len(self._seen), value
        try:
            self._add_new(value, where)
        except RecursionError:
            self._cannot(value, where, "it is nested too deeply")

    def _put(self, *parts: str | bytes) -> None:
        for part in parts:
            raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            self.digest.update(len(raw).to_bytes(8, "little") + raw)

    def _cannot(self, value: Any, where: str, why: str) -> None:
        self._put("not compared", type(value).__qualname__)
        self.not_compared.append(f"{where} is an object of {type(value).__module__}.{type(value).__qualname__}: {why}")

    def _add_new(self, value: Any, where: str) -> None:
        kind = type(value)
        if isinstance(value, ModuleType):
            self._add_module(value, where)
        elif kind in (list, tuple):
            self._put(kind.__name__, str(len(value)))
            for index, item in enumerate(value):
                self.add(item, f"{where}[{index}]")
        elif kind is dict:
            self._put("dict", str(len(value)))
            for key, item in value.items():
                self.add(key, f"a key of {where}")
                self.add(item, f"{where}[{key!r}]")
        elif kind in (set, frozenset):
            inner = [_Walk() for _ in value]
            for walk, item in zip(inner, value, strict=True):
                walk.add(item, f"an item of {where}")
                self.not_compared += walk.not_compared
            self._put("set", *sorted(walk.digest.digest() for walk in inner))
        elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            self._put("array", kind.__qualname__, repr(value.dtype), str(value.shape), value.tobytes())
        elif isinstance(value, np.ndarray):
            self._put("objects", str(value.shape))
            self.add(value.ravel().tolist(), where)
        elif kind is CodeType:
            self._add_code(value)
        elif found := what_has(value):  # a function, a class or an object that a package has under its name
            self._put("installed", *found)
        elif kind is FunctionType:
            self._add_function(value, where)
        elif isinstance(value, type):
            self._add_class(value, where)
        elif kind is MethodType:
            self._put("method")
            self.add(value.__func__, where)
            self.add(value.__self__, f"the object of {where}")
        elif kind in (staticmethod, classmethod):
            self._put(kind.__name__)
            self.add(value.__func__, where)
        elif kind is property:
            self._put("property")
            for function in (value.fget, value.fset, value.fdel):
                self.add(function, where)
        elif kind is CellType:
            self._put("cell")
            if _is_filled(value):
                self.add(value.cell_contents, where)
        elif kind is cached_property:
            self.add(value.func, where)
        elif isinstance(value, _BUILTIN):
            self._put("builtin", value.__qualname__)
            of = value.__self__ if isinstance(value, BuiltinFunctionType | MethodWrapperType) else value.__objclass__
            self.add(of, where)
        elif (inner_name := next((name for name in _INNER if name in _attributes(value)), None)) is not None:
            self._put("wrapper", kind.__module__, kind.__qualname__)
            self.add(getattr(value, inner_name), where)
        else:
            self._add_object(value, where)

    def _add_function(self, function: FunctionType, where: str) -> None:
        self._put("function")
        self._add_code(function.__code__)
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            self._put(name)
            if _is_filled(cell):
                self.add(cell.cell_contents, f"{name} (of {where})")
        self.add(function.__defaults__, f"the defaults of {where}")
        self.add(function.__kwdefaults__, f"the defaults of {where}")
        attributes = {name: each for name, each in vars(function).items() if name != "__wrapped__"}
        self.add(attributes, f"the attributes of {where}")
        if is_installed_path(function.__code__.co_filename):
            return  # its module counts by its code, as it was compiled
        for name in sorted(set(_names(function.__code__))):
            if name in function.__globals__:
                self._put(name)
                self._add_used(function.__globals__[name], name, function.__code__)
        for name in sorted(set(imports_of(function.__code__, function.__globals__.get("__package__") or ""))):
            self._put("import", name, installed_version(name) or hash_of_sources(name))

    def _add_used(self, value: Any, name: str, code: CodeType) -> None:
        """Adds a global value. Of a module of the user, those values are added that the code may use."""
        self.add(value, name)
        if isinstance(value, ModuleType) and installed_version(value.__name__) is None:
            for each in sorted(set(_names(code)) & vars(value).keys()):
                if (value.__name__, each) not in self._used:
                    self._used.add((value.__name__, each))
                    self._put(each)
                    self._add_used(vars(value)[each], f"{name}.{each}", code)

    def _add_code(self, code: CodeType) -> None:
        self._put("code", code.co_code, " ".join((*code.co_names, *code.co_varnames, *code.co_freevars)))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._add_code(constant)
            else:
                self.add(constant, "a constant")

    def _add_module(self, module: ModuleType, where: str) -> None:
        version = installed_version(module.__name__)
        self._put("module", module.__name__, version or hash_of_sources(module.__name__))
        if version is not None:
            return
        if getattr(module, "__file__", None) is None:  # a module that was made by a program has no source
            for name, value in sorted(vars(module).items()):
                if not name.startswith("__"):
                    self.add(value, f"{where}.{name}")

    def _add_class(self, class_: type, where: str) -> None:
        self._put("class", class_.__qualname__)
        for base in class_.__mro__[1:]:
            self.add(base, f"{base.__qualname__} (of {where})")
        for name, value in vars(class_).items():
            if name not in _OF_CLASSES:
                self._put(name)
                self.add(value, f"{class_.__qualname__}.{name}")

    def _add_object(self, value: Any, where: str) -> None:
        """Adds an object by its class and by its state, as pickle would store it."""
        try:
            of_type = copyreg.dispatch_table.get(type(value))
            reduced = of_type(value) if of_type else value.__reduce_ex__(4)
        except Exception as error:
            self._cannot(value, where, f"{error}".partition("\n")[0])
            return
        if isinstance(reduced, str):  # pickle stores only a name, and no package has the object under this name
            self._cannot(value, where, "pickle stores only its name")
            return
        self._put("object", type(value).__qualname__)
        self.add(type(value), f"the class of {where}")
        function, arguments, *rest = reduced
        self.add(function, f"the class of {where}")
        state, items, pairs = [*rest, None, None, None][:3]
        for part in (arguments, state, list(items) if items else None, list(pairs) if pairs else None):
            if isinstance(part, dict):
                for name, each in part.items():
                    self.add(name, where)
                    self.add(each, f"{where}.{name}")
            else:
                self.add(part, where)


def _attributes(value: Any) -> set[str]:
    """Returns the names of the attributes of an object and of its class. No attribute is computed."""
    return {*getattr(value, "__dict__", ()), *(name for each in type(value).__mro__ for name in vars(each))}


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
