"""Runs the C++ tests (ctest) and the Python tests (pytest), and ends with one line about both."""

import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

REPORTS = Path("build/reports").absolute()


def run(name: str, command: list[str]) -> dict[str, int]:
    """How many passed, failed and were skipped. A run that ends badly without a failed test counts as one failure."""
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    code = subprocess.call(command)
    counts = count(report.read_text()) if report.exists() else dict.fromkeys(("passed", "failed", "skipped"), 0)
    if code != 0 and counts["failed"] == 0:
        counts["failed"] = 1
    return counts


def count(report: str) -> dict[str, int]:
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


def main() -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    cpp = run("cpp", ["ctest", "--preset", "default", "--output-junit", str(REPORTS / "cpp.xml"), *jobs()])
    python = run("python", [sys.executable, "-m", "pytest", f"--junitxml={REPORTS / 'python.xml'}", *sys.argv[1:]])
    total = {outcome: cpp[outcome] + python[outcome] for outcome in cpp}
    seconds = time.monotonic() - begin
    print(f"C++: {cpp['passed']} passed. Python: {python['passed']} passed. Together, in {seconds:.0f} s:")
    print(", ".join(f"{total[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped")))
    return 1 if total["failed"] else 0


def jobs() -> list[str]:
    return ["--parallel", str(len(os.sched_getaffinity(0)))]


if __name__ == "__main__":
    sys.exit(main())
