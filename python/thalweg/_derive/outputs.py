"""Creates and resumes the output files of a job, and keeps in each of them how it was made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._base.paths import is_folder, is_there
from thalweg._derive.carried import Beside
from thalweg._derive.function_identity import PYTHON
from thalweg._derive.inputs import Inputs
from thalweg._derive.large_summaries import PART, TABLE, summary_of, table_of_summaries
from thalweg._derive.ranges import RangePlan, as_text
from thalweg._derive.session import Job
from thalweg._derive.summaries import Summary
from thalweg._files.open import open  # noqa: A004
from thalweg._files.recover import recover
from thalweg._reading.run import Run
from thalweg._schema.schema import Schema, TableSchema
from thalweg._schema.types import Type, as_type
from thalweg._writing.attached import attach
from thalweg._writing.create import create
from thalweg._writing.work_unit import UnitOfGroup, WorkUnit
from thalweg._writing.writer import Writer

Resume: TypeAlias = "bool | Literal['trust']"
_COMPARED = ("table", "keep", "cuts", "schema", "codec", "missing", "one_row_an_event", "copy_pages", "tuning", "carry")
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
    is_new: bool = True


def creation_options_of(job: Job, index: int) -> dict[str, Any]:
    """Returns the options that determine an output, so that another job does not resume it."""
    derivation, identity = job.train[index], job.identities[index]
    return {
        "table": job.tables[index],
        "keep": list(job.kept[index]),
        "cuts": [name for name, _ in derivation.cuts],
        "schema": {name: repr(as_type(like)) for name, like in (derivation.schema or {}).items()},
        "codec": derivation.codec,
        "missing": {pattern: repr(value) for pattern, value in job.inputs.missing.items()},
        "one_row_an_event": derivation.one_row_an_event,
        "copy_pages": derivation.copy_pages,
        "tuning": {name: str(value) for name, value in (derivation.tuning or {}).items()},
        **({"carry": [each.name for each in job.carried]} if job.carried else {}),
        "functions": [
            getattr(each, "__qualname__", repr(each)) if each else "" for each in derivation.functions(job.loop)
        ],
        "hash": identity.digest,
        "not_compared": list(identity.not_compared),
        "python": PYTHON,
        "thalweg": _core.version(),
    }


def plan_text(plan: RangePlan, inputs: Inputs) -> str:
    return as_text({"inputs": [file.to_json() for file in inputs.files], "ranges": plan.to_json()})


def can_be_resumed(path: str) -> bool:
    """Returns whether there is an output to resume. A stub without rows does not count: `create` removes it."""
    return (is_there(path) or is_there(f"{path}.journal")) and not _core.is_stub(path)


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
    own = tuple(field for field in fields if field != (TABLE, PART))
    table = TableSchema(job.tables[index], own, job.inputs.description, job.inputs.attrs)
    summaries = () if len(own) == len(fields) else (table_of_summaries(),)
    schema = Schema((table, *job.carried, *summaries))
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
    return job.inputs.codec_of(job.kept[index])


def resume_output(job: Job, index: int, plan: RangePlan, trusts: bool) -> tuple[Output, list[str]]:
    """Resumes an output, and returns notes for the report. Raises UsageError if its input, functions or options are not
    those of the job.

    trusts: functions that differ, or that cannot be compared, are taken to be those of the beginning, with a note.
    """
    path = os.fspath(job.train[index].path)
    if is_folder(f"{path}.parts"):
        raise UsageError(
            f"{path} cannot be resumed (it was begun on several machines): complete it with tw.recover(path, "
            "all_nodes_are_down=True), or begin anew with force=True"
        )
    run = opened_output(path)
    notes = _check(path, run.metadata, job, index, trusts)
    if not run.is_open and is_there(f"{path}.journal"):
        recover(path)  # the job was killed between completing the file and removing the journal; this removes it
    writer = create(path, resume=True) if run.is_open else None
    try:
        now = open(path)
        committed = {int(unit.key): summary_of(now, unit) for unit in now.units}
        if job.carried and writer is None and plan.number_of_carried not in committed:
            raise UsageError(f"{path} cannot be resumed (it is complete and lacks carried tables): give force=True")
        if writer is not None and (missing := set(writer.committed_keys()) - committed.keys()):
            raise Error(f"{path}: {len(missing)} ranges are committed and cannot be read")
        committed.pop(plan.number_of_carried, None)
    except BaseException:
        if writer is not None:
            writer.abandon("the job could not be resumed")
        raise
    return Output(path, writer, committed, is_new=False), notes


def append_carried(outputs: Sequence[Output], job: Job, plan: RangePlan, beside: Beside) -> None:
    """Appends the rows of carried tables to all outputs that lack them, in one work unit, which has no events."""
    number, nothing = plan.number_of_carried, Summary().encoded()
    with ExitStack() as stack:
        units: list[WorkUnit | UnitOfGroup] = []
        for each in outputs:
            if not job.carried or each.writer is None or each.writer.is_committed(number):
                continue
            attached = stack.enter_context(attach(each.writer.handle))  # its end writes the rows to the disk
            if plan.per_group:
                group = stack.enter_context(attached.work_group(number // plan.per_group))
                units.append(stack.enter_context(group.work_unit(number, nothing)))
            else:
                units.append(stack.enter_context(attached.work_unit(number, nothing)))
        for table, rows in beside.batches(job.carried) if units else ():
            for unit in units:
                unit[table].append(rows)


@contextmanager
def opened_together(replaced: Sequence[str]) -> Iterator[list[Output]]:
    """Takes the outputs that are opened in its block. If one cannot be opened, those that were created are removed, and
    the files that they would have replaced are there again.

    replaced: the paths of files that may be replaced."""
    aside: list[_core.SetAside] = []
    outputs: list[Output] = []
    try:
        for path in replaced:
            aside.append(_core.SetAside(os.path.abspath(path)))
        yield outputs
    except BaseException:
        for output in outputs:
            if output.writer is not None:
                output.writer.abandon("another output could not be opened")
            if output.is_new:
                with suppress(Error):  # the caller must see why another one could not be opened
                    _core.remove_run(os.path.abspath(output.path))
        for each in aside:
            each.restore()
        raise
    for each in aside:
        each.discard()


def stored_plan(path: str) -> RangePlan | None:
    """Returns the plan that an output holds, or None if no job has written it."""
    text = opened_output(path).metadata.get(PLAN)
    return RangePlan.from_json(json.loads(text)["ranges"]) if text else None


def _check(path: str, metadata: dict[str, str], job: Job, index: int, trusts: bool) -> list[str]:
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
    for name in _COMPARED:
        if options.get(name) != wanted.get(name):
            raise UsageError(
                f"{path} cannot be resumed ({name} was {options.get(name)!r}): give the same as at its beginning, or "
                "begin anew with force=True"
            )
    why = _why_functions_differ(options, wanted)
    if why and not trusts:
        raise UsageError(f"{path} cannot be resumed ({why[0]}): {why[1]}")
    return [f"{path}: {why[0]}; the job was resumed with resume='trust'"] if why else []


def _why_functions_differ(options: dict[str, Any], wanted: dict[str, Any]) -> tuple[str, str] | None:
    """Returns why functions are not known to be the same, and what can be done; None if they are the same."""
    trust = "if they do the same, give resume='trust' (--resume trust); otherwise begin anew with force=True"
    if options["python"] != wanted["python"]:
        began = f"it was begun by Python {options['python']}"
        return (
            f"{began}, and functions cannot be compared with those of Python {PYTHON}",
            f"resume it with Python {options['python']}, or, {trust}",
        )
    if options["hash"] != wanted["hash"]:
        return "its functions have changed", f"give the same as at its beginning; {trust}"
    if there := [*options.get("not_compared", ()), *wanted["not_compared"]]:
        return f"its functions use what cannot be compared: {'; '.join(dict.fromkeys(there))}", trust
    return None
