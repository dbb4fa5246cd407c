"""Cuts the power at any point of a recording: some writes are on the disk, and the machine is restarted.

    python tests/judges/cuts.py --seed 7 --file-system ext4 --cuts 40
    python tests/judges/cuts.py --kept build/judges/ext4-7 --cut 1234:torn

Everything before the last flush is on the disk. Of what was written behind it, all is there, nothing, some writes, or
some writes in part, in pieces of 512 bytes.
"""

import argparse
import dataclasses
import errno
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "faults")]

import controls  # noqa: E402
import device  # noqa: E402
import mounted  # noqa: E402
from derivation import make_input  # noqa: E402
from judge import Verdict, judge  # noqa: E402
from kills.campaign import MOST_LETTERS, shortened  # noqa: E402
from other_readers import others_for  # noqa: E402
from promises import Said  # noqa: E402
from recordings import Choices, choose, from_json, to_json  # noqa: E402
from result import Result, show, work_folder  # noqa: E402

STYLES = ("all", "none", "some", "torn")
LONGEST_CPU_S, LONGEST_S = 60, 600  # that the judgement of a cut may take; others may have the processors, too
MOST_WRONG = 8  # sentences about a cut
KEPT = Path("build/judges")
OF_THE_MACHINE = (errno.EBUSY, errno.ENOMEM, errno.ENODEV)  # errors of a mount that say nothing about the disk


class Images:
    """Makes the content of the disk at a cut: a base that has all that was flushed, and a copy that is played with."""

    def __init__(self, folder: Path, log: Path, file_system: str) -> None:
        self.entries, self.log = device.read_log(log), os.open(log, os.O_RDONLY)
        self.flushes = [index for index, entry in enumerate(self.entries) if entry.flags & device.FLUSH]
        self.size, self.image = device.SIZE[file_system], folder / "image"
        self.base_file, self.file = (self._file(path) for path in (folder / "base", self.image))
        self.done = 0

    def _file(self, path: Path) -> int:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.ftruncate(file, self.size)
        return file

    def make(self, count: int, style: str, any_: random.Random) -> None:
        """Makes the image after `count` entries. Cuts must come in ascending order."""
        flushed = max((index + 1 for index in self.flushes if index < count), default=0)
        while self.done < flushed:
            self._put(self.base_file, self.done)
            self.done += 1
        self._copy()
        rest = range(flushed, count)
        share = any_.random()
        for index in rest:
            if style == "all" or (style == "some" and any_.random() < share):
                self._put(self.file, index)
            elif style == "torn" and any_.random() < 0.7:
                self._put(self.file, index, self._pieces(self.entries[index].count, any_))

    @staticmethod
    def _pieces(count: int, any_: random.Random) -> list[int]:
        """Returns which sectors of a write reach the disk."""
        how = any_.random()
        if how < 0.3:
            return list(range(count))
        if how < 0.6:
            return list(range(any_.randint(0, count)))
        return [sector for sector in range(count) if any_.random() < 0.5]

    def _put(self, file: int, index: int, pieces: list[int] | None = None) -> None:
        entry = self.entries[index]
        if entry.flags & device.DISCARD or not entry.count:
            return
        data = os.pread(self.log, entry.count * device.SECTOR, entry.data)
        if pieces is None:
            os.pwrite(file, data, entry.sector * device.SECTOR)
            return
        for piece in pieces:
            at = piece * device.SECTOR
            os.pwrite(file, data[at : at + device.SECTOR], entry.sector * device.SECTOR + at)

    def _copy(self) -> None:
        """Copies the base. Pages that both have stay allocated: that is half of what a copy costs."""
        done = 0
        for begin, end in [*self._stretches(), (self.size, self.size)]:
            if done < begin:
                mounted.remove_pages(self.file, done, begin - done)
            done = begin
            while done < end:
                done += os.copy_file_range(self.base_file, self.file, end - done, done, done)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        at = 0
        while at < self.size:
            try:
                begin = os.lseek(self.base_file, at, os.SEEK_DATA)
            except OSError:  # nothing but a hole
                return
            at = os.lseek(self.base_file, begin, os.SEEK_HOLE)
            yield begin, at


