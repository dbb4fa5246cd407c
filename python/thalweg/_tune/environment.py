"""The environment of a trial: settings by variables, and the library that sets the others inside the program."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from thalweg._base.errors import UsageError
from thalweg._trace.command import preloaded
from thalweg._trace.program import find_program
from thalweg._tune.settings import Chosen, Way

TRIED = "THALWEG_TRIED"  # NAME=VALUE;NAME=VALUE, for the preloaded library
TRIED_HINTS = "THALWEG_TRIED_HINTS"  # the same for hints that the program passes to MPI itself
KNOBS = "THALWEG_KNOBS"
_ROMIO = "ROMIO_HINTS"


def variables(chosen: Sequence[Chosen], folder: Path) -> dict[str, str]:
    """Returns the variables that bring the settings to a program. `folder` takes the file of hints."""
    found = {each.setting.variable: each.value for each in chosen if each.setting.way is Way.variable}
    hints = [f"{each.setting.name} {each.value}" for each in chosen if each.setting.way is Way.romio_hints]
    if hints:
        path = folder / "hints"
        before = os.environ.get(_ROMIO)
        old = _lines_of(before) if before else []
        names = {line.split()[0] for line in hints}
        # Hints that are there already stay, unless one of the same name is tried.
        kept = [line for line in old if line.strip() and line.split()[0] not in names]
        path.write_text("".join(f"{line}\n" for line in [*kept, *hints]))
        found[_ROMIO] = str(path)
    if knobs := [each for each in chosen if each.setting.way is Way.knobs]:
        found[KNOBS] = ";".join([*_other_knobs(knobs), *(f"{each.setting.name}={each.value}" for each in knobs)])
    if given := [each for each in chosen if each.setting.hint]:
        found[TRIED_HINTS] = ";".join(f"{each.setting.hint}={each.value}" for each in given)
    if loaded := [each for each in chosen if each.setting.way.is_loaded]:
        found[TRIED] = ";".join(f"{each.setting.name}={each.value}" for each in loaded)
    return found


def _other_knobs(chosen: Sequence[Chosen]) -> list[str]:
    """Returns the knobs that the user has in the variable, without those that are tried."""
    names = {each.setting.name for each in chosen}
    return [each for each in os.environ.get(KNOBS, "").split(";") if each and each.partition("=")[0] not in names]


def with_library(variables: dict[str, str], command: Sequence[str]) -> dict[str, str]:
    """Returns the environment of a run that is timed. The library is loaded with the settings and without, so that both
    pay for it."""
    return os.environ | variables | {"LD_PRELOAD": preloaded(find_program(list(command)))}


def _lines_of(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError as error:
        raise UsageError(f"{_ROMIO} names {path}, which cannot be read ({error.strerror}): mend that first") from None
