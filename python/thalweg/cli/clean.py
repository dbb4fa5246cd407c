"""thalweg clean"""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import _core
from thalweg._errors import Error, UsageError
from thalweg._recording.units import as_bytes, as_duration
from thalweg.cli._output import JsonOption, as_epilog, print_json, say

EXAMPLES = ["thalweg clean", "thalweg clean /data/runs --yes"]
LEFT_OVER = "left over"


def clean(
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FOLDER]...", help="Also looked at: runs keep memory there if /dev/shm has no room."),
    ] = None,
    run: Annotated[list[str] | None, typer.Option("--run", metavar="ID", help="Only of this run, or these.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove what is left over; without it, only list.")] = False,
    json: JsonOption = False,
) -> int:
    """List the memory that runs have left in /dev/shm and in folders, and remove what nobody needs any more.

    Looks at /dev/shm, at the folder that THALWEG_MEMORY_FOLDER names, at this one, and at those that are given. What a
    living process uses, what `thalweg recover` would take, and what is of another machine, container or user stays.
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
        say(*_sentences(found, removed, yes), *problems)
    return 1 if problems else 0


def _selected(found: list[_core.MemoryOfRun], runs: list[str], to_remove: bool) -> list[_core.MemoryOfRun]:
    """Who names a run wants just that: what cannot be done about it is an error."""
    if not runs:
        return found
    selected = []
    for run in runs:
        memory = next((each for each in found if run in (each.run_id, each.ledger)), None)
        if memory is None:
            raise UsageError(f"no memory of run {run} is here (name other folders, or see `thalweg clean`)")
        if to_remove and memory.state != LEFT_OVER:
            raise UsageError(f"the memory of run {run} is not removed ({memory.why})")
        selected.append(memory)
    return selected


def _places(given: list[str]) -> list[str]:
    """Absolute: the name of memory in a folder is its path."""
    for folder in given:
        if not Path(folder).is_dir():
            raise UsageError(f"cannot look for memory in {folder} (there is no such folder)")
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


def _sentences(found: list[_core.MemoryOfRun], removed: list[_core.MemoryOfRun], yes: bool) -> list[str]:
    if not found:
        return ["No run has memory here."]
    lines = []
    for memory in found:
        state = "removed" if memory in removed else memory.state
        age = f", in use until {as_duration(memory.age_ns * 1e-9)} ago" if memory.age_ns else ""
        run = f" of {memory.data_path}" if memory.data_path else ""
        lines.append(f"{state}: {as_bytes(memory.size_bytes)}{run}{age}; {memory.why}")
        lines += [f"  {path}" for path in memory.paths]
    left = [memory for memory in found if memory.state == LEFT_OVER and memory not in removed]
    if removed:
        lines.append(f"{as_bytes(sum(memory.size_bytes for memory in removed))} are free again.")
    if left and not yes:
        size = as_bytes(sum(memory.size_bytes for memory in left))
        lines.append(f"{size} are left over; `thalweg clean --yes` removes them.")
    return lines


def register(app: typer.Typer) -> None:
    app.command("clean", epilog=as_epilog(EXAMPLES))(clean)
