"""thalweg clean"""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._base.quantities import as_bytes, as_duration
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json, say

EXAMPLES = ["thalweg clean", "thalweg clean /data/runs --yes"]
LEFT_OVER = "left over"
_MOST_LISTED = 5  # of each state


def clean(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FOLDER]...",
            help="More folders to search. A run keeps its memory in a folder if /dev/shm has no room.",
        ),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run", metavar="ID", help="Consider only the run whose ID this is, or begins with this. Can be repeated."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", show_default=False, help="Remove what is left over. Without it, only list.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", show_default=False, help="List every run and file, however many there are.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """List shared memory that runs left behind in /dev/shm and in folders; with --yes, remove it.

    The command searches /dev/shm, the folder in the variable THALWEG_MEMORY_FOLDER, the current folder, and each
    FOLDER. It never removes memory that a living process uses, that `thalweg recover` needs, or that belongs to another
    machine, container or user.
    """
    found = _selected(_core.list_memory(_places(folders or [])), run or [], yes)
    removed: list[_core.MemoryOfRun] = []
    problems: list[str] = []
    if yes:
        for memory in found:
            if memory.state == LEFT_OVER:
                try:
                    _core.remove_left_over(memory)
                    removed.append(memory)
                except Error as error:
                    problems.append(str(error))
    if json:
        print_json({"memory": [_facts(memory, memory in removed) for memory in found], "problems": problems})
    else:
        answer(*_sentences(found, removed, yes, len(found) if verbose else _MOST_LISTED))
        say(*problems)
    return 1 if problems else 0


def _selected(found: list[_core.MemoryOfRun], runs: list[str], to_remove: bool) -> list[_core.MemoryOfRun]:
    """Returns the memory of the named runs, or all of it if no run is named.

    Raises UsageError if a named run has no memory here, or if its memory is to be removed and must not be.
    """
    if not runs:
        return found
    selected = []
    for run in runs:
        memory = _memory_of(run, found)
        if to_remove and memory.state != LEFT_OVER:
            raise UsageError(f"the memory of run {run} cannot be removed ({memory.why})")
        selected.append(memory)
    return selected


def _memory_of(run: str, found: list[_core.MemoryOfRun]) -> _core.MemoryOfRun:
    """Returns the memory of a run that is named by its ID, the beginning of its ID, or the name of its memory. Raises
    UsageError if there is none, or several."""
    if whole := [each for each in found if run in (each.run_id, each.ledger)]:
        return whole[0]
    begun = [each for each in found if run and each.run_id.startswith(run)]
    if len(begun) > 1:
        ids = ", ".join(each.run_id for each in begun)
        raise UsageError(f"--run {run} is not one run (there are {ids}): give more digits of the ID")
    if not begun:
        raise UsageError(f"no memory of run {run} was found: give the folder it is in, or see `thalweg clean`")
    return begun[0]


def _places(given: list[str]) -> list[str]:
    """Returns the folders to search as absolute paths, since the name of memory in a folder is its path."""
    for folder in given:
        if not Path(folder).is_dir():
            raise UsageError(f"cannot search {folder} for memory (there is no such folder)")
    named = os.environ.get(_core.MEMORY_FOLDER_VARIABLE, "")
    folders = {str(Path(folder).resolve()) for folder in [*given, *([named] if named else []), "."]}
    return sorted(folders - {"/dev/shm"})


def _facts(memory: _core.MemoryOfRun, removed: bool) -> dict[str, Any]:
    return {
        "run": memory.run_id,
        "data": memory.data_path,
        "paths": memory.paths,
        "bytes": memory.size_bytes,
        "age_s": round(memory.age_ns * 1e-9, 1),
        "state": memory.state,
        "why": memory.why,
        "removed": removed,
    }


def _sentences(found: list[_core.MemoryOfRun], removed: list[_core.MemoryOfRun], yes: bool, most: int) -> list[str]:
    if not found:
        return ["No memory of any run was found."]
    by_state: dict[str, list[_core.MemoryOfRun]] = {}
    for memory in found:
        by_state.setdefault("removed" if memory in removed else memory.state, []).append(memory)
    lines = []
    for state, memories in by_state.items():
        for memory in memories[:most]:
            lines += _listed(state, memory)
        if (more := len(memories) - most) > 0:
            size = as_bytes(sum(memory.size_bytes for memory in memories))
            lines.append(f"{state}: {more:,} more (all {len(memories):,} have {size}; --verbose lists them)")
    left = [memory for memory in found if memory.state == LEFT_OVER and memory not in removed]
    if removed:
        lines.append(f"{as_bytes(sum(memory.size_bytes for memory in removed))} of memory are free again.")
    if left and not yes:
        size = as_bytes(sum(memory.size_bytes for memory in left))
        lines.append(f"{size} are left over; `thalweg clean --yes` removes them.")
    return lines


def _listed(state: str, memory: _core.MemoryOfRun) -> list[str]:
    age = f", in use until {as_duration(memory.age_ns * 1e-9)} ago" if memory.age_ns else ""
    run = f" of {memory.data_path}" if memory.data_path else ""
    run += f" (run {memory.run_id})" if memory.run_id else ""
    line = f"{state}: {as_bytes(memory.size_bytes)}{run}{age}; {memory.why}"
    return [line, *(f"  {path}" for path in memory.paths)]


def register(app: typer.Typer) -> None:
    app.command("clean", epilog=as_epilog(EXAMPLES))(clean)
