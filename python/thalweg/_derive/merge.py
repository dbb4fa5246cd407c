"""Merges files, with the summaries and cut flows that jobs have stored in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any

from thalweg._base.errors import DataError, UsageError
from thalweg._base.given import path_of
from thalweg._base.paths import Path
from thalweg._derive.carried import Beside
from thalweg._derive.large_summaries import summary_of
from thalweg._derive.outputs import OPTIONS, RESULT
from thalweg._derive.ranges import as_text
from thalweg._derive.summaries import Summary
from thalweg._files.merge import MergeReport, merge_files
from thalweg._files.merge_hdf5 import are_hdf5, merge_hdf5
from thalweg._files.open import open  # noqa: A004
from thalweg._files.several import paths_with_next, several_paths
from thalweg._reading.run import Run
from thalweg._schema.left_out import LeftOut
from thalweg._schema.schema import Schema
from thalweg._values.row_groups import Unit
from thalweg._writing.create import create

_MERGED = "merge"
"""The name of the metadata in which a merged file tells its inputs."""


def merge(
    inputs: Path | Iterable[Path],
    out: Path,
    *,
    force: bool = False,
    carry: str | Iterable[str] = (),
    next_files: bool = False,
) -> MergeReport:
    """Merges the RNTuples of several files into one file, in the order in which the files are given.

    inputs: a list, or a pattern such as "run-*.root", whose files come in the order of their names; one file if
        `next_files` is given.

    Pages are copied as they are stored, and their checksums are verified; page lists and footers are new. The files may
    come from Thalweg or ROOT. They must have the same tables with the same fields, stored in columns of the same types.
    From files of Thalweg, the result keeps the schema and attributes of the first, the work units of all, and the
    metadata that are the same in all; the metadata entry 'merge' says what each file had. If all files are outputs of
    `derive`, their summaries and cut flows are added as the jobs added those of their ranges ('derive.result'). `out`
    gets its name only once it is complete and durable.

    HDF5 files become an HDF5 file in the same way, but their rows are decoded and written anew (`copied_bytes` is 0),
    and work units are not kept: `problems` says so if there are any.

    force: replace `out` if it exists.
    carry: TTrees beside the RNTuples, by name or pattern, such as `["Runs", "LuminosityBlocks"]`. `out` has them as
        RNTuples, with the rows of all files. uproot reads their values, which are written anew.
    next_files: whether the files in which the run of an input goes on come behind that input, as in `open`.

    Other objects that are not RNTuples are left out, and `problems` of the report lists them. Raises UsageError if
    files differ (and names table and field), are given twice, are copies of one run, hold each other or are still being
    written, if their summaries cannot be added, if a file lacks a table that is carried along, or if `out` exists;
    DataError if a page is damaged, and names file, table and row. There is no `out` then.
    """
    names = _names_of(inputs, next_files)
    parts = dict(_parts_of(names))
    _check_apart(parts)
    added = _added_results(parts) if len(parts) == len(names) else {}
    if are_hdf5(names, path_of(out)):
        if carry:
            raise UsageError("carry= cannot be given for HDF5 files (they hold no TTrees): leave it out")
        return merge_hdf5(names, path_of(out), bool(force), added)
    beside = Beside(carry)
    with _trees_carried(names, beside) as (path, trees):
        report = merge_files(names, path_of(out), bool(force), added, path)
    carried = {f"{name}:{tree}" for name in names for tree in trees}
    left_out = [each for each in report.problems if each.path not in carried]
    return replace(report, problems=(*_named_once(left_out), *beside.left_out.values()))


def _names_of(inputs: Path | Iterable[Path], next_files: bool) -> list[str]:
    """Returns the paths of all inputs. Raises UsageError if a file that continues another one is missing."""
    found = several_paths(inputs)
    if found is None and not next_files:
        raise UsageError(
            f"inputs cannot be {inputs!r} (it is one file): give a list of files, a pattern, or next_files=True"
        )
    names = [path_of(inputs)] if found is None else found
    return [path for name in names for path in paths_with_next(name, open)] if next_files else names


@contextmanager
def _trees_carried(names: Sequence[str], beside: Beside) -> Iterator[tuple[str, list[str]]]:
    """Yields a file with the TTrees of all files that are carried along, one after the other, and their names."""
    if not beside.asks:
        yield "", []
        return
    copied: set[str] = set()
    for name in names:
        with open(name) as run:
            ntuples = [each for each in run if run[each].stored_in() is not None]
            beside.look(run, ntuples)
            copied.update(ntuples)
    schema = Schema(beside.tables(copied))
    if not schema:
        yield "", []
        return
    with TemporaryDirectory(prefix="thalweg-merge-") as folder:
        path = os.path.join(folder, "carried.root")
        with create(path, schema) as out, ExitStack() as stack:
            producers = {name: stack.enter_context(out.producer(name)) for name in schema}
            for name, rows in beside.batches(schema.tables):
                producers[name].append(rows)
        yield path, list(schema)


def _named_once(problems: Iterable[LeftOut]) -> Iterator[LeftOut]:
    """Yields what is left out once for all files that have it."""
    by_object: dict[tuple[str, str], list[LeftOut]] = {}
    for each in problems:
        by_object.setdefault((each.path.rpartition(":")[2], each.why), []).append(each)
    for first, *others in by_object.values():
        more = f"; {len(others)} other file{'s'[: len(others) != 1]} too" if others else ""
        yield replace(first, why=first.why + more)


@dataclass
class _Part:
    """What a complete run of Thalweg tells: its summaries are those of its ranges, by their keys."""

    id: str
    metadata: Mapping[str, str]
    summaries: list[tuple[int, bytes]]

    @property
    def is_derived(self) -> bool:
        return RESULT in self.metadata or OPTIONS in self.metadata

    @property
    def is_merged(self) -> bool:
        return _MERGED in self.metadata


def _parts_of(names: Sequence[str]) -> Iterator[tuple[str, _Part]]:
    """Yields the complete runs of Thalweg; one file is open at a time. What is wrong with other files is told by the
    core."""
    for name in names:
        try:
            run = open(name)
        except (DataError, UsageError):
            continue
        with run:
            if run.id and not run.is_open:
                yield name, _part_of(run)


def _part_of(run: Run) -> _Part:
    part = _Part(run.id, dict(run.metadata), [])
    if part.is_derived:
        part.summaries = [(_number_of(run, unit), summary_of(run, unit)) for unit in run.units]
        if not part.is_merged:
            part.summaries.sort(key=lambda each: each[0])
    return part


def _number_of(run: Run, unit: Unit) -> int:
    if not isinstance(unit.key, int):
        raise UsageError(
            f"{run.path} cannot be merged (its '{RESULT}' is not of a job: work unit {unit.key!r} is no range): merge "
            "outputs of derive with each other"
        )
    return unit.key


def _check_apart(parts: dict[str, _Part]) -> None:
    """Raises UsageError if the rows of one run are in two of the files, according to what merged files tell."""
    holders: dict[str, str] = {}
    for path, part in parts.items():
        ids = set(_ids_of(part.metadata.get(_MERGED, "")))
        for id_ in sorted({part.id, *ids}):
            other = holders.get(id_)
            if other is not None and not part.id == id_ == parts[other].id:  # the core names copies of one run
                raise UsageError(
                    f"{path} cannot be merged with {other} (both hold the rows of run {id_}, which would count twice): "
                    "name one of them"
                )
        holders.update(dict.fromkeys({part.id, *ids}, path))


def _ids_of(told: object) -> Iterator[str]:
    """Yields the ids of the runs that a merged file holds, and of those that these hold. Metadata of that name that a
    user has set tell none."""
    inputs = _json_of(told)
    for each in inputs if isinstance(inputs, list) else ():
        if isinstance(each, dict):
            if isinstance(each.get("id"), str):
                yield each["id"]
            metadata = each.get("metadata")
            yield from _ids_of(metadata.get(_MERGED) if isinstance(metadata, dict) else None)


def _json_of(text: object) -> object:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _result_of(path: str, part: _Part) -> dict[str, Any]:
    result = _json_of(part.metadata.get(RESULT, "{}"))
    if isinstance(result, dict) and (not result or isinstance(result.get("cuts"), dict)):
        return result
    raise UsageError(
        f"{path} cannot be merged (its '{RESULT}' is not of a job): merge outputs of derive with each other"
    )


def _added_results(parts: dict[str, _Part]) -> dict[str, str]:
    """Returns the result of a merged file as metadata: the sum of the summaries of all its ranges."""
    derived = [path for path, part in parts.items() if part.is_derived]
    if not derived:
        return {}
    if others := [path for path in parts if path not in derived]:
        raise UsageError(
            f"{others[0]} cannot be merged with {derived[0]} (only the latter has the summaries of a job, so that they "
            "would not be those of all rows): merge outputs of derive with each other"
        )
    total, skipped = Summary(), []
    for path, part in parts.items():
        result = _result_of(path, part)
        of_file = Summary(cuts=dict.fromkeys(result.get("cuts", {}), 0))
        for number, summary in part.summaries:
            _add(of_file, summary, f"{path}, range {number}")
        is_sum = as_text(of_file.to_json()) == as_text({name: result.get(name) for name in of_file.to_json()})
        if result and not part.is_merged and not is_sum:
            raise UsageError(
                f"{path} cannot be merged (its '{RESULT}' is not the sum of the summaries of its ranges, by which it "
                "would be added): derive it anew"
            )
        skipped += result.get("skipped", [])
        try:
            total.add(of_file)
        except Exception as error:
            raise UsageError(
                f"{path} cannot be merged (its summaries cannot be added to those of the files before it: {error}): "
                "merge files of one analysis"
            ) from error
    return {RESULT: as_text({**total.to_json(), "skipped": skipped})}


def _add(total: Summary, stored: bytes, where: str) -> None:
    try:
        total.add(Summary.decoded(stored, is_trusted=False))
    except Exception as error:
        raise UsageError(f"{where}: its summary cannot be added ({error}): derive the file anew") from error
