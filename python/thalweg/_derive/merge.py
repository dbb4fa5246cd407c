"""Merges files, with the summaries and cut flows that jobs have stored in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence

from thalweg._base.errors import Error, UsageError
from thalweg._base.given import path_of
from thalweg._base.paths import Path
from thalweg._derive.large_summaries import summary_of
from thalweg._derive.outputs import OPTIONS, RESULT
from thalweg._derive.ranges import as_text
from thalweg._derive.summaries import Summary
from thalweg._files.merge import MergeReport, merge_files
from thalweg._files.open import open  # noqa: A004
from thalweg._reading.run import Run

_MERGED = "merge"
"""The name of the metadata in which a merged file tells its inputs."""


def merge(inputs: Iterable[Path], out: Path, *, force: bool = False) -> MergeReport:
    """Merges the RNTuples of several files into one file, in the order in which the files are given.

    Pages are copied as they are stored, and their checksums are verified; page lists and footers are new. The files may
    come from Thalweg or ROOT. They must have the same tables with the same fields, stored in columns of the same types.
    From files of Thalweg, the result keeps the schema and attributes of the first, the work units of all, and the
    metadata that are the same in all; the metadata entry 'merge' says what each file had. If all files are outputs of
    `derive`, their summaries and cut flows are added as the jobs added those of their ranges ('derive.result'). `out`
    gets its name only once it is complete and durable.

    force: replace `out` if it exists.

    Objects that are not RNTuples are left out, and `problems` of the report lists them. Raises UsageError if files
    differ (and names table and field), are given twice, are copies of one run, hold each other or are still being
    written, if their summaries cannot be added, or if `out` exists; DataError if a page is damaged, and names file,
    table and row. There is no `out` then.
    """
    if isinstance(inputs, str | os.PathLike):
        raise UsageError(f"inputs cannot be {os.fspath(inputs)!r} (it is one file): give a list of files")
    names = [path_of(each) for each in inputs]
    runs = dict(_runs_of(names))
    _check_apart(runs)
    return merge_files(names, path_of(out), bool(force), _added_results(runs) if len(runs) == len(names) else {})


def _runs_of(names: Sequence[str]) -> Iterator[tuple[str, Run]]:
    """Yields the complete runs of Thalweg. What is wrong with other files is told by the core."""
    for name in names:
        try:
            run = open(name)
        except Error:
            continue
        if run.id and not run.is_open:
            yield name, run


def _check_apart(runs: dict[str, Run]) -> None:
    """Raises UsageError if the rows of one run are in two of the files, according to what merged files tell."""
    holders: dict[str, str] = {}
    for path, run in runs.items():
        ids = set(_ids_of(run.metadata.get(_MERGED, "")))
        for id_ in sorted({run.id, *ids}):
            other = holders.get(id_)
            if other is not None and not run.id == id_ == runs[other].id:  # the core names copies of one run
                raise UsageError(
                    f"{path} cannot be merged with {other} (both hold the rows of run {id_}, which would count twice): "
                    "name one of them"
                )
        holders.update(dict.fromkeys({run.id, *ids}, path))


def _ids_of(told: str) -> Iterator[str]:
    """Yields the ids of the runs that a merged file holds, and of those that these hold."""
    for each in json.loads(told) if told else ():
        if "id" in each:
            yield each["id"]
        yield from _ids_of(each.get("metadata", {}).get(_MERGED, ""))


def _added_results(runs: dict[str, Run]) -> dict[str, str]:
    """Returns the result of a merged file as metadata: the sum of the summaries of all its ranges."""
    derived = [path for path, run in runs.items() if RESULT in run.metadata or OPTIONS in run.metadata]
    if not derived:
        return {}
    if others := [path for path in runs if path not in derived]:
        raise UsageError(
            f"{others[0]} cannot be merged with {derived[0]} (only the latter has the summaries of a job, so that they "
            "would not be those of all rows): merge outputs of derive with each other"
        )
    total, skipped = Summary(), []
    for path, run in runs.items():
        result = json.loads(run.metadata.get(RESULT, "{}"))
        of_file = Summary(cuts=dict.fromkeys(result.get("cuts", {}), 0))
        units = sorted(run.units, key=lambda unit: int(unit.key)) if _MERGED not in run.metadata else run.units
        for unit in units:
            _add(of_file, summary_of(run, unit), f"{path}, range {int(unit.key)}")
        is_sum = as_text(of_file.to_json()) == as_text({name: result.get(name) for name in of_file.to_json()})
        if result and _MERGED not in run.metadata and not is_sum:
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
