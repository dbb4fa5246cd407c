"""What a command leaves in its folder. Each trial begins as the first did: what a run creates is moved aside."""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from thalweg._base.errors import Error, SystemError, UsageError  # noqa: A004
from thalweg._base.quantities import as_bytes
from thalweg._tune.journal import Journal, is_running
from thalweg._tune.keeper import end_marked

_MOST_FILES = 200_000
_MOST_KEPT_BYTES = 1 << 30
PREFIX = ".thalweg-tune-"
_BEFORE, _LEFT, _OVER = "before", "left-", "over"
State = tuple[int, int, int]  # inode, size, time of the last change


@dataclass
class Outputs:
    """The outputs of one run, moved aside. Paths are relative to the folder in which the command runs."""

    folder: Path
    """They are here now."""
    files: list[Path] = field(default_factory=list)


class Workplace:
    """The folder in which the command runs, and one in it for what is moved aside."""

    def __init__(self, folder: Path, journal: Journal, has_restorer: bool) -> None:
        self.folder, self.journal, self.aside = folder, journal, journal.folder
        self._has_restorer = has_restorer
        self._own = {str(self.aside), journal.request.get("out")}
        self._streams = _streams_in_files()
        self._before: dict[Path, State] = {}
        self._folders_before: set[Path] = set()

    @classmethod
    def begin(cls, folder: Path, request: dict[str, Any], has_restorer: bool) -> Self:
        """Keeps a copy of the files that are there, unless something restores them.

        Raises UsageError if there are too many of them, or if an earlier trial was killed here.
        """
        for left in sorted(folder.glob(f"{PREFIX}*")):
            if is_running(left):
                raise UsageError(f"{left} belongs to a trial that runs now: wait until it ends, or use another folder")
            raise UsageError(
                f"{left} is there (an earlier trial was killed): it has what the command had left; "
                "`thalweg tune --resume` goes on, or move out what you need, and remove it"
            )
        aside = folder / f"{PREFIX}{os.getpid()}"
        try:
            aside.mkdir()  # one that is there belongs to another process of that number, and stays
            try:
                place = cls(folder, Journal.begin(aside, request), has_restorer)
                place._look()
            except BaseException:  # what was copied is not needed
                shutil.rmtree(aside, ignore_errors=True)
                raise
        except Error:
            raise
        except OSError as error:
            raise SystemError(error.errno or 0, f"the trial cannot begin ({error}): mend that first") from error
        return place

    @classmethod
    def go_on(cls, folder: Path) -> Self:
        """Takes over the trial that was killed in this folder, which is as it was before the run that was interrupted.

        Raises UsageError if there is none, or if a file that was there before it is other than it was.
        """
        found = sorted(folder.glob(f"{PREFIX}*"))
        if not found:
            raise UsageError(f"there is nothing to go on with (no trial was killed in {folder}): give a command")
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            raise UsageError(f"{folder} has what several trials have left ({names}): remove those that you do not need")
        aside = found[0]
        journal = Journal.take_over(aside)
        if journal is None:
            raise UsageError(
                f"{aside} has no journal (its trial was killed before it ran anything, or is of another version): move "
                "out what you need, remove it, and begin again"
            )
        end_marked(str(aside))
        place = cls(folder, journal, journal.request.get("before") is not None)
        place._look()
        return place

    def _look(self) -> None:
        """Notes what is there before the first run, once."""
        known = self.journal.known("files")
        if known is None:
            shutil.rmtree(self.aside / _BEFORE, ignore_errors=True)
            self._before, self._folders_before = self._scan(), set(self._folders())
            if not self._has_restorer:
                self._keep()
            self.journal.add(
                "files",
                files=[[str(path), *state] for path, state in self._before.items()],
                folders=sorted(map(str, self._folders_before)),
            )
            return
        self._before = {Path(path): (inode, size, time) for path, inode, size, time in known["files"]}
        self._folders_before = {Path(each) for each in known["folders"]}

    def tidy(self, kept: Sequence[Outputs], remaining: Outputs | None) -> None:
        """Brings the folder back to where it was before the run that was interrupted. `kept`: the outputs of runs that
        are over; those that remain in the end may have been put back already.

        Files that are neither known nor among those that remain stay in the end.
        """
        for place, path in [] if remaining is None else [(remaining.folder / each, each) for each in remaining.files]:
            if not os.path.lexists(place) and os.path.lexists(self.folder / path):
                place.parent.mkdir(parents=True, exist_ok=True)
                os.rename(self.folder / path, place)
        for folder in self.aside.glob("run-*"):
            if folder not in [each.folder for each in kept]:
                shutil.rmtree(folder)
        if not self._has_restorer:
            self._compare_with_copies()
        self._move_unknown(self.aside / f"{_LEFT}{time.time_ns()}")

    def _compare_with_copies(self) -> None:
        """Raises UsageError if a file that was there before is other now: it may be by the command, or by the user."""
        if not (self.aside / _BEFORE).exists():  # nothing was there, or the trial was over
            return
        now = self._scan()
        for path in self.changed():
            copy = self.aside / _BEFORE / path
            if path not in now or not _is_same(self.folder / path, copy):
                raise UsageError(
                    f"{path} is other than before the trial (by the command that was killed, or by you since): put "
                    f"back {copy}, or move both out of {self.folder}, and go on"
                )
            self._before[path] = now[path]

    def _move_unknown(self, to: Path) -> None:
        for path in self._scan():
            if path not in self._before:
                (to / path).parent.mkdir(parents=True, exist_ok=True)
                os.rename(self.folder / path, to / path)
        self._remove_new_folders()

    def _remove_new_folders(self) -> None:
        for folder in self._folders():
            if folder not in self._folders_before:
                (self.folder / folder).rmdir()

    def _keep(self) -> None:
        size = sum(state[1] for state in self._before.values())
        if size > _MOST_KEPT_BYTES:
            raise UsageError(
                f"{self.folder} has {as_bytes(size)} of files (a command that is tried might change them, and "
                f"{as_bytes(_MOST_KEPT_BYTES)} at most are kept safe): run the command in a folder of its own, or give "
                "--before COMMAND, which restores them"
            )
        for path in self._before:
            _copy(self.folder / path, self.aside / _BEFORE / path)

    def changed(self) -> list[Path]:
        """Returns files that were there before the first run and have changed or gone."""
        now = self._scan()
        return sorted(path for path, state in self._before.items() if now.get(path) != state)

    def take_aside(self, label: str) -> Outputs:
        """Moves aside what the last run has created.

        Raises UsageError if the run has changed files that were there before, and nothing restores them: another run
        would not begin as the first did.
        """
        changed = self.changed()
        if changed and not self._has_restorer:
            for path in changed:
                _copy(self.aside / _BEFORE / path, self.folder / path)
            names = ", ".join(map(str, changed[:3])) + (" and others" if len(changed) > 3 else "")
            raise UsageError(
                f"the command cannot be run again as it was (it changed {names}, which was there before; it is "
                "restored now): give --before COMMAND, which restores it before each run"
            )
        outputs = Outputs(self.aside / label)
        now = self._scan()
        # With something that restores files, what it has restored is an output, too.
        outputs.files = sorted(path for path in now if path not in self._before)
        for path in outputs.files:
            place = outputs.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self.folder / path, place)
        for path in changed:
            if path in now:
                _copy(self.folder / path, outputs.folder / path)
                outputs.files.append(path)
        self._remove_new_folders()
        return outputs

    def put_back(self, outputs: Outputs) -> None:
        """Leaves the outputs as if the command had run once. What an interrupted run has under other names stays."""
        for path in outputs.files:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(outputs.folder / path, self.folder / path)
        for left in sorted(self.aside.glob(f"{_LEFT}*")):
            files = [each for each in left.rglob("*") if each.is_symlink() or not each.is_dir()]
            for path in [each.relative_to(left) for each in files]:
                if not os.path.lexists(self.folder / path):
                    (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                    os.rename(left / path, self.folder / path)

    def remove(self, outputs: Outputs) -> None:
        if outputs.folder.exists():
            shutil.rmtree(outputs.folder)

    def end(self) -> None:
        """Removes what was moved aside; the journal goes last, so that a trial that is killed here can go on."""
        if (self.aside / _BEFORE).exists():
            os.rename(self.aside / _BEFORE, self.aside / _OVER)  # files may change from now on
        for entry in list(self.aside.iterdir()):
            if entry.is_dir():
                shutil.rmtree(entry)
        shutil.rmtree(self.aside)
        self.journal.close()

    def _scan(self) -> dict[Path, State]:
        found = {}
        for entry in self._entries():
            if entry.is_file(follow_symlinks=False) or entry.is_symlink():  # a socket or a pipe has no content
                status = entry.stat(follow_symlinks=False)
                if (status.st_dev, status.st_ino) in self._streams:
                    continue
                found[self._relative(entry)] = (status.st_ino, status.st_size, status.st_mtime_ns)
                if len(found) > _MOST_FILES:
                    raise UsageError(
                        f"{self.folder} has more than {_MOST_FILES:,} files (all are looked at after each run): run "
                        "the command in a folder of its own"
                    )
        return found

    def _folders(self) -> list[Path]:
        """Returns all folders, inner ones first."""
        found = [self._relative(each) for each in self._entries() if each.is_dir(follow_symlinks=False)]
        return sorted(found, key=lambda path: -len(path.parts))

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        waiting = [str(self.folder)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.path in self._own:
                        continue
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)

    def _relative(self, entry: os.DirEntry[str]) -> Path:
        return Path(entry.path).relative_to(self.folder)


def _streams_in_files() -> set[tuple[int, int]]:
    """Returns the files to which this process says what it finds, as in `thalweg tune … > tune.txt`: no outputs."""
    found = set()
    for stream in (1, 2):
        with contextlib.suppress(OSError):  # it is closed
            status = os.fstat(stream)
            found.add((status.st_dev, status.st_ino))
    return found


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.unlink(missing_ok=True)
    shutil.copy2(path, to, follow_symlinks=False)


def _is_same(path: Path, copy: Path) -> bool:
    if path.is_symlink() or copy.is_symlink():
        return path.is_symlink() and copy.is_symlink() and os.readlink(path) == os.readlink(copy)
    return copy.exists() and filecmp.cmp(path, copy, shallow=False)
