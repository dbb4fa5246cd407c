"""share_seen.py [--only WORD]: how much of the I/O of real programs a trace sees, and whether that is said rightly.

Every program runs once, under `thalweg trace`, and strace counts the bytes and the calls of the same run. Writes
results/coverage.json, and the table of README.md.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from more_programs import MORE
from real_programs import PROGRAMS, Program, prepare

HERE = Path(__file__).parent
ALL = [*PROGRAMS, *MORE]
THALWEG = Path(sys.executable).with_name("thalweg")
READS = ("read", "pread64", "readv", "preadv", "preadv2")
WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
BOTH = ("sendfile", "copy_file_range", "splice")
BEGINS = ("clone", "clone3", "fork", "vfork")
LOADED = "set_tid_address"
"""The call that a program makes when all its libraries are loaded."""
REFUSED = ("EBADF", "ESPIPE", "EINVAL", "EXDEV", "EOPNOTSUPP", "ENOSYS", "EFAULT")
"""The kernel has no file for these calls, and counts none."""
OWN = re.compile(r"</proc/\d+/(io|cmdline)>|^\(\d+<[^>]*>, .*, 1023, 0\)$")
"""What the tracing library reads in the program: of its process, and the head of a program that it starts."""
FILE = re.compile(r"\(\d+<([^>]*)>")
TOLERANCE, UNCERTAIN_BYTES, UNCERTAIN_CALLS = 0.02, 64 << 10, 4
MARKS = ("<!-- coverage -->", "<!-- end of coverage -->")


@dataclass
class Shares:
    """Bytes that were read, or written, or such calls: counted by strace, recorded, and named by the report."""

    counted: int
    seen: int
    said: int
    uncertain: int = UNCERTAIN_BYTES
    """What programs that are not traced read while they are loaded."""

    @property
    def seen_share(self) -> float:
        return min(1.0, self.seen / self.counted) if self.counted else 1.0

    @property
    def said_share(self) -> float:
        return min(1.0, self.seen / self.said) if self.said else 1.0

    @property
    def is_said_right(self) -> bool:
        is_near = abs(self.seen_share - self.said_share) <= TOLERANCE
        return is_near or abs(self.said - self.counted) <= self.uncertain


@dataclass
class Outcome:
    name: str
    read: Shares
    written: Shares
    read_calls: Shares
    written_calls: Shares
    calls: int
    dropped: int
    first_line: str
    other_lines: list[str]
    names_unseen: bool
    is_right: bool
    """It ends well, its shares are what strace has counted, and what cannot be seen is named."""


@dataclass
class Counted:
    """What strace has seen of the processes of the program."""

    read: int = 0
    written: int = 0
    read_calls: int = 0
    written_calls: int = 0
    _of_tracer: set[str] = field(default_factory=set)
    _is_loading: set[str] = field(default_factory=set)
    """Processes that read their libraries' heads, which a trace knows of and leaves out."""
    _looks_into: dict[str, str] = field(default_factory=dict)
    """The programs that the tracing library looks into, by process: it reads more of them after their heads."""

    def take(self, log: Path) -> None:
        """Counts the calls of all processes but the first one and its threads, which are the tracer."""
        begun: dict[str, str] = {}
        for line in log.read_text(errors="replace").splitlines(keepends=True):
            if line.endswith("<unfinished ...>\n"):
                pid, rest = line.split(maxsplit=1)
                begun[pid] = rest[rest.index("(") :].partition("<unfinished ...>")[0]
            elif found := re.match(r"(\d+) +(<\.\.\. )?(\w+)(.*) = (-?\d+)(?:<[^>]*>)?(?: (E\w+))?(?: \(.*\))?$", line):
                pid, name, text = found[1], found[3], found[4]
                text = begun.pop(pid, "") + text.removeprefix(" resumed>") if found[2] else text
                self._count(pid, name, text.strip(), int(found[5]), found[6] or "")

    def _count(self, pid: str, name: str, text: str, result: int, error: str) -> None:
        if not self._of_tracer:
            self._of_tracer.add(pid)
        if name in BEGINS and pid in self._of_tracer and "CLONE_THREAD" in text:
            self._of_tracer.add(str(result))
        if pid in self._of_tracer:
            return
        if name != "pread64":
            self._looks_into.pop(pid, None)
        if name == "execve" and not error:
            self._is_loading.add(pid)
        elif name == LOADED:
            self._is_loading.discard(pid)
        elif pid not in self._is_loading and not self._is_own(pid, name, text):
            self._add(name, max(0, result), is_call=_is_counted(name, result, error))

    def _is_own(self, pid: str, name: str, text: str) -> bool:
        """Returns whether the tracing library makes the call."""
        found = FILE.match(text)
        path = found[1] if found else ""
        if not OWN.search(text):
            return name == "pread64" and bool(path) and self._looks_into.get(pid) == path
        self._looks_into[pid] = path
        return True

    def _add(self, name: str, moved: int, *, is_call: bool) -> None:
        if name in READS or name in BOTH:
            self.read += moved
            self.read_calls += is_call
        if name in WRITES or name in BOTH:
            self.written += moved
            self.written_calls += is_call


def _is_counted(name: str, result: int, error: str) -> bool:
    """Returns whether the kernel counts it as a call that reads or writes."""
    if name == "splice" or (name == "copy_file_range" and result <= 0):
        return False
    return error not in REFUSED or name.endswith(("v", "v2"))


