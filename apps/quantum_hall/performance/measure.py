"""measure.py BUILD [--kite PYTHON]: the ratios of README.md, each from rounds in which both sides take turns.

BUILD is the build directory of the application, with the targets `step` and `step-mpi`. PYTHON is an interpreter of an
environment that has quantum-kite 0.0.4. Prints medians and quartiles.
"""

import argparse
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIZE = 512
KITE = Path(__file__).with_name("kite_dos.py")


def show(name: str, ratios: list[float]) -> None:
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    print(f"{name}: {middle:.2f} ({low:.2f} to {high:.2f}, {len(ratios)} rounds)", flush=True)


def cpu_s(line: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def elapsed_s(lines: list[list[str]]) -> float:
    begin = time.monotonic()
    for process in [subprocess.Popen(line, stdout=subprocess.DEVNULL) for line in lines]:
        assert process.wait() == 0
    return time.monotonic() - begin


def per_moment(run: Callable[[int], float], few: int, many: int) -> float:
    """Returns the time of a moment, without the start of the program."""
    return (run(many) - run(few)) / (many - few)


def steps(build: Path, mpiexec: str, rounds: int) -> None:
    for columns in (512, 1024):
        alone = [str(build / "step"), str(columns), str(columns), str(rounds)]
        # On two cores the clock counts: they share what the memory gives.
        both = [mpiexec, "-n", "2", str(build / "step-mpi"), str(columns), str(2 * columns), str(rounds)]
        for name, line, kind in (("one core", alone, "_cpu"), ("two cores", both, "")):
            output = subprocess.run(line, check=True, capture_output=True, text=True).stdout
            found = [json.loads(text) for text in output.splitlines()]
            ratios = [one[f"step{kind}"] / one[f"stream{kind}"] for one in found]
            times = np.median([one[f"step{kind}"] for one in found])
            show(f"step / stream, {columns} columns, {name} ({times:.2f} ns a site)", ratios)


def two_ranks(build: Path, mpiexec: str, rounds: int) -> None:
    """Two ranks on a torus, and at another time two programs, each on half of it."""
    words = ["moments", "--disorder", "0.1", "--moments", "300"]
    half = [str(build / "quantum-hall"), *words, "--size", f"{SIZE}x{SIZE}", "--flux", f"8/{SIZE}"]
    whole = [mpiexec, "-n", "2", str(build / "quantum-hall-mpi"), *words]
    whole += ["--size", f"{SIZE}x{2 * SIZE}", "--flux", f"8/{2 * SIZE}"]
    ratios = [elapsed_s([half, half]) / elapsed_s([whole]) for _ in range(rounds)]
    show("speed of two ranks / of two copies at once", ratios)


def against_kite(build: Path, python: str, rounds: int) -> None:
    system = ["--size", f"{SIZE}x{SIZE}", "--disorder", "0.1"]

    def ours(moments: int) -> float:
        return cpu_s([str(build / "quantum-hall"), "moments", *system, "--moments", str(moments)])

    with tempfile.TemporaryDirectory() as folder:

        def kite(moments: int) -> float:
            return cpu_s([python, str(KITE), folder, str(SIZE), str(moments)])

        found = [(per_moment(kite, 32, 160), per_moment(ours, 40, 640)) for _ in range(rounds)]
    scale = 1e9 / (2 * SIZE * SIZE)
    print(f"ns a site and moment: KITE {np.median([k for k, _ in found]) * scale:.2f}, ", end="")
    print(f"quantum-hall {np.median([q for _, q in found]) * scale:.2f}")
    show("CPU time of KITE / of quantum-hall", [k / q for k, q in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--kite", help="an interpreter that has quantum-kite")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    steps(arguments.build, arguments.mpiexec, arguments.rounds)
    two_ranks(arguments.build, arguments.mpiexec, arguments.rounds)
    if arguments.kite:
        against_kite(arguments.build, arguments.kite, arguments.rounds)


if __name__ == "__main__":
    main()
