"""Opening: what the core reads, and beside it what other libraries can."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._base.paths import Path
from thalweg._reading.far import FarFile, Readable, far_file
from thalweg._reading.run import Run
from thalweg._reading.table import Table

if TYPE_CHECKING:
    from thalweg._values.row_groups import NewRows

_IS_TREE = "it is a TTree"  # so begins what the core says of them


def open(  # noqa: A001 (tw.open, as h5py.File and uproot.open)
    path: Path | Readable, mode: str = "r", *, external: Path | Iterable[Path] = ()
) -> Run:
    """Opens a closed file, or a run that is still being written, which it does not disturb.

    path: also a URL ("https://...", "s3://..."), which fsspec reads, or a file object that is open in mode "rb", stays
    open, and is moved. Of these only closed files, and what Thalweg reads by itself: no TTrees, and nothing that only
    h5py can read. One request asks for all pages that are read of a column, or for 64 MiB of them; lists and
    strings need two to four more.

    What cannot be read of a file of another program is left out, and listed in `problems` of the run. What only h5py
    can read of an HDF5 file, and TTrees, the older tables of ROOT, are read where h5py and uproot are installed.

    external: folders from which values are read that an HDF5 file has in other files (external storage, sources of
    virtual datasets). Without it, from the file's own folder alone: a file does not choose what is read.

    Raises UsageError where there is nothing, DataError where the file is damaged, foreign, or an unfinished run
    without its journal.
    """
    folders = external_folders(external)
    if mode not in ("r", "rb"):
        raise UsageError(f"{path} cannot be opened in mode {mode!r} (files are read only); write with tw.create")
    if far := far_file(path):
        if folders:
            raise UsageError(f"{far.name} cannot be read with external= (h5py does that); copy it to this machine")
        return _of_far(far)
    name = os.fspath(cast("Path", path))
    try:
        core = _core.Reader.open(name, even_without_tables=True)
    except DataError:
        if trees := _with_trees(name, None):
            return trees
        raise
    if any(each.why.startswith(_IS_TREE) for each in core.left_out):
        return _with_trees(name, core) or Run(core)
    return run_of(core, folders)


def _of_far(file: FarFile) -> Run:
    run = Run(_core.Reader.open_far(file.name, file.size_bytes, file.read_ranges))
    if not run and run.problems:
        _core.fail_without_tables(run.path, [str(problem) for problem in run.problems])
    return run


def followed(*request: Any) -> Iterator[NewRows]:
    """What `follow` of runs and tables gives."""
    from thalweg._reading.follow import followed as found

    return found(*request)


def external_folders(given: Path | Iterable[Path]) -> tuple[str, ...]:
    """One, or several. Raises UsageError where one is no folder."""
    folders = [given] if isinstance(given, str | os.PathLike) else list(given)
    for each in folders:
        if not os.path.isdir(each):
            raise UsageError(f"values cannot be read from {os.fspath(each)} (it is no folder); external takes folders")
    return tuple(os.path.abspath(each) for each in folders)


def reopened_run(path: str, id_: str, was_open: bool, rows: dict[str, int], external: tuple[str, ...] = ()) -> Run:
    """What a pickle of a run is: the file, opened again. Raises DataError where that is another run by now."""
    run = open(path, external=external)
    for table, count in rows.items():
        _check_same(run, id_, was_open, table, count)
    return run


def reopened_table(path: str, id_: str, was_open: bool, table: str, rows: int, external: tuple[str, ...] = ()) -> Table:
    """What a pickle of a table is."""
    run = open(path, external=external)
    _check_same(run, id_, was_open, table, rows)
    return run[table]


def _check_same(run: Run, id_: str, was_open: bool, table: str, rows: int) -> None:
    where = f"{run.path} is not what was pickled"
    if run.id != id_:
        raise DataError(f"{where} (it was the run {id_}, and is {run.id or 'a file of another program'})")
    if table not in run.schema:
        raise DataError(f"{where} (it had a table '{table}')")
    if len(run[table]) < rows or (len(run[table]) > rows and not was_open):
        raise DataError(f"{where} (its table '{table}' had {rows} rows, and has {len(run[table])})")


def run_of(core: _core.Reader, external: tuple[str, ...] = ()) -> Run:
    """With what h5py can read beside it. Raises DataError where there is no table."""
    run = (_with_h5py(core, external) if core.left_out else None) or Run(core)
    if not run and run.problems:
        _core.fail_without_tables(core.path, [str(problem) for problem in run.problems])
    return run


def _with_h5py(core: _core.Reader, external: tuple[str, ...]) -> Run | None:
    """None where it is no HDF5 file of others, or h5py is not there."""
    if _begins_with(core.path, b"root"):
        return None
    try:
        import h5py  # noqa: F401
    except ImportError:
        return None
    with suppress(ImportError):
        import hdf5plugin  # noqa: F401 (which gives h5py its filters)
    from thalweg._others.hdf5_run import with_h5py

    return with_h5py(core, external)


def _begins_with(path: str, signature: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    with builtins.open(path, "rb") as file:
        return file.read(len(signature)) == signature


def _with_trees(path: str, core: _core.Reader | None) -> Run | None:
    """None where it is no file of ROOT with TTrees, or uproot is not there."""
    if not _begins_with(path, b"root"):
        return None
    try:
        import uproot
    except ImportError:
        return None
    from thalweg._others.trees import open_trees

    return open_trees(uproot, path, core)