def run(program: Program, folder: Path) -> tuple[dict[str, Any], Counted, int]:
    """Returns its report, what strace has counted, and the exit code. The trace itself lies apart."""
    import thalweg as tw

    out, log = folder.parent / "t.root", folder.parent / "strace.log"
    calls = ",".join((*READS, *WRITES, *BOTH, *BEGINS, "execve", LOADED))
    watched = ["strace", "-f", "-qq", "-y", "-s0", "--seccomp-bpf", "-e", "signal=none", "-e", f"trace={calls}"]
    # A ring holds more calls than any of the programs makes, so nothing is dropped however busy the machine is: the
    # question is what can be seen.
    words = [THALWEG, "trace", "--force", "--ring", 1 << 22, "--out", out, "--", *program.words(folder)]
    command = [*watched, "-o", log, *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=600)
    report: dict[str, Any] = json.loads(tw.open(out).metadata["trace"])
    counted = Counted()
    counted.take(log)
    return report, counted, done.returncode


@contextlib.contextmanager
def files_for(program: Program) -> Iterator[Path]:
    """A folder with all that the program works on."""
    with tempfile.TemporaryDirectory(prefix="thalweg-programs-") as name:
        folder = Path(name) / "files"
        folder.mkdir()
        prepare(folder)
        program.make(folder)
        os.sync()
        yield folder


def outcome(program: Program) -> Outcome:
    with files_for(program) as folder:
        report, counted, code = run(program, folder)
    coverage = report["coverage"]

    def shares(name: str, unsure: int) -> Shares:
        return Shares(getattr(counted, name), coverage[f"{name}_seen"], coverage[f"{name}_total"], unsure)

    some = [shares(name, UNCERTAIN_BYTES) for name in ("read", "written")]
    # A program that is not traced reads a few heads of files while it is loaded, which the kernel counts.
    unsure = UNCERTAIN_CALLS * (1 + len(report["untraced"]))
    some += [shares(name, unsure) for name in ("read_calls", "written_calls")]
    text = "\n".join(report["other_lines"])
    names_unseen = all(word in text for word in program.unseen)
    return Outcome(
        program.name,
        *some,
        sum(report["calls"].values()),
        sum(report["dropped"].values()),
        report["first_line"],
        [re.sub(r"/\S*/thalweg-programs-[^/]+/files/(\./)?", "", line) for line in report["other_lines"]],
        names_unseen,
        code == 0 and names_unseen and all(each.is_said_right for each in some),
    )


def lines(outcomes: list[Outcome], left_out: dict[str, str]) -> list[str]:
    def cell(each: Shares) -> str:
        return f"{each.counted / 1e6:.1f} MB: {100 * each.seen_share:.1f} %; {100 * each.said_share:.1f} %"

    def calls(each: Shares) -> str:
        return f"{each.counted:,}: {100 * each.seen_share:.0f} %; {100 * each.said_share:.0f} %"

    heads = ["program", "read: seen; said", "written: seen; said", "calls that read", "calls that write"]
    heads += ["named as unseen", "right"]
    found = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    named = {program.name: ", ".join(program.unseen) for program in ALL}
    for each in outcomes:
        is_right = "yes" if each.is_right else "no"
        cells = [each.name, cell(each.read), cell(each.written), calls(each.read_calls), calls(each.written_calls)]
        found.append(f"| {' | '.join([*cells, named[each.name], is_right])} |")
    return found + [f"| {name} | not run: {why} | | | | | |" for name, why in left_out.items()]


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    through_libc = {program.name for program in ALL if program.sees_all}
    mine = [each for each in outcomes if each.name in through_libc]
    moves = [shares for each in mine for shares in (each.read, each.written)]
    counted, seen = sum(each.counted for each in moves), sum(min(each.seen, each.counted) for each in moves)
    return {
        "programs": len(outcomes),
        "said right": sum(each.is_right for each in outcomes),
        "through the C library": len(mine),
        "bytes of these": counted,
        "share of these seen": seen / counted if counted else 1.0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    chosen = [program for program in ALL if only in program.name]
    left_out = {program.name: why for program in chosen if (why := program.why_not())}
    outcomes = []
    for program in chosen:
        if program.name not in left_out:
            outcomes.append(outcome(program))
            print(lines(outcomes[-1:], {})[-1], flush=True)
            if not outcomes[-1].is_right:
                print("   ", outcomes[-1].first_line, *outcomes[-1].other_lines, sep="\n    ", flush=True)
    print(json.dumps(summary(outcomes)))
    if only:
        return
    said = ("first_line", "other_lines")
    kept = [{key: value for key, value in asdict(each).items() if key not in said} for each in outcomes]
    parts = [f'"summary": {json.dumps(summary(outcomes))}', f'"left_out": {json.dumps(left_out)}']
    parts.insert(1, '"outcomes": [\n' + ",\n".join(map(json.dumps, kept)) + "\n]")
    (HERE / "results" / "coverage.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
    text = (HERE / "README.md").read_text()
    before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
    body = "\n".join([MARKS[0], *lines(outcomes, left_out), MARKS[1]])
    (HERE / "README.md").write_text(before + body + after)


if __name__ == "__main__":
    main()
