"""Opens files: those that the core reads, and those that other libraries read."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from thalweg import _core
from thalweg._base.errors import DataError, UsageError
from thalweg._base.given import path_of
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
    """Opens a closed file, or a run that is still being written. It does not disturb the run.

    path: a path, a URL ("https://...", "s3://..."), which fsspec reads, or a file object that was opened in mode "rb".
        The object stays open, and its position changes. For URLs and file objects: closed files only; no TTrees, and
        nothing that needs h5py. Each request fetches all needed pages of a column, up to 64 MiB; lists and strings
        need two to four more requests.
    external: folders from which an HDF5 file of another program may read values in other files (external storage,
        sources of virtual datasets). By default, only the folder of the file: a file must not choose what is read.

    Objects of other programs that cannot be read are left out, and `problems` of the run lists them. If h5py is
    installed, it reads what only it can read of an HDF5 file; if uproot is installed, it reads TTrees of ROOT files.

    Raises UsageError if there is no such file; DataError if the file is damaged, has no tables, or is an unfinished run
    without its journal.
    """
    folders = external_folders(external)
    if mode not in ("r", "rb"):
        raise UsageError(f"{path} cannot be opened in mode {mode!r} (files are only read): write with tw.create")
    if far := far_file(path):
        if folders:
            raise UsageError(f"{far.name} cannot be read with external= (h5py does that): copy it to this machine")
        return _of_far(far)
    name = path_of(path)
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
    """Yields the new rows for `follow` of runs and tables."""
    from thalweg._reading.follow import followed as found

    return found(*request)


def external_folders(given: Path | Iterable[Path]) -> tuple[str, ...]:
    """Returns the absolute paths of one or several folders. Raises UsageError if one is not a folder."""
    folders = [given] if isinstance(given, str | os.PathLike) else list(given)
    for each in folders:
        if not os.path.isdir(each):
            raise UsageError(f"external cannot be {os.fspath(each)} (it is not a folder): give folders")
    return tuple(os.path.abspath(each) for each in folders)


def reopened_run(path: str, id_: str, was_open: bool, rows: dict[str, int], external: tuple[str, ...] = ()) -> Run:
    """Opens the file of a pickled run again. Raises DataError if it is another run by now."""
    run = open(path, external=external)
    for table, count in rows.items():
        _check_same(run, id_, was_open, table, count)
    return run


def reopened_table(path: str, id_: str, was_open: bool, table: str, rows: int, external: tuple[str, ...] = ()) -> Table:
    """Opens the file of a pickled table again. Raises DataError if it is another run by now."""
    run = open(path, external=external)
    _check_same(run, id_, was_open, table, rows)
    return run[table]


def _check_same(run: Run, id_: str, was_open: bool, table: str, rows: int) -> None:
    where = f"{run.path} is not the file that was pickled"
    if run.id != id_:
        raise DataError(f"{where} (it was run {id_}, and is {run.id or 'a file of another program'} now)")
    if table not in run.schema:
        raise DataError(f"{where} (it has no table '{table}' now)")
    if len(run[table]) < rows or (len(run[table]) > rows and not was_open):
        raise DataError(f"{where} (its table '{table}' had {rows} rows, and has {len(run[table])} now)")


def run_of(core: _core.Reader, external: tuple[str, ...] = ()) -> Run:
    """Returns the run, with what h5py can read besides the core. Raises DataError if there is no table."""
    run = (_with_h5py(core, external) if core.left_out else None) or Run(core)
    if not run and run.problems:
        _core.fail_without_tables(core.path, [str(problem) for problem in run.problems])
    return run


def _with_h5py(core: _core.Reader, external: tuple[str, ...]) -> Run | None:
    """Returns the run with what h5py reads, or None if it is not an HDF5 file, or if h5py is not installed."""
    if _begins_with(core.path, b"root"):
        return None
    try:
        import h5py  # noqa: F401
    except ImportError:
        return None
    with suppress(ImportError):
        import hdf5plugin  # noqa: F401 (it gives h5py more filters)
    from thalweg._others.hdf5_run import with_h5py

    return with_h5py(core, external)


def _begins_with(path: str, signature: bytes) -> bool:
    if not os.path.isfile(path):
        return False
    with builtins.open(path, "rb") as file:
        return file.read(len(signature)) == signature


def _with_trees(path: str, core: _core.Reader | None) -> Run | None:
    """Returns the run with what uproot reads, or None if it has no TTrees, or if uproot is not installed."""
    if not _begins_with(path, b"root"):
        return None
    try:
        import uproot
    except ImportError:
        return None
    from thalweg._others.trees import open_trees

    return open_trees(uproot, path, core)
