"""Finds which numbers the files of a run get: they go on behind those of earlier runs with the same name."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from thalweg import _core
from thalweg._base.errors import Error, SystemError, UsageError  # noqa: A004
from thalweg._base.paths import is_there
from thalweg._recording.options import RecordOptions


def numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number:05}{path.suffix}")


def is_taken(path: Path) -> bool:
    """Returns whether a file, a journal or a folder of journals has this name."""
    return any(is_there(f"{path}{suffix}") for suffix in ("", ".journal", ".parts"))


@dataclass
class EarlierFiles:
    """What earlier runs have left under the names of this one."""

    last: int = 0
    """The highest number; 0 if there are none."""
    unfinished: list[Path] = field(default_factory=list)
    """Files with a journal: their runs were not completed."""


def behind_earlier(options: RecordOptions) -> EarlierFiles:
    """Returns what this run goes on behind. Raises UsageError if another process records under these names."""
    is_rotated = bool(options.max_file_size or options.max_file_time)
    if options.continue_ and (options.force or options.nodes > 1):
        other = "--force" if options.force else "--nodes"
        raise UsageError(f"--continue cannot be given with {other}: leave one of them out")
    if options.force or not (is_rotated or options.continue_):
        return EarlierFiles()
    earlier = earlier_files(Path(options.out), with_first=not is_rotated)
    for file in earlier.unfinished:  # both would number their files in turn
        if _is_written(file):
            raise UsageError(
                f"cannot record into {options.out} (another process is writing {file}): give another file with --out"
            )
    return earlier


def _is_written(file: Path) -> bool:
    """Returns whether another process writes the file. What cannot be told stops no run: `recover` says why it is."""
    try:
        return file.exists() and _core.writers_of(str(file)) == "alive"
    except (Error, OSError):
        return False


def earlier_files(path: Path, *, with_first: bool) -> EarlierFiles:
    """Looks for numbered files beside `path`. If files have numbers from the second on, `path` itself is the first."""
    pattern = re.compile(re.escape(path.stem) + r"-(\d{5,})" + re.escape(path.suffix) + r"(\.journal|\.parts)?")
    try:
        names = os.listdir(path.parent)
    except FileNotFoundError:
        return EarlierFiles()  # the error of the creation says it better
    except OSError as error:
        raise SystemError(error.errno, f"cannot list {path.parent} ({error.strerror})") from None
    found: dict[int, Path] = {1: path} if with_first and is_taken(path) else {}
    found |= {int(match[1]): numbered(path, int(match[1])) for name in names if (match := pattern.fullmatch(name))}
    unfinished = [found[number] for number in sorted(found) if is_there(f"{found[number]}.journal")]
    return EarlierFiles(max(found, default=0), unfinished)
