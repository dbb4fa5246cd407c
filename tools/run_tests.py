"""Runs the C++ tests (ctest) and the Python tests (pytest) at the same time, and ends with one line about both.

Many tests wait, for other processes or for a time to pass: so twice as many processes as there are cores share the
tests. One of them is ctest, and the others take Python files, those first that take longest. Tests with the mark
`alone` run last, when no other test runs. The output of a process is shown when it ends. A few tests that fail are run
once more, alone, and those that pass then are named (record 154). With arguments, pytest gets them, in one process.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

REPORTS = Path("build/reports").absolute()
FOLDERS = ("tests", "apps")
PROCESSES_OF_A_CORE = 2
# How long files take about, in seconds, on two cores. What comes last should be short, or a core is idle at the end.
SECONDS = {
    "apps/": 90,
    "tests/docs_test.py": 125,
    "tests/faults/control_test.py": 20,
    "tests/faults/derive_kills_test.py": 60,
    "tests/faults/environment_test.py": 55,
    "tests/faults/host_faults_test.py": 85,
    "tests/faults/host_test.py": 65,
    "tests/faults/kill_test.py": 135,
    "tests/faults/monitoring_test.py": 30,
    "tests/faults/kills_test.py": 20,
    "tests/faults/readout_attacks_test.py": 60,
    "tests/faults/readout_test.py": 75,
    "tests/faults/restart_test.py": 35,
    "tests/faults/versions_test.py": 15,
    "tests/find_package_test.py": 32,
    "tests/judges/judges_test.py": 110,
    "tests/nodes/derive_test.py": 145,
    "tests/nodes/mpi_test.py": 95,
    "tests/nodes/nodes_test.py": 95,
    "tests/nodes/resume_test.py": 32,
    "tests/nodes/status_test.py": 15,
    "tests/python/aggregator_numbers_study_test.py": 17,
    "tests/python/aggregators_oracle_test.py": 12,
    "tests/python/alerts_test.py": 12,
    "tests/python/c_source_test.py": 25,
    "tests/python/card_features_test.py": 20,
    "tests/python/card_program_test.py": 15,
    "tests/python/checkpoint_strategies_test.py": 25,
    "tests/python/cli_test.py": 45,
    "tests/python/derive_faults_test.py": 40,
    "tests/python/derive_workers_test.py": 30,
    "tests/python/device_features_test.py": 30,
    "tests/python/devices_test.py": 80,
    "tests/python/features_test.py": 30,
    "tests/python/follow_test.py": 25,
    "tests/python/foreign_h5py_test.py": 25,
    "tests/python/full_disk_test.py": 30,
    "tests/python/kubernetes_test.py": 30,
    "tests/python/network_apply_test.py": 15,
    "tests/python/network_namespace_test.py": 25,
    "tests/python/not_complete_test.py": 20,
    "tests/python/notify_test.py": 25,
    "tests/python/ordered_test.py": 25,
    "tests/python/planted_test.py": 60,
    "tests/python/quiet_waits_test.py": 10,
    "tests/python/raw_source_test.py": 15,
    "tests/python/readout_scale_test.py": 10,
    "tests/python/record_dead_disk_test.py": 55,
    "tests/python/record_faults_test.py": 30,
    "tests/python/record_page_test.py": 30,
    "tests/python/record_rotation_test.py": 35,
    "tests/python/record_test.py": 50,
    "tests/python/record_trouble_test.py": 30,
    "tests/python/rntuple_cli_test.py": 35,
    "tests/python/rntuple_foreign_test.py": 40,
    "tests/python/rules_test.py": 65,
    "tests/python/screen_judged_test.py": 60,
    "tests/python/slim_test.py": 50,
    "tests/python/slow_instruments_test.py": 30,
    "tests/python/slow_test.py": 22,
    "tests/python/status_test.py": 20,
    "tests/python/study_test.py": 20,
    "tests/python/tdpac_run_test.py": 45,
    "tests/python/tdpac_starts_test.py": 70,
    "tests/python/trace_own_test.py": 45,
    "tests/python/trace_programs_test.py": 40,
    "tests/python/trace_safety_test.py": 30,
    "tests/python/trace_table_test.py": 25,
    "tests/python/trace_test.py": 40,
    "tests/python/trees_test.py": 25,
    "tests/python/tune_aggregators_test.py": 90,
    "tests/python/tune_faults_test.py": 50,
    "tests/python/tune_resume_test.py": 30,
    "tests/python/tune_settings_test.py": 100,
    "tests/python/tune_test.py": 60,
    "tests/python/tune_timed_reads_test.py": 11,
    "tests/python/tune_timed_writes_test.py": 25,
    "tests/python/watch_access_test.py": 12,
    "tests/python/watch_apply_test.py": 60,
    "tests/python/watch_clocks_test.py": 18,
    "tests/python/watch_proposal_test.py": 15,
    "tests/python/watch_test.py": 75,
    "tests/python/watch_waveforms_test.py": 40,
    "tests/python/work_unit_test.py": 20,
}
SECONDS_OF_OTHERS = 6
SECONDS_AT_A_TIME = 36  # a process takes a second to begin, so short files share one
# Tests of apps share a program that is built for them.
TOGETHER = "apps/"
ALONE = "alone"
MAY_HAVE_NONE = f"not {ALONE}"
ALL_LEFT_OUT = 5  # the exit code of pytest if no test is left of its files
# More failures than these are not the load of the machine.
TRIED_AGAIN_AT_MOST = 5
CPP = "cpp"
CPP_FAILED = Path("build/default/Testing/Temporary/LastTestsFailed.log")

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
    """Returns all test files except those that `make test-root` and `make check-deploy` run: those that take longest
    come first. What one process takes has about the same length, or is one file."""
    files = sorted(str(path) for folder in FOLDERS for path in Path(folder).rglob("*_test.py"))
    files = [file for file in files if not file.startswith(("tests/root/", "tests/deploy/"))]
    together = [file for file in files if file.startswith(TOGETHER)]
    shared = [(SECONDS[TOGETHER], together)] if together else []
    single = [(SECONDS.get(file, SECONDS_OF_OTHERS), file) for file in files if file not in together]
    taken: list[tuple[int, list[str]]] = []
    for seconds, file in sorted(single, key=lambda each: -each[0]):
        room = next((i for i, (so_far, _) in enumerate(taken) if so_far + seconds <= SECONDS_AT_A_TIME), None)
        if room is None:
            taken.append((seconds, [file]))
        else:
            taken[room] = (taken[room][0] + seconds, [*taken[room][1], file])
    return [files for _, files in sorted(shared + taken, key=lambda each: -each[0])]


def is_alone(file: str) -> bool:
    return f"pytest.mark.{ALONE}" in Path(file).read_text()


def share_all() -> tuple[Counts, Counts]:
    """Runs the C++ tests and the Python tests that may run beside others, and returns their counts."""

    def work(batch: tuple[int, list[str]]) -> Counts:
        number, files = batch
        name = f"python-{number}"
        marks = ["-m", MAY_HAVE_NONE] if any(map(is_alone, files)) else []
        return run(name, [*pytest(name), "-q", *marks, *files], capture=True)

    with ThreadPoolExecutor(PROCESSES_OF_A_CORE * cores()) as threads:
        cpp = threads.submit(run_cpp)
        python = add(list(threads.map(work, enumerate(batches()))))
        return cpp.result(), python


def try_again(total: Counts) -> Counts:
    """Runs the tests that failed once more, alone, and returns the counts with what passed then. Tests that a process
    which crashed did not run have no names here, and stay failed."""
    cpp, python = failed_cpp(), failed_python()
    failed = [*cpp, *python]
    if len(failed) != total["failed"] or not 0 < len(failed) <= TRIED_AGAIN_AT_MOST:
        say("Failed", failed)
        return total
    say("Failed, and run again alone", failed)
    CPP_FAILED.unlink(missing_ok=True)
    again = []
    if cpp:
        again.append(run_cpp(1, "cpp-again", "-R", f"^({'|'.join(map(re.escape, cpp))})$"))
    if python:
        again.append(run("python-again", [*pytest("python-again"), "-q", *python]))
    alone = add(again)
    still = [*failed_cpp(), *failed_python("python-again")]
    if alone["failed"] != len(still) or alone["skipped"]:  # a process that crashed, or a test that was left out
        still = failed
    say("Passed only alone, so they depend on the load of the machine", [test for test in failed if test not in still])
    say("Failed alone, too", still)
    return {**total, "passed": total["passed"] + len(failed) - len(still), "failed": len(still)}


def say(what: str, tests: list[str]) -> None:
    if tests:
        print(f"{what}:", *tests, sep="\n  ", flush=True)


def failed_cpp() -> list[str]:
    """Returns the names of the C++ tests that failed in the last run of ctest."""
    lines = CPP_FAILED.read_text().splitlines() if CPP_FAILED.exists() else []
    return [line.partition(":")[2] for line in lines]


def failed_python(names: str = "*") -> list[str]:
    """Returns the Python tests that failed, by the names that pytest takes."""
    caches = REPORTS.glob(f"cache-{names}/v/cache/lastfailed")
    return sorted({test for cache in caches for test in json.loads(cache.read_text())})


def run_alone() -> Counts:
    files = [file for batch in batches() for file in batch if is_alone(file)]
    return run(ALONE, [*pytest(ALONE), "-q", "-m", ALONE, *files]) if files else add([])


def run_cpp(jobs: int | None = None, name: str = CPP, *more: str) -> Counts:
    jobs = jobs or max(1, cores() // 2)
    report = ["--output-junit", str(REPORTS / f"{name}.xml")]
    return run(name, ["ctest", "--preset", "default", *report, "--parallel", str(jobs), *more], capture=True)


def pytest(name: str) -> list[str]:
    reports = [f"--junitxml={REPORTS / f'{name}.xml'}", "-o", f"cache_dir={REPORTS / f'cache-{name}'}"]
    return [sys.executable, "-m", "pytest", *reports, "--durations=3"]


def add(results: list[Counts]) -> Counts:
    return {outcome: sum(result[outcome] for result in results) for outcome in ("passed", "failed", "skipped")}


def main() -> int:
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    CPP_FAILED.unlink(missing_ok=True)
    # libhdf5 comes to no end with many a damaged file: 1 s of its time shows that as well as 5 s.
    os.environ.setdefault("THALWEG_HDF5_READER_SECONDS", "1")
    # Thousands of short programs import NumPy, and need no threads for linear algebra.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    begin = time.monotonic()
    if sys.argv[1:]:
        with ThreadPoolExecutor(1) as thread:
            running = thread.submit(run_cpp, cores())
            python = run("python", [*pytest("python"), *sys.argv[1:]])
            cpp = running.result()
    else:
        cpp, python = share_all()
        python = add([python, run_alone()])
    total = try_again(add([cpp, python]))
    seconds = time.monotonic() - begin
    print(f"C++: {cpp['passed']} passed. Python: {python['passed']} passed. Together, in {seconds:.0f} s:")
    print(", ".join(f"{total[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped")))
    return 1 if total["failed"] else 0


def cores() -> int:
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    sys.exit(main())
