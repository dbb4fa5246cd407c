"""thalweg verify"""

from typing import Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from thalweg import _core
from thalweg._base.quantities import as_bytes, counted
from thalweg._files.open import external_folders
from thalweg._files.open import open as open_run
from thalweg._files.several import several_paths
from thalweg._files.verification import Verification
from thalweg._files.verify import verification_of, verified_by_others
from thalweg.cli._output import (
    AllowMissingOption,
    ExternalOption,
    FilesArgument,
    JsonOption,
    NextFilesOption,
    answer,
    as_epilog,
    exit_code,
    people,
    print_json,
    say_problems,
)

EXAMPLES = ["thalweg verify run.h5"]


def verify(
    files: FilesArgument,
    next_files: NextFilesOption = False,
    external: ExternalOption = None,
    allow_missing: AllowMissingOption = False,
    json: JsonOption = False,
) -> int:
    """Check every stored byte against its checksum, and the index of the file against the page map.

    Each fault is named with its table, column and offset. Several files must be all the files of one run: each of them
    is checked, and so is that none is missing, given twice or of another run. The exit code is 1 if there are faults,
    if the run was left unfinished by processes that have ended, or if parts of a file of another program cannot be
    read; these parts are named, too. What only h5py or uproot can read is read in a separate process.
    """
    folders = external_folders(external or ())
    all_found = [_with_progress(path, folders) for path in _paths(files, next_files)]
    if json:
        facts = [_facts(found) for found in all_found]
        whole = {"is_sound": all(found.is_sound for found in all_found), "files": facts}
        print_json(facts[0] if len(facts) == 1 else whole)
    else:
        answer(*(sentence for found in all_found for sentence in sentences(found)))
    for found in all_found:
        say_problems(found.path, found.problems)
    return max(_code(found, allow_missing) for found in all_found)


def _paths(files: list[str], next_files: bool) -> list[str]:
    """Returns the paths of the files. Raises UsageError if they are several and not all the files of one run."""
    given = files[0] if len(files) == 1 else files
    if several_paths(given) is None and not next_files:
        return files  # which may be damaged, so that it cannot be opened
    with open_run(given, next_files=next_files) as run:
        return [part.path for part in run.parts]


def _facts(found: Verification) -> dict[str, Any]:
    return {**found.to_dict(), "adler32": f"{found.adler32:08x}", "is_sound": found.is_sound}


def _code(found: Verification, allow_missing: bool) -> int:
    return exit_code(found.problems, allow_missing) if found.is_sound and not found.is_unfinished else 1


def _with_progress(file: str, external: tuple[str, ...]) -> Verification:
    columns = TextColumn("Verifying"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeRemainingColumn()
    with Progress(*columns, console=people(), transient=True, disable=not people().is_terminal) as progress:
        task = progress.add_task("", total=1.0)
        found = _core.verify(file, 0, lambda share: progress.update(task, completed=share))
    return verified_by_others(verification_of(found, file), external)


def sentences(found: Verification) -> list[str]:
    sound = "no faults, but not complete" if found.is_unfinished else "sound"
    state = sound if found.is_sound else counted(found.faults, "fault")
    lines = [f"{found.path}: {state}. Checked: {counted(found.pages, 'page')} ({as_bytes(found.bytes)})."]
    lines += found.messages
    if hidden := found.faults - len(found.messages):
        lines.append(f"... and {hidden:,} more faults")
    if found.pages_without_checksum:
        lines.append(f"{found.pages_without_checksum:,} pages have no checksum: they were decoded, but not compared.")
    if found.read_by_h5py:
        lines.append(f"h5py read every value of: {'; '.join(found.read_by_h5py)}.")
    if found.read_by_uproot:
        lines.append(f"uproot read every value of: {'; '.join(found.read_by_uproot)}.")
    if found.read_without_checksum:
        lines.append(f"These have no checksum, so only that they can be read is known: "
                     f"{'; '.join(found.read_without_checksum)}.")  # fmt: skip
    if found.is_unfinished:
        lines.append(found.remedy)
    elif found.is_open:
        lines.append("The run is still open: rows that are not yet in the file or its journal were not checked.")
        if found.writers not in ("alive", "none"):
            lines.append(f"{found.writers[:1].upper()}{found.writers[1:]}.")
    else:
        lines.append(f"adler32 of the file: {found.adler32:08x}")
    return lines


def register(app: typer.Typer) -> None:
    app.command("verify", epilog=as_epilog(EXAMPLES))(verify)
