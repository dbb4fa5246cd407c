"""The files and the memory of a run, copied and moved without knowledge of Thalweg."""

import contextlib
import shutil
from pathlib import Path

import thalweg as tw
from kills.stage import Say
from thalweg import _core


def unfinished(place: Path) -> list[Path]:
    """Files that have a journal beside them; the file itself may be missing."""
    return sorted(Path(str(journal).removesuffix(".journal")) for journal in place.glob("run*.journal"))


def copy(place: Path, to: Path, journals_first: bool) -> None:
    """Copies the files, also of a run that is alive: a file that vanishes meanwhile is not copied."""
    to.mkdir()
    paths = sorted(place.iterdir(), key=lambda path: (".journal" in path.name) != journals_first)
    for path in paths:
        if path.name.startswith("run"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path, to / path.name)


def move(place: Path, to: Path) -> None:
    to.mkdir()
    for path in place.glob("run*"):
        path.rename(to / path.name)


def drop_memory(handles: list[str]) -> None:
    """Removes what a restart of the machine would remove."""
    for handle in handles:
        name = Path("/dev/shm") / handle
        for path in name.parent.glob(f"{name.name}*"):
            path.unlink(missing_ok=True)


def keep(place: Path, handles: list[str], to: Path) -> None:
    """Copies everything, to look for the cause of a finding."""
    shutil.copytree(place, to)
    for handle in handles:
        for path in Path("/dev/shm").glob(f"{Path(handle).name}*"):
            shutil.copyfile(path, to / path.name)


def say_memory(say: Say, folder: Path, places: list[Path]) -> None:
    """That is still there of runs in this folder."""
    found = _core.list_memory([str(place) for place in places])
    say("memory", [path for run in found if run.data_path.startswith(f"{folder}/") for path in run.paths])


def recover(say: Say, path: Path) -> None:
    try:
        report = tw.recover(path)
    except tw.UsageError as error:
        say("nothing", str(error))
    else:
        say("recovered", report.lost_rows + report.units_lost, list(report.notes))


def recover_copy(say: Say, path: Path) -> None:
    """The copy of a run that was alive: files that do not fit together may be refused."""
    try:
        tw.recover(path)
    except tw.Error as error:
        say("refused", str(error))
    else:
        say("recovered")
