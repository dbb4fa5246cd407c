"""share_seen.py [--only WORD]: how much of the I/O of real programs a trace sees, and whether that is said rightly.

Every program runs once under strace, which counts the bytes of all system calls, and once under `thalweg trace`, each
in a folder of its own. Writes results/coverage.json, and the table of README.md.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from real_programs import PROGRAMS, Program, prepare

HERE = Path(__file__).parent
THALWEG = Path(sys.executable).with_name("thalweg")
READS = ("read", "pread64", "readv", "preadv", "preadv2")
WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
BOTH = ("sendfile", "copy_file_range", "splice")
LOADED = "set_tid_address"
"""The call that a program makes when all its libraries are loaded."""
TOLERANCE, UNCERTAIN_BYTES = 0.02, 64 << 10
MARKS = ("<!-- coverage -->", "<!-- end of coverage -->")


@dataclass
class Shares:
    """Bytes that were read, or written: counted by strace, in recorded calls, and named by the report."""

    counted: int
    seen: int
    said: int

    @property
    def seen_share(self) -> float:
        return min(1.0, self.seen / self.counted) if self.counted else 1.0

    @property
    def said_share(self) -> float:
        return min(1.0, self.seen / self.said) if self.said else 1.0

    @property
    def is_said_right(self) -> bool:
        """Small programs read different things from run to run."""
        is_near = abs(self.seen_share - self.said_share) <= TOLERANCE
        return is_near or abs(self.said - self.counted) < UNCERTAIN_BYTES


@dataclass
class Outcome:
    name: str
    read: Shares
    written: Shares
    calls: int
    dropped: int
    first_line: str
    other_lines: list[str]
    names_unseen: bool
    is_right: bool
    """It ends well, its shares are what strace has counted, and what cannot be seen is named."""


def counted_by_strace(program: Program, folder: Path) -> tuple[int, int, int]:
    """Bytes read and written, and the exit code."""
    log = folder.parent / "strace.log"
    calls = ",".join((*READS, *WRITES, *BOTH, "execve", LOADED))
    watched = ["strace", "-f", "-qq", "-s0", "-e", "signal=none", "-e", f"trace={calls}", "-o", str(log)]
    done = subprocess.run([*watched, *program.words(folder)], capture_output=True, check=False, timeout=600)
    read = written = 0
    is_loading: set[str] = set()  # processes that read their libraries' heads, which a trace knows of and leaves out
    for line in log.read_text(errors="replace").splitlines():
        found = re.match(r"(\d+) +(?:<\.\.\. )?(\w+)[( ].*= (\d+)$", line)
        if found is None:
            continue
        pid, name, count = found[1], found[2], int(found[3])
        if name == "execve":
            is_loading.add(pid)
        elif name == LOADED:
            is_loading.discard(pid)
        elif pid not in is_loading:
            read += count * (name in READS or name in BOTH)
            written += count * (name in WRITES or name in BOTH)
    return read, written, done.returncode


def traced(program: Program, folder: Path) -> tuple[dict[str, Any], int]:
    """Its report, and the exit code. The trace itself lies apart: it must not be counted."""
    import thalweg as tw

    out = folder.parent / "t.root"
    # A ring holds more calls than any of the programs makes, so nothing is dropped however busy the machine is: the
    # question is what can be seen.
    words = [THALWEG, "trace", "--force", "--ring", 1 << 20, "--out", out, "--", *program.words(folder)]
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False, timeout=600)
    report: dict[str, Any] = json.loads(tw.open(out).metadata["trace"])
    return report, done.returncode


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
        read, written, code = counted_by_strace(program, folder)
    with files_for(program) as folder:
        report, code_traced = traced(program, folder)
    coverage = report["coverage"]
    of_read = Shares(read, coverage["read_seen"], coverage["read_total"])
    of_written = Shares(written, coverage["written_seen"], coverage["written_total"])
    text = "\n".join(report["other_lines"])
    names_unseen = all(word in text for word in program.unseen)
    is_right = code == code_traced == 0 and names_unseen
    return Outcome(
        program.name,
        of_read,
        of_written,
        sum(report["calls"].values()),
        sum(report["dropped"].values()),
        report["first_line"],
        [re.sub(r"/\S*/thalweg-programs-[^/]+/files/(\./)?", "", line) for line in report["other_lines"]],
        names_unseen,
        is_right and of_read.is_said_right and of_written.is_said_right,
    )


def lines(outcomes: list[Outcome], left_out: dict[str, str]) -> list[str]:
    def cell(each: Shares) -> str:
        return f"{each.counted / 1e6:.1f} MB: {100 * each.seen_share:.1f} %; {100 * each.said_share:.1f} %"

    found = ["| program | read: seen; said | written: seen; said | named as unseen | right |", "|---|---|---|---|---|"]
    named = {program.name: ", ".join(program.unseen) for program in PROGRAMS}
    for each in outcomes:
        is_right = "yes" if each.is_right else "no"
        found.append(f"| {each.name} | {cell(each.read)} | {cell(each.written)} | {named[each.name]} | {is_right} |")
    return found + [f"| {name} | not run: {why} | | | |" for name, why in left_out.items()]


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    through_libc = {program.name for program in PROGRAMS if program.sees_all}
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
    chosen = [program for program in PROGRAMS if only in program.name]
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