def record(folder: Path, file_system: str, choices: Choices) -> None:
    """Records on a logged device. The folder has the log and what was said afterwards."""
    said = folder / "said"
    (folder / "choices").write_text(to_json(choices))
    if choices.subject == "derive":
        make_input(folder / "input.root")
    with device.logged(folder, file_system) as (where, log):
        said.write_text(json.dumps({"what": "begin", "node": 1, "log": log.stat().st_size}) + "\n")
        command = [sys.executable, HERE / "recordings.py", to_json(choices), where, log, said]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        if choices.subject == "eatmydata":
            environment["LD_PRELOAD"] = controls.preload()
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, env=environment)
        if done.returncode != 0:
            raise RuntimeError(f"the recording failed: {done.stdout} {done.stderr}")
    failures = Said(said).failures()
    if failures:
        raise RuntimeError(f"the recording failed: {failures[0]}")


def points(entries: list[device.Entry], first_length: int, cuts: int, any_: random.Random) -> list[tuple[int, str]]:
    """Returns where the power is cut: after how many entries, and what of the last writes is there."""
    first = next(index for index, entry in enumerate(entries) if entry.end > first_length)
    found = []
    for count in range(first, len(entries) + 1):
        is_flushed = entries[count - 1].flags & device.FLUSH
        found += [(count, "all")] if is_flushed else [(count, style) for style in STYLES]
    return sorted(any_.sample(found, min(cuts, len(found))))


def judge_cuts(folder: Path, file_system: str, seed: int, cuts: int, end_s: float, only: str = "") -> Result:
    """Judges cuts of a recording that the folder has, until the time is over."""
    said, choices = Said(folder / "said"), from_json((folder / "choices").read_text())
    images = Images(folder, folder / "log", file_system)
    result, where = Result(), folder / "after"
    where.mkdir(exist_ok=True)
    load_modules()
    planned = points(images.entries, said.first_length(), cuts, random.Random(seed))
    if only:
        count, style = only.split(":")
        planned = [(int(count), style)]
    with (
        mounted.loop(images.image, mounted.JUDGING) as (name, number),
        others_for(choices, random.Random(seed)) as others,
    ):
        for count, style in planned:
            if time.monotonic() > end_s:
                break
            any_ = random.Random(f"{seed} {count} {style}")
            images.make(count, style, any_)
            mounted.forget_cached_blocks(number)
            try:
                mounted.mount(name, where, file_system)
            except OSError as error:
                if is_excused(error, style, file_system):
                    result.counts[f"cuts that {file_system} does not survive"] += 1
                else:
                    result.wrong.append(f"{count}:{style}: the file system does not mount: {error}")
                continue
            promise = said.at(images.entries[count - 1].end)
            verdict = in_child(lambda promise=promise, any_=any_: judge(where, choices, promise, any_, others=others))
            mounted.unmount(where)
            mounted.forget_memory()
            result.counts.update(
                {"cuts": 1, f"cuts: {file_system}": 1, f"cuts: {choices.subject}": 1, "rows": verdict.rows}
            )
            result.wrong += [f"{count}:{style}: {each}" for each in verdict.wrong]
    return result


def load_modules() -> None:
    """Loads what judgements need before their children are forked. Each child would else load it again, which was three
    quarters of the time of a judgement."""
    for name in ("numpy.ma", "thalweg.checkpoint"):  # np.unique needs the first
        importlib.import_module(name)
    for name in ("create", "derive", "open", "recover"):
        getattr(sys.modules["thalweg"], name)  # loads its module


