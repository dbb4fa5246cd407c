"""Creates and resumes the output files of a job, and keeps in each of them how it was made."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._derive.function_identity import PYTHON, hash_of
from thalweg._derive.inputs import Inputs
from thalweg._derive.ranges import RangePlan, as_text
from thalweg._derive.session import Job
from thalweg._files.open import open  # noqa: A004
from thalweg._files.recover import recover
from thalweg._reading.run import Run
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type
from thalweg._writing.create import create
from thalweg._writing.writer import Writer

PLAN, OPTIONS, RESULT, NODES = "derive.plan", "derive.options", "derive.result", "derive.nodes"
"""The names of the metadata of an output: ranges and inputs; functions and options; the result, written at the end; and
the machines, if there were several."""


@dataclass
class Output:
    path: str
    writer: Writer | None
    """None if the file was complete before."""
    committed: dict[int, bytes]
    """The summaries of the ranges that it had before this job began."""


def creation_options_of(job: Job, index: int) -> dict[str, Any]:
    """Returns the options that determine an output, so that another job does not resume it."""
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


def plan_text(plan: RangePlan, inputs: Inputs) -> str:
    return as_text({"inputs": [file.to_json() for file in inputs.files], "ranges": plan.to_json()})


def is_there(path: str) -> bool:
    """Returns whether there is an output to resume. A stub without rows does not count: `create` removes it."""
    return (os.path.exists(path) or os.path.exists(f"{path}.journal")) and not _core.is_stub(path)


def opened_output(path: str) -> Run:
    """Opens an output: a complete file, or a run whose processes have ended. Raises UsageError if it cannot."""
    try:
        return open(path)
    except Error as error:
        raise UsageError(f"{path} cannot be resumed ({error})") from error


@dataclass(frozen=True)
class Machines:
    """The number of machines that write the outputs, and the time in seconds after which one counts as failed."""

    count: int = 1
    timeout: float = 60


def create_output(
    job: Job, index: int, plan: RangePlan, fields: Sequence[tuple[str, Type]], force: bool, machines: Machines
) -> Output:
    derivation = job.train[index]
    schema = Schema((TableSchema(job.tables[index], tuple(fields)),))
    metadata = {PLAN: plan_text(plan, job.inputs), OPTIONS: as_text(creation_options_of(job, index))}
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
    """Returns the codec of the input, with which pages can be copied, or None if no pages will be copied."""
    derivation = job.train[index]
    is_told = any(name in (derivation.tuning or {}) for name in ("wide_codec", "narrow_codec"))
    if is_told or not derivation.copies:
        return None
    stored = job.inputs.open(0).stored
    return stored.codec_of(job.kept[index]) if stored else None


def resume_output(job: Job, index: int) -> Output:
    """Resumes an output. Raises UsageError if its input, functions or options are not those of the job."""
    path = os.fspath(job.train[index].path)
    if os.path.isdir(f"{path}.parts"):
        raise UsageError(
            f"{path} cannot be resumed (it was begun on several machines): complete it with tw.recover(path, "
            "all_nodes_are_down=True), or begin anew with force=True"
        )
    run = opened_output(path)
    _check(path, run.metadata, job, index)
    if not run.is_open and os.path.exists(f"{path}.journal"):
        recover(path)  # the job was killed between completing the file and removing the journal; this removes it
    writer = create(path, resume=True) if run.is_open else None
    try:
        committed = {int(unit.key): unit.summary for unit in open(path).units}
        if writer is not None and (missing := set(writer.committed_keys()) - committed.keys()):
            raise Error(f"{path}: {len(missing)} ranges are committed and cannot be read")
    except BaseException:
        if writer is not None:
            writer.abandon("the job could not be resumed")
        raise
    return Output(path, writer, committed)


def stored_plan(path: str) -> RangePlan | None:
    """Returns the plan that an output holds, or None if no job has written it."""
    text = opened_output(path).metadata.get(PLAN)
    return RangePlan.from_json(json.loads(text)["ranges"]) if text else None


def _check(path: str, metadata: dict[str, str], job: Job, index: int) -> None:
    if PLAN not in metadata or OPTIONS not in metadata:
        raise UsageError(
            f"{path} cannot be resumed (no derivation job has written it): give another name, or force=True"
        )
    then = [(file["table"], file["rows"], file["identity"]) for file in json.loads(metadata[PLAN])["inputs"]]
    now = [(file.table, file.rows, file.identity) for file in job.inputs.files]
    if then != now:
        changed = next((name.path for name, a, b in zip(job.inputs.files, then, now, strict=False) if a != b), "")
        what = (
            f"its input {changed} has changed"
            if changed
            else f"{len(now)} input files are given instead of {len(then)}"
        )
        raise UsageError(f"{path} cannot be resumed ({what}): begin anew with force=True")
    options, wanted = json.loads(metadata[OPTIONS]), creation_options_of(job, index)
    for name in ("table", "keep", "cuts", "hash"):
        if name == "hash" and options["python"] != wanted["python"]:
            raise UsageError(
                f"{path} cannot be resumed (it was begun by Python {options['python']}, and functions cannot be "
                f"compared with those of Python {PYTHON}): resume it with Python {options['python']}"
            )
        if options[name] != wanted[name]:
            what = "its functions have changed" if name == "hash" else f"{name} was {options[name]!r}"
            raise UsageError(
                f"{path} cannot be resumed ({what}): give the same as at its beginning, or begin anew with force=True"
            )
