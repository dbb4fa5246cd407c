"""Runs the C++ tests (ctest) and the Python tests (pytest) at the same time, and ends with one line about both.

Many tests wait for other processes, so both kinds together take less time than one after the other. As many processes
as there are cores share the Python files: each takes a few files at a time. Tests with the mark `alone` run last, when
no other test runs. The output of a process is shown when it ends. With arguments, pytest gets them, in one process.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

REPORTS = Path("build/reports").absolute()
FOLDERS = ("tests", "apps")
FILES_AT_A_TIME = 4
# These take longest, so they begin: what comes last should be short. Tests of apps share a program that is built for
# them.
SLOW = ("tests/faults/", "tests/judges/", "tests/nodes/", "tests/find_package_test.py", "tests/docs_test.py")
TOGETHER = "apps/"
ALONE = "alone"
MAY_HAVE_NONE = f"not {ALONE}"
ALL_LEFT_OUT = 5  # the exit code of pytest if no test is left of its files

Counts = dict[str, int]


def run(name: str, command: list[str], capture: bool = False) -> Counts:
    """Returns how many tests passed, failed and were skipped. A run that ends badly without a failed test counts as
    one failure."""
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    if capture:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        print(result.stdout, end="", flush=True)
        code = result.returncode
    else:
        code = subprocess.call(command)
    counts = count(report.read_text()) if report.exists() else dict.fromkeys(("passed", "failed", "skipped"), 0)
    has_none_left = code == ALL_LEFT_OUT and (counts["skipped"] > 0 or MAY_HAVE_NONE in command)
    if code != 0 and not has_none_left and counts["failed"] == 0:
        counts["failed"] = 1
    return counts


def count(report: str) -> Counts:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.fromstring(report).iter("testcase"):
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            counts["failed"] += 1
        elif "skipped" in outcomes:
            counts["skipped"] += 1
        else:
            counts["passed"] += 1
    return counts


def batches() -> list[list[str]]:
    """Returns all test files except those with ROOT, which `make test-root` runs: the slow ones first, each
    separately."""
    files = sorted(str(path) for folder in FOLDERS for path in Path(folder).rglob("*_test.py"))
    files = [file for file in files if not file.startswith("tests/root/")]
    together = [file for file in files if file.startswith(TOGETHER)]
    slow = [file for file in files if file.startswith(SLOW)]
    others = [file for file in files if not file.startswith((TOGETHER, *SLOW))]
    quick = [others[i : i + FILES_AT_A_TIME] for i in range(0, len(others), FILES_AT_A_TIME)]
    return [together, *([file] for file in slow), *quick]


def is_alone(file: str) -> bool:
    return f"pytest.mark.{ALONE}" in Path(file).read_text()


def share_files() -> Counts:
    """Runs the Python tests that may run beside others."""

    def work(batch: tuple[int, list[str]]) -> Counts:
        number, files = batch
        name = f"python-{number}"
        marks = ["-m", MAY_HAVE_NONE] if any(map(is_alone, files)) else []
        return run(name, [*pytest(name), "-q", *marks, *files], capture=True)

    with ThreadPoolExecutor(cores()) as threads:
        return add(list(threads.map(work, enumerate(batches()))))


def run_alone() -> Counts:
    files = [file for batch in batches() for file in batch if is_alone(file)]
    return run(ALONE, [*pytest(ALONE), "-q", "-m", ALONE, *files]) if files else add([])


def run_cpp() -> Counts:
    return run(
        "cpp", ["ctest", "--preset", "default", "--output-junit", str(REPORTS / "cpp.xml"), *jobs()], capture=True
    )


def pytest(name: str) -> list[str]:
    return [sys.executable, "-m", "pytest", f"--junitxml={REPORTS / f'{name}.xml'}", "--durations=3"]


def add(results: list[Counts]) -> Counts:
    return {outcome: sum(result[outcome] for result in results) for outcome in ("passed", "failed", "skipped")}


def main() -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run_cpp)
        python = run("python", [*pytest("python"), *sys.argv[1:]]) if sys.argv[1:] else share_files()
        cpp = running.result()
    if not sys.argv[1:]:
        python = add([python, run_alone()])
    total = add([cpp, python])
    seconds = time.monotonic() - begin
    print(f"C++: {cpp['passed']} passed. Python: {python['passed']} passed. Together, in {seconds:.0f} s:")
    print(", ".join(f"{total[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped")))
    return 1 if total["failed"] else 0


def cores() -> int:
    return len(os.sched_getaffinity(0))


def jobs() -> list[str]:
    return ["--parallel", str(cores())]


if __name__ == "__main__":
    sys.exit(main())