def is_excused(error: OSError, style: str, file_system: str) -> bool:
    """Returns whether a file system need not mount: btrfs and ext4 do not survive a superblock that is written in part.
    ext4 says then that a checksum is wrong."""
    is_btrfs = file_system == "btrfs" and error.errno not in OF_THE_MACHINE
    return style == "torn" and (is_btrfs or (file_system == "ext4" and error.errno == errno.EBADMSG))


def first_of(wrong: list[str]) -> list[str]:
    """Returns the first sentences, each with its begin, so that they fit into a pipe."""
    more = [f"and {len(wrong) - MOST_WRONG} sentences more"] if len(wrong) > MOST_WRONG else []
    return [shortened(each, MOST_LETTERS // MOST_WRONG) for each in wrong[:MOST_WRONG]] + more


def in_child(work: object) -> Verdict:
    """Judges in a process of its own, which may die or hang."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST_S)
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_CPU_S, LONGEST_CPU_S + 1))
        try:
            verdict = work()  # type: ignore[operator]
        except BaseException:
            verdict = Verdict(wrong=[f"the judge failed: {traceback.format_exc()[-900:]}"])
        os.write(writing, json.dumps([int(verdict.rows), verdict.note, first_of(verdict.wrong)]).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if not text:
        took = f"or took {LONGEST_CPU_S} s of CPU time, or {LONGEST_S} s"
        return Verdict(wrong=[f"the judge ended with {os.waitstatus_to_exitcode(status)}, {took}"])
    return Verdict(*json.loads(text))


def play(seed: int, file_system: str, cuts: int, subject: str = "", seconds: float = 3600, kept: Path = KEPT) -> Result:
    """Records and judges, in this process, which must have mounts of its own. A discrepancy is kept."""
    with mounted.folder_in_memory(work_folder()) as work:
        record(work, file_system, for_file_system(choose(seed, subject), file_system))
        mounted.restart()
        result = judge_cuts(work, file_system, seed, cuts, time.monotonic() + seconds)
        if result.wrong:
            folder = kept / f"{file_system}-{seed}"
            keep(work, folder)
            result.wrong = [f"{each}\n  to repeat: {repeat(folder, file_system, seed, each)}" for each in result.wrong]
    return result


def for_file_system(choices: Choices, file_system: str) -> Choices:
    """btrfs does not say that it offers direct I/O, so the engine that needs it is refused there."""
    tuning = dict(choices.tuning)
    if file_system == "btrfs" and tuning.get("engine") == "threads":
        tuning["engine"] = "posix"
    return dataclasses.replace(choices, tuning=tuple(tuning.items()))


def keep(work: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("log", "said", "choices", "input.root"):
        if (work / name).exists():
            shutil.copy(work / name, folder)


def repeat(folder: Path, file_system: str, seed: int, wrong: str) -> str:
    cut = ":".join(wrong.split(":")[:2])
    return f"python tests/judges/cuts.py --kept {folder} --file-system {file_system} --seed {seed} --cut {cut}"


def play_again(kept: Path, file_system: str, seed: int, cut: str) -> Result:
    with mounted.folder_in_memory(work_folder()) as work:
        shutil.copytree(kept, work, dirs_exist_ok=True)
        mounted.restart()
        return judge_cuts(work, file_system, seed, 1, time.monotonic() + 600, only=cut)


def main() -> int:
    parser = argparse.ArgumentParser(description="Cuts the power of a recording, and judges what is left.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file-system", choices=device.FILE_SYSTEMS, default="ext4")
    parser.add_argument("--subject", default="", help="of the recording (without it: any)")
    parser.add_argument("--cuts", type=int, default=40)
    parser.add_argument("--kept", type=Path, help="a recording that was kept, with the log of its device")
    parser.add_argument("--cut", default="", help="the one that is repeated, such as 1234:torn")
    given = parser.parse_args()
    mounted.have_own_mounts()
    if given.kept:
        result = play_again(given.kept.absolute(), given.file_system, given.seed, given.cut)
    else:
        result = play(given.seed, given.file_system, given.cuts, given.subject)
    return show(result)


if __name__ == "__main__":
    sys.exit(main())
