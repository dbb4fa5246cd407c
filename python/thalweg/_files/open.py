"""Opens files: those that the core reads, and those that other libraries read."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from thalweg import _core
from thalweg._base.errors import UsageError
from thalweg._base.paths import Path, is_file, is_folder
from thalweg._files.several import opened_run
from thalweg._reading.far import FarFile, Readable, far_file
from thalweg._reading.run import Run
from thalweg._reading.stored_run import StoredRun


def open(  # noqa: A001 (tw.open, as h5py.File and uproot.open)
    path: Path | Iterable[Path] | Readable,
    mode: str = "r",
    *,
    external: Path | Iterable[Path] = (),
    next_files: bool = False,
) -> Run:
    """Opens a closed file, or a run that is still being written. It does not disturb the run.

    Files that continue each other, as those of `record --max-file-time`, are opened as one run: by a pattern such as
    "run-*.h5", by a list, or by their first file with `next_files=True`. Their rows follow each other in the order of
    the files, and `parts` of the run has each file.

    path: a path, a URL ("https://...", "s3://..."), which fsspec reads, or a file object that was opened in mode "rb".
        The object stays open, and its position changes. For URLs and file objects: closed files only; no TTrees, and
        nothing that needs h5py. Each request fetches all needed pages of a column, up to 64 MiB; lists and strings
        need two to four more requests. A pattern or a list gives all files of one run, in any order.
    external: folders from which an HDF5 file of another program may read values in other files (external storage,
        sources of virtual datasets). By default, only the folder of the file: a file must not choose what is read.
    next_files: whether the files in which the run goes on belong to it, too.

    Objects of other programs that cannot be read are left out, and `problems` of the run lists them. If h5py is
    installed, it reads what only it can read of an HDF5 file; if uproot is installed, it reads TTrees of ROOT files.

    Raises UsageError if there is no such file, or if a file of several is missing, given twice or of another run;
    DataError if the file is damaged, has no tables, or is an unfinished run without its journal.
    """
    folders = external_folders(external)
    if mode not in ("r", "rb"):
        raise UsageError(f"{path} cannot be opened in mode {mode!r} (files are only read): write with tw.create")
    if far := far_file(path):
        if next_files:
            raise UsageError(f"{far.name} cannot be read with next_files=True: give the paths of all files")
        if folders:
            raise UsageError(f"{far.name} cannot be read with external= (h5py does that): copy it to this machine")
        return _of_far(far)
    return opened_run(path, partial(_one, folders=folders), next_files=next_files)


def _one(path: str, folders: tuple[str, ...] = ()) -> Run:
    return run_of(_core.Reader.open(path, even_without_tables=True), folders)


def _of_far(file: FarFile) -> Run:
    return _with_tables(StoredRun(_core.Reader.open_far(file.name, file.size_bytes, file.read_ranges), open))


def external_folders(given: Path | Iterable[Path]) -> tuple[str, ...]:
    """Returns the absolute paths of one or several folders. Raises UsageError if one is not a folder."""
    folders = [given] if isinstance(given, str | os.PathLike) else list(given)
    for each in folders:
        if not is_folder(each):
            raise UsageError(f"external cannot be {os.fspath(each)} (it is not a folder): give folders")
    return tuple(os.path.abspath(each) for each in folders)


def run_of(core: _core.Reader, external: tuple[str, ...] = ()) -> Run:
    """Returns the run, with what h5py and uproot can read besides the core. Raises DataError if there is no table."""
    run: Run | None = None
    if any(each.reason == _core.LeftOutReason.tree for each in core.left_out):
        run = _with_trees(core)
    elif core.left_out:
        run = _with_h5py(core, external)
    return _with_tables(StoredRun(core, open) if run is None else run)


def _with_tables(run: Run) -> Run:
    """Returns the run. Raises DataError if it has no table, but parts that are left out."""
    if not run and run.problems:
        _core.fail_without_tables(run.path, [str(problem) for problem in run.problems])
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
    from thalweg._others.hdf5_run import open_with_h5py

    return open_with_h5py(core, partial(open, external=external) if external else open, external)


def _begins_with(path: str, signature: bytes) -> bool:
    if not is_file(path):
        return False
    with builtins.open(path, "rb") as file:
        return file.read(len(signature)) == signature


def _with_trees(core: _core.Reader) -> Run | None:
    """Returns the run with what uproot reads, or None if uproot is not installed."""
    try:
        import uproot  # noqa: F401
    except ImportError:
        return None
    from thalweg._others.trees import open_trees

    return open_trees(StoredRun(core, open), open)
