"""Files that continue each other: found by their first file, a pattern or a list, and put into their order."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence

from thalweg._base.errors import UsageError
from thalweg._base.given import path_of
from thalweg._base.paths import is_file, is_there
from thalweg._reading.joined_run import JoinedRun
from thalweg._reading.run import Run

Open = Callable[[str], Run]


def several_paths(given: object) -> list[str] | None:
    """Returns the paths of a list, or those that match a pattern such as "run-*.h5"; None if one file is meant.

    Raises UsageError if a list is empty, or if no file matches.
    """
    if isinstance(given, str | os.PathLike):
        pattern = os.fspath(given)
        if not isinstance(pattern, str) or "://" in pattern or not glob.has_magic(pattern) or is_there(pattern):
            return None
        if not (found := sorted(path for path in glob.glob(pattern) if is_file(path))):
            raise UsageError(f"no file matches {pattern}")
        return found
    if not isinstance(given, Iterable) or hasattr(given, "read"):
        return None
    paths = [path_of(each) for each in given]
    if not paths:
        raise UsageError("no file is given: name at least one")
    return paths


def opened_run(given: object, open_: Open, *, next_files: bool = False) -> Run:
    """Returns the run of one file, or of several ones that are given by a pattern or a list."""
    paths = several_paths(given)
    if paths is None or (len(paths) == 1 and not isinstance(given, str | os.PathLike)):
        run = open_(path_of(given if paths is None else paths[0]))
        return with_next_files(run, open_) if next_files else run
    return run_of_files(paths, open_)


def with_next_files(first: Run, open_: Open) -> Run:
    """Returns the run with all files that continue it. Raises UsageError if one of them is missing."""
    parts = [first]
    try:
        while link := _next_of(parts[-1]):
            path, id_ = link
            if not is_there(path):
                raise UsageError(f"{parts[-1].path} continues in {path}, which does not exist: put it beside the file")
            parts.append(open_(path))
            _check_link(parts[-2], parts[-1], id_)
        return JoinedRun(parts) if len(parts) > 1 else first
    except BaseException:
        _close(parts)
        raise


def paths_with_next(path: str, open_: Open) -> list[str]:
    """Returns the path of a file and those of all files that continue it."""
    with with_next_files(open_(path), open_) as run:
        return [part.path for part in run.parts]


def run_of_files(paths: Sequence[str], open_: Open) -> Run:
    """Returns the run of which these files are all the parts, in any order.

    Raises UsageError, which names the file, if a part is missing, given twice, or of another run.
    """
    parts = _opened(paths, open_)
    try:
        by_id = {part.id: part for part in parts}
        ordered = [_first_of(parts, by_id)]
        while link := _next_of(ordered[-1]):
            path, id_ = link
            if id_ not in by_id:
                raise UsageError(f"{ordered[-1].path} continues in {path}, which is not given: name all files")
            ordered.append(by_id[id_])
        if strangers := [part.path for part in parts if part not in ordered]:
            raise UsageError(
                f"{strangers[0]} is not a part of the run of {ordered[0].path} (no file names it as its next one): "
                "give the files of one run"
            )
        return JoinedRun(ordered) if len(ordered) > 1 else ordered[0]
    except BaseException:
        _close(parts)
        raise


def files_as_one(paths: Sequence[str], open_: Open) -> Run:
    """Returns files with the same tables as one run, in this order, whether or not they continue each other."""
    parts = _opened(paths, open_)
    try:
        return JoinedRun(parts) if len(parts) > 1 else parts[0]
    except BaseException:
        _close(parts)
        raise


def _opened(paths: Sequence[str], open_: Open) -> list[Run]:
    parts: list[Run] = []
    seen: dict[object, str] = {}
    try:
        for path in paths:
            parts.append(open_(path))
            status = os.stat(path)
            keys: list[object] = [(status.st_dev, status.st_ino), *([parts[-1].id] if parts[-1].id else [])]
            if before := [seen[key] for key in keys if key in seen]:
                also = "" if before[0] == path else f", also as {before[0]}"
                raise UsageError(f"{path} is given twice{also} (its rows would count twice): give it once")
            seen |= dict.fromkeys(keys, path)
    except BaseException:
        _close(parts)
        raise
    return parts


def _first_of(parts: Sequence[Run], by_id: dict[str, Run]) -> Run:
    """Returns the part with which the run begins."""
    for part in parts:
        if "previous_file_id" not in part.metadata:
            return part
    for part in parts:
        if part.metadata["previous_file_id"] not in by_id:
            before = _beside(part, part.metadata.get("previous_file", ""))
            raise UsageError(f"{part.path} continues {before}, which is not given: give all files of the run")
    raise UsageError(f"{parts[0].path} has no first file (each file continues another one): copy the files anew")


def _next_of(part: Run) -> tuple[str, str] | None:
    """Returns path and id of the file in which the run goes on, if it does."""
    metadata = part.metadata
    return (_beside(part, metadata["next_file"]), metadata.get("next_file_id", "")) if "next_file" in metadata else None


def _beside(part: Run, name: str) -> str:
    return os.path.join(os.path.dirname(part.path), name)


def _check_link(before: Run, part: Run, id_: str) -> None:
    if part.id != id_:
        raise UsageError(
            f"{part.path} is not the file in which {before.path} continues (it is "
            f"{f'run {part.id}' if part.id else 'of another program'}, and not run {id_}): put that file beside it"
        )


def _close(parts: Iterable[Run]) -> None:
    for part in parts:
        part.close()
