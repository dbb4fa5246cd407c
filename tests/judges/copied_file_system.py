"""A copy of a file system is mounted beside the original, on the same machine and since the same boot: a run in the
copy has the inode and the time of birth of the original, and the memory of its producers belongs to the original alone.

    python tests/judges/copied_file_system.py
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults")]

import mounted  # noqa: E402
from result import Result, show, work_folder  # noqa: E402

import thalweg as tw  # noqa: E402

ROWS = 20
DYING = f"""
import os, signal, sys
import numpy as np
import thalweg as tw
out = tw.create(sys.argv[1], {{"t": {{"number": tw.int64}}}}, tuning={{"flush_interval": "1h"}}, codec="none")
out.producer("t").append(number=np.arange({ROWS}))
while out.status().journal_bytes == 0:
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def at(image: Path, where: Path, numbers: range) -> Iterator[Path]:
    """Mounts the file system of an image."""
    where.mkdir(exist_ok=True)
    with mounted.loop(image, numbers) as (name, _):
        mounted.mount(name, where, "ext4")
        try:
            yield where
        finally:
            mounted.unmount(where)


@contextmanager
def with_run(image: Path, where: Path, name: str) -> Iterator[Path]:
    """Mounts a new file system with a run whose rows are in memory alone, since its process was killed."""
    image.touch()
    os.truncate(image, 128 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, stdout=subprocess.DEVNULL)
    with at(image, where, mounted.RECORDING):
        subprocess.run([sys.executable, "-c", DYING, where / name], check=False)
        os.sync()
        yield where / name


def rows(path: Path) -> int:
    with tw.open(path) as run:
        return len(run["t"])


def judge_copy(work: Path, name: str, result: Result) -> None:
    """The copy is recovered first, and the original has all its rows all the same."""
    image, copy = work / "image", work / "copy"
    with with_run(image, work / "original", name) as original:
        shutil.copyfile(image, copy)
        with at(copy, work / "beside", mounted.JUDGING) as beside:
            report = tw.recover(beside / name)
            if rows(beside / name) != 0 or not report.rows_may_be_missing or "it is a copy" not in str(report):
                result.wrong.append(f"{name}: the copy is taken for the original: {report}")
        report = tw.recover(original)
        if rows(original) != ROWS or not report.is_whole:
            result.wrong.append(f"{name}: the original has {rows(original)} rows: {report}")
    result.counts["copies of a file system"] += 1


def judge_mounted_again(work: Path, name: str, result: Result) -> None:
    """On another device: it is no copy."""
    image = work / "image"
    with with_run(image, work / "original", name):
        pass
    with at(image, work / "original", mounted.JUDGING) as where:
        report = tw.recover(where / name)
        if rows(where / name) != ROWS or not report.is_whole:
            result.wrong.append(f"{name}: mounted again, it has {rows(where / name)} rows: {report}")
    result.counts["file systems mounted again"] += 1


def main() -> int:
    mounted.have_own_mounts()
    result = Result()
    for judge in (judge_copy, judge_mounted_again):
        for name in ("run.h5", "run.root"):
            with mounted.folder_in_memory(work_folder()) as work:
                judge(work, name, result)
    return show(result)


if __name__ == "__main__":
    sys.exit(main())
