"""lint_changed.py [--seconds S]: runs clang-tidy on the C++ files of the libraries that have changed.

Changed is what differs from the commit where this branch left main; on main itself, what the last commits changed. A
header counts as the source beside it. After S seconds no further file begins. What was checked, and what was left for
`make lint`, is said at the end. The exit code is 1 if clang-tidy finds anything.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD = Path("build/tidy")
LAST_COMMITS = 10
NOT_OF_LIBRARIES = (".test.cc", ".bench.cc", ".fuzz.cc")


def git(*arguments: str) -> str | None:
    """Returns what git prints, or None if git fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def base() -> tuple[str, str] | None:
    """Returns the commit to compare with, and what it is in words, or None if there is only one commit."""
    for main in ("origin/main", "main"):
        left = git("merge-base", "HEAD", main)
        if left and left != git("rev-parse", "HEAD"):
            return left, f"since this branch left {main}"
    commits = (git("rev-list", "--first-parent", f"--max-count={LAST_COMMITS + 1}", "HEAD") or "").split()
    if len(commits) < 2:
        return None
    return commits[-1], f"in the last {len(commits) - 1} commits"


def sources(names: list[str]) -> list[str]:
    """Returns the sources of libraries among these files, and those beside the headers among them."""
    found = []
    for name in names:
        source = Path(name).with_suffix(".cc") if name.endswith(".h") else Path(name)
        is_of_library = source.parts[:1] == ("thalweg",) and source.suffix == ".cc"
        if is_of_library and source.exists() and not source.name.endswith(NOT_OF_LIBRARIES):
            found.append(str(source))
    return sorted({name for name in found if not Path(name).name.startswith("test_")})


def check(files: list[str], seconds: float) -> tuple[list[str], list[str], list[str]]:
    """Returns the files that were checked, those where something was found, and those that were left."""
    end = time.monotonic() + seconds

    def run(file: str) -> tuple[str, bool | None]:
        if time.monotonic() >= end:
            return file, None
        words = ["clang-tidy", "-p", str(BUILD), "--quiet", "--warnings-as-errors=*", file]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout, done.stderr, sep="", end="", flush=True)
        return file, done.returncode == 0

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        results = list(threads.map(run, files))
    return (
        [file for file, good in results if good is not None],
        [file for file, good in results if good is False],
        [file for file, good in results if good is None],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=150)
    seconds = parser.parse_args().seconds
    found = base()
    if found is None:
        print("clang-tidy: no file was checked (this clone has one commit, and nothing to compare it with): make lint")
        return 0
    commit, in_words = found
    changed = git("diff", "--name-only", "--diff-filter=d", commit)
    if changed is None:
        print(f"clang-tidy: git cannot compare with {commit}", file=sys.stderr)
        return 1
    files = sources(changed.split("\n"))
    if files:
        subprocess.run(["cmake", "--preset", "tidy"], check=True, stdout=subprocess.DEVNULL)
    checked, bad, left = check(files, seconds)
    print(
        f"clang-tidy: {len(checked)} of {len(files)} files that changed {in_words} were checked, {len(bad)} with faults"
    )
    if left:
        print(f"The time was over before these; `make lint` checks all files: {' '.join(left)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
