"""fuzz.py [--seconds S] [NAME...]: runs the fuzz targets that `make fuzz` has built, or the named ones, one by one.

Each begins with its seeds (tests/fuzz/seeds.py) and with what earlier runs have found, in build/fuzz/corpora. The exit
code is 1 if one of them crashed, hung, leaked or took too much memory; the input that caused it is kept, and named.

If a fuzzer cannot look into what it tests, a program makes the inputs (PROGRAMS); it runs with the package in .venv.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
BUILD = REPOSITORY / "build" / "fuzz"
PYTHON = REPOSITORY / ".venv" / "bin" / "python"
# Python parses layouts. libhdf5 may crash, so a child reads files; and these are changed as a whole.
PROGRAMS = {name: REPOSITORY / "tests" / "python" / f"{name}_fuzzer.py" for name in ("hdf5", "layouts")}
SLOWEST_S = 25  # for one input
MOST_MB = 2048

sys.path.insert(0, str(REPOSITORY / "tests" / "fuzz"))
import seeds  # noqa: E402


def corpus_of(name: str) -> Path:
    folder = BUILD / "corpora" / name
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds.of(name)):
        (folder / f"seed{number}").write_bytes(seed)
    return folder


def number_in(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(target: Path, seconds: int) -> bool:
    """Returns True if nothing was found."""
    kept = BUILD / "found"
    kept.mkdir(exist_ok=True)
    before = set(kept.iterdir())
    command = [
        target,
        f"-max_total_time={seconds}",
        f"-timeout={SLOWEST_S}",
        f"-rss_limit_mb={MOST_MB}",
        f"-artifact_prefix={kept}/{target.name}-",
        "-print_final_stats=1",
        corpus_of(target.name),
    ]
    log = BUILD / "found" / f"{target.name}.log"
    with log.open("w") as out:
        code = subprocess.run(command, stdout=out, stderr=out, check=False).returncode
    said = log.read_text(errors="replace")
    inputs = number_in(r"number_of_executed_units: *(\d+)", said)
    branches = number_in(r"cov: (\d+)", said)
    if code == 0 and inputs > 0:
        say(f"{target.name:12} {inputs:12,} inputs, {branches:6,} branches: nothing found")
        return True
    say(f"{target.name:12} failed (code {code}) after {inputs:,} inputs; what it said: {log}")
    for path in sorted(set(kept.iterdir()) - before - {log}):
        say(f"{'':12} again with: {target} {path}")
    return False


def run_program(name: str, program: Path, seconds: int) -> bool:
    """Returns True if nothing was found."""
    kept = BUILD / "found"
    kept.mkdir(parents=True, exist_ok=True)
    command = [PYTHON, program, "--seconds", str(seconds), "--found", kept]
    log = kept / f"{name}.log"
    with log.open("w") as out:
        code = subprocess.run(command, stdout=out, stderr=out, check=False).returncode
    said = log.read_text(errors="replace")
    inputs = number_in(r"inputs: (\d+)", said)
    if code == 0 and inputs > 0:
        say(f"{name:12} {inputs:12,} inputs: nothing found")
        return True
    say(f"{name:12} failed (code {code}) after {inputs:,} inputs; what it said: {log}")
    return False


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    built = {path.name: path for path in sorted((BUILD / "fuzzers").glob("*")) if path.is_file()}
    sources = {path.name.removesuffix(".fuzz.cc") for path in (REPOSITORY / "thalweg").rglob("*.fuzz.cc")}
    names = wanted.names or sorted(sources | PROGRAMS.keys())
    for name in names:
        if name not in built and name not in PROGRAMS:
            known = ", ".join(sorted(built | PROGRAMS)) + ("" if built else " (make fuzz builds more)")
            say(f"there is no fuzz target {name}: there are {known}")
            return 2
    failed = []
    for name in names:
        program = PROGRAMS.get(name)
        if not (run_program(name, program, wanted.seconds) if program else run(built[name], wanted.seconds)):
            failed.append(name)
    say(f"failed: {', '.join(failed)}" if failed else f"{len(names)} targets, {wanted.seconds} s each: nothing found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
