"""Sets random generators anew for each range, so that no two workers draw the same numbers.

Forked workers begin with the same generators. Before each range, a derivation finds those of `random` and of NumPy in a
state that follows from their state when the job began and from the number of the range. So a range that is done again
has the same numbers, whichever worker does it, and the derivations of a train see the same ones.
"""

from __future__ import annotations

import hashlib
import pickle
import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from thalweg._derive.installed import is_installed_path

_KINDS = (np.random.Generator, np.random.RandomState, random.Random)
# The generators of the functions of both modules, such as `random.uniform`: their state is that of the job.
_SHARED = (random.uniform.__self__, np.random.uniform.__self__)  # type: ignore[attr-defined]
_MOST_ITEMS = 100  # of a container, in which generators are looked for
_DEEPEST = 8


SeedState = tuple[int, int]


def state_of_generators() -> SeedState:
    """Returns numbers that identify the states of the generators of `random` and `numpy.random` in this process."""
    return _digest(random.getstate()), _digest(np.random.get_state())


class Seeds:
    """The generators that functions use, in a worker that is a process of its own."""

    def __init__(self, functions: Iterable[Any], state: SeedState) -> None:
        found = {id(each): each for function in functions for each in _generators(function, set(), 0)}
        self._state = state
        self._own: list[tuple[Any, int]] = []
        for generator in found.values():
            with suppress(Exception):  # one whose state cannot be taken is left alone
                self._own.append((generator, _digest(generator)))

    def begin(self, number: int) -> None:
        """Sets the generators for the range of this number."""
        of_random, of_numpy = self._state
        random.seed(f"{of_random} {number}")
        np.random.seed(_words(of_numpy, number))
        for generator, state in self._own:
            if isinstance(generator, random.Random):
                generator.seed(f"{state} {number}")
            elif isinstance(generator, np.random.RandomState):
                generator.seed(_words(state, number))
            else:
                bits = generator.bit_generator
                bits.state = type(bits)(np.random.SeedSequence([state, number])).state


def _words(state: int, number: int) -> Any:
    return np.random.SeedSequence([state, number]).generate_state(8)


def _digest(value: Any) -> int:
    return int.from_bytes(hashlib.blake2b(pickle.dumps(value), digest_size=16).digest(), "little")


def _generators(value: Any, seen: set[int], depth: int) -> Iterator[Any]:
    """Yields the generators that a function reaches: by its closure, its globals, its defaults, or its object."""
    if id(value) in seen or depth > _DEEPEST:
        return
    seen.add(id(value))
    if isinstance(value, _KINDS):
        if value not in _SHARED:
            yield value
        return
    for inner in _inside(value):
        yield from _generators(inner, seen, depth + 1)


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, FunctionType):
        if is_installed_path(value.__code__.co_filename):
            return
        yield from (each for cell in value.__closure__ or () for each in _contents(cell))
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
        names = set(_names(value.__code__))
        for name in names & value.__globals__.keys():
            used = value.__globals__[name]
            if isinstance(used, ModuleType):
                yield from (vars(used)[each] for each in names & vars(used).keys())
            else:
                yield used
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, dict):
        yield from list(value.values())[:_MOST_ITEMS]
    elif isinstance(value, list | tuple | set | frozenset):
        yield from list(value)[:_MOST_ITEMS]
    elif isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    elif not isinstance(value, type | ModuleType | np.ndarray):
        yield vars(type(value)).get("__call__")
        with suppress(TypeError):  # it has no attributes
            yield vars(value)


def _contents(cell: Any) -> Iterator[Any]:
    try:
        yield cell.cell_contents
    except ValueError:  # it is empty
        return


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
