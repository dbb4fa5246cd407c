"""Checks the request for a job."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from thalweg._base.errors import UsageError
from thalweg._base.given import integer_of, seconds_of
from thalweg._base.paths import is_folder, is_there
from thalweg._derive.carried import Beside
from thalweg._derive.derivation import Derivation
from thalweg._derive.executors import machines_of
from thalweg._derive.inputs import Inputs
from thalweg._derive.outputs import Resume
from thalweg._derive.unit import EventLoop
from thalweg._schema.schema import TableSchema

_MOST_NODES = 2**16


def one_of(name: str, value: Any, known: Sequence[Any]) -> Any:
    if not any(value is each or (isinstance(value, str) and value == each) for each in known):
        raise UsageError(f"{name} cannot be {value!r}: give one of {', '.join(map(repr, known))}")
    return value


def count_of(name: str, value: int | None) -> int | None:
    """Returns a number of at least 1, or None if none is given."""
    return None if value is None else integer_of(value, name, 1)


def timeout_of(value: float | None) -> float | None:
    """Returns the time in seconds, or None for no limit."""
    seconds = math.inf if value is None else seconds_of(value, "timeout")
    if seconds == 0:
        raise UsageError("timeout cannot be 0 (no range is done in no time): give a time in seconds, or None")
    return None if math.isinf(seconds) else seconds


def nodes_of(nodes: int | None, executor: Any, order: str, resume: Resume) -> int:
    if nodes is None:
        nodes = (machines_of(executor) if executor is not None else None) or 1
    if integer_of(nodes, "nodes", 1, _MOST_NODES) == 1:
        return 1
    if executor is None:
        raise UsageError(f"nodes={nodes} is given without executor= (its workers run on the machines): give both")
    if order == "input":
        raise UsageError(
            "order='input' and several machines are given (rows of several nodes cannot be ordered by key): give "
            "order='any'; run.units tells which rows each range has"
        )
    if resume:
        raise UsageError(
            "resume=True and several machines are given (each node would have to return to its machine, which no "
            "executor guarantees): complete the outputs with tw.recover(path, all_nodes_are_down=True), or begin anew "
            "with force=True"
        )
    return nodes


def count_of_workers(workers: int | None) -> int:
    return len(os.sched_getaffinity(0)) if workers is None else integer_of(workers, "workers", 1)


def train_of(train: Sequence[Derivation], inputs: Inputs) -> tuple[Derivation, ...]:
    if not train:
        raise UsageError("the train has no derivation: give at least one")
    paths = [os.path.realpath(each.path) for each in train]
    for path in paths:
        folder = os.path.dirname(path)
        if paths.count(path) > 1:
            raise UsageError(f"{path} is the output of two derivations: give each of them its own file")
        if path in [os.path.realpath(file.path) for file in inputs.files]:
            raise UsageError(f"{path} is both input and output: give the output another name")
        if not is_folder(folder):
            why = "it is not a folder" if is_there(folder) else "there is no such folder"
            raise UsageError(f"{path} cannot be created in {folder} ({why}): make the folder first")
        if is_folder(path):
            raise UsageError(f"{path} cannot be created (it is a folder): give the output another name")
    return tuple(train)


def check_order(train: Sequence[Derivation], order: str, ranges_per_group: int | None) -> None:
    if ranges_per_group is not None and order != "input":
        raise UsageError(
            "ranges_per_group= is given, and the outputs have no order: give order='input', or leave it out"
        )
    for each in train:
        if order == "input" and not os.fspath(each.path).endswith(".root"):
            raise UsageError(
                f"{os.fspath(each.path)} cannot keep the order of the input (only RNTuple files can): write a .root "
                "file, or give order='any'; run.units tells which rows each range has"
            )


def check_loop(train: Sequence[Derivation], loop: EventLoop | None) -> None:
    if loop is not None and not callable(loop):
        raise UsageError(f"loop is {loop!r}, which is not a function")
    for each in train:
        name = f"the derivation of {os.fspath(each.path)}"
        if loop is None and each.is_for_loop:
            raise UsageError(f"{name} has only a schema, and nothing appends rows: give a function, keep, or loop=")
        if loop is not None and not each.is_for_loop:
            raise UsageError(f"{name} has function or keep, and the job has a loop: give the derivation only a schema")


def carried_of(beside: Beside, tables: Sequence[str]) -> tuple[TableSchema, ...]:
    """Returns the tables to carry along. Raises UsageError if an output has a table of that name for its events."""
    carried = beside.tables()
    for each in carried:
        if each.name in tables:
            raise UsageError(
                f"table '{each.name}' cannot be carried along (an output has its events in a table of that name): give "
                "the derivation another table="
            )
    return carried
