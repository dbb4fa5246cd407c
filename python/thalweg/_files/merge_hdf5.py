"""Merges HDF5 files: their rows are written anew, since pages of one column all have the same number of rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from thalweg._base.errors import UsageError
from thalweg._files.convert import copied_run
from thalweg._files.merge import MergedTable, MergeReport
from thalweg._files.open import open  # noqa: A004
from thalweg._files.several import files_as_one
from thalweg._reading.run import Run
from thalweg._schema.left_out import LeftOut

_ENDINGS = (".h5", ".hdf5", ".lh5")
_MERGED = "merge"
_LINKS = ("next_file", "next_file_id", "previous_file", "previous_file_id")


def are_hdf5(names: Sequence[str], out: str) -> bool:
    """Returns whether HDF5 files, by their names, are to become another one."""
    return bool(names) and all(name.endswith(_ENDINGS) for name in names) and out.endswith(_ENDINGS)


def merge_hdf5(names: Sequence[str], out: str, force: bool, added: Mapping[str, str]) -> MergeReport:
    """Merges HDF5 files in this order. Entries of `added` replace those that the inputs share.

    Raises UsageError if a file is still being written or given twice, or if its tables differ from those of the first.
    """
    run = files_as_one(names, open)
    try:
        for part in run.parts:
            if part.is_open:
                raise UsageError(
                    f"{part.path} cannot be merged (it is still being written, or was left behind by a crash): wait "
                    "for its end, recover it, or take a snapshot of it"
                )
        texts = [part.metadata for part in run.parts]
        shared = {key: value for key, value in texts[0].items() if all(each.get(key) == value for each in texts)}
        shared = {key: value for key, value in shared.items() if key not in (_MERGED, *_LINKS, *added)}
        told = json.dumps([_told(part, shared) for part in run.parts], ensure_ascii=False)
        knobs = {name: run.knobs.get(name, "auto") for name in ("wide_codec", "narrow_codec")}
        report = copied_run(
            run,
            out,
            codec=None,
            force=force,
            tuning={name: value for name, value in knobs.items() if value != "auto"},
            metadata={**shared, **added, _MERGED: told},
        )
        units = "work units of HDF5 files are not kept"
        lost = [LeftOut(f"{part.path}:thalweg", units) for part in run.parts if part.units]
    finally:
        run.close()
    return MergeReport(
        path=out,
        inputs=tuple(names),
        tables=tuple(MergedTable(table.table, table.rows, 0, 0) for table in report.tables),
        units=0,
        copied_bytes=0,
        file_bytes=report.file_bytes,
        problems=(*report.problems, *lost),
    )


def _told(part: Run, shared: Mapping[str, str]) -> dict[str, object]:
    """Returns what a merged file says of an input: its name, rows and id, and what it shares with no other."""
    own = {key: value for key, value in part.metadata.items() if key not in shared}
    rows = {name: len(table) for name, table in part.items()}
    return {"file": os.path.basename(part.path), "rows": rows, "id": part.id, "metadata": own}
