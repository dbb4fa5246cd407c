"""The output files of a job: created, or gone on with, and what is said in each of how it was made."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._derive.function_identity import PYTHON, hash_of
from thalweg._derive.inputs import Inputs
from thalweg._derive.ranges import Plan, as_text
from thalweg._derive.session import Job
from thalweg._errors import Error, UsageError
from thalweg._open import open  # noqa: A004
from thalweg._read import Run
from thalweg._schema import Schema, TableSchema
from thalweg._types import Type
from thalweg._write import Writer, create, recover

PLAN, OPTIONS, RESULT, NODES = "derive.plan", "derive.options", "derive.result", "derive.nodes"
"""Names of metadata: ranges and inputs; functions and what they are given; what came out, written at the end; and of
several machines what these were."""


@dataclass
class Output:
    path: str
    writer: Writer | None
    """None: the file is complete already."""
    committed: dict[int, bytes]
    """Summaries of the ranges that it has, from the time before."""


def options_of(job: Job, index: int) -> dict[str, Any]:
    """What makes one output what it is, so that it is not gone on with by another job."""
    derivation = job.train[index]
    functions: tuple[Any, ...] = (derivation.function, derivation.summary, *(cut for _, cut in derivation.cuts))
    if job.loop is not None:
        functions = (job.loop,)
    return {
        "table": job.tables[index],
        "keep": list(job.kept[index]),
        "cuts": [name for name, _ in derivation.cuts],
        "functions": [getattr(each, "__qualname__", repr(each)) if each else "" for each in functions],
        "hash": hash_of(*functions),
        "python": PYTHON,
        "thalweg": _core.version(),
    }


def plan_text(plan: Plan, inputs: Inputs) -> str:
    return as_text({"inputs": [file.to_json() for file in inputs.files], "ranges": plan.to_json()})


def is_there(path: str) -> bool:
    """Not where whoever created it died before anything was recorded: who creates it again clears that away."""
    return (os.path.exists(path) or os.path.exists(f"{path}.journal")) and not _core.is_stub(path)


def opened(path: str) -> Run:
    """A complete file, or a run whose processes are gone."""
    try:
        return open(path)
    except Error as error:
        raise UsageError(f"{path} cannot be gone on with ({error})") from error


@dataclass(frozen=True)
class Machines:
    """That write the outputs."""

    count: int = 1
    timeout: float = 60


def create_output(
    job: Job, index: int, plan: Plan, fields: Sequence[tuple[str, Type]], force: bool, machines: Machines
) -> Output:
    derivation = job.train[index]
    schema = Schema((TableSchema(job.tables[index], tuple(fields)),))
    metadata = {PLAN: plan_text(plan, job.inputs), OPTIONS: as_text(options_of(job, index))}
    writer = create(
        derivation.path,
        schema,
        force=force,
        codec=derivation.codec or _codec_of_input(job, index),
        metadata=metadata,
        tuning=derivation.tuning,
        order="key" if plan.per_group else None,
        keys_per_group=plan.per_group or None,
        nodes=machines.count,
        node_timeout=machines.timeout,
        on_node_death="continue" if machines.count > 1 else "end",
    )
    return Output(os.fspath(derivation.path), writer, {})


def _codec_of_input(job: Job, index: int) -> str | None:
    """With which pages can be copied. None: none will be."""
    derivation = job.train[index]
    is_told = any(name in (derivation.tuning or {}) for name in ("wide_codec", "narrow_codec"))
    if is_told or not derivation.copies:
        return None
    stored = job.inputs.open(0).stored
    return stored.codec_of(job.kept[index]) if stored else None


def resume_output(job: Job, index: int) -> Output:
    """Raises UsageError where input, functions or options are not those of the run."""
    path = os.fspath(job.train[index].path)
    if os.path.isdir(f"{path}.parts"):
        raise UsageError(
            f"{path} cannot be resumed (it was begun on several machines): tw.recover(path, all_nodes_are_down=True) "
            "completes it with the ranges that are done; then force=True begins anew"
        )
    run = opened(path)
    _check(path, run.metadata, job, index)
    if not run.is_open and os.path.exists(f"{path}.journal"):
        recover(path)  # it was killed between completing the file and removing the journal, which this does
    writer = create(path, resume=True) if run.is_open else None
    try:
        committed = {int(unit.key): unit.summary for unit in open(path).units}
        if writer is not None and (missing := set(writer.committed_keys()) - committed.keys()):
            raise Error(f"{path}: {len(missing)} ranges are committed, and cannot be read")
    except BaseException:
        if writer is not None:
            writer.abandon("the job could not be resumed")
        raise
    return Output(path, writer, committed)


def stored_plan(path: str) -> Plan | None:
    """None where no job has written it."""
    text = opened(path).metadata.get(PLAN)
    return Plan.from_json(json.loads(text)["ranges"]) if text else None


def _check(path: str, metadata: dict[str, str], job: Job, index: int) -> None:
    if PLAN not in metadata or OPTIONS not in metadata:
        raise UsageError(f"{path} was not written by a job of derivations: give another name, or force=True")
    then = [(file["table"], file["rows"], file["identity"]) for file in json.loads(metadata[PLAN])["inputs"]]
    now = [(file.table, file.rows, file.identity) for file in job.inputs.files]
    if then != now:
        changed = next((name.path for name, a, b in zip(job.inputs.files, then, now, strict=False) if a != b), "")
        what = (
            f"{changed} is not what it was" if changed else f"{len(now)} input files are given, and it had {len(then)}"
        )
        raise UsageError(f"{path} cannot be resumed ({what}): begin anew with force=True")
    options, wanted = json.loads(metadata[OPTIONS]), options_of(job, index)
    for name in ("table", "keep", "cuts", "hash"):
        if name == "hash" and options["python"] != wanted["python"]:
            raise UsageError(
                f"{path} was begun by Python {options['python']}, and this is {PYTHON}: whether its functions are the "
                "same cannot be told; resume it with that one"
            )
        if options[name] != wanted[name]:
            what = "its functions are others" if name == "hash" else f"{name} was {options[name]!r}"
            raise UsageError(
                f"{path} cannot be resumed ({what}): give what it began with, or begin anew with force=True"
            )
