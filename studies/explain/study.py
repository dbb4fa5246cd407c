"""study.py [--rounds N] [--only WORD]: is the gain that `thalweg explain` states the one that mending the fault brings?

Each round runs the program with the fault, the same program without it, and a traced one with it, one after the other.
What mending brings is the difference of the first two by the clock, without the time in which the programs waited for
a core because others ran. (Of the ranks of MPI that time is not known.) Writes results/results.json and the table of
README.md.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pairs import PAIRS, Pair

from thalweg._explain.verdict import explain

HERE = Path(__file__).parent
THALWEG = Path(sys.executable).with_name("thalweg")
FACTOR = 1.5
MARKS = ("<!-- gains -->", "<!-- end of gains -->")


def command_of(pair: Pair, is_wrong: bool, folder: Path) -> list[str]:
    """Compiles the program if that is needed, and returns its command without the argument."""
    source = pair.source(is_wrong)
    folder.mkdir()
    if pair.language == "Python":
        (folder / "program.py").write_text(source)
        return [sys.executable, str(folder / "program.py")]
    if pair.language == "Java":
        (folder / "Program.java").write_text(source)
        subprocess.run(["javac", folder / "Program.java"], check=True)
        return ["java", "-cp", str(folder), "Program"]
    (folder / "program.c").write_text(source)
    compiler = "mpicc.mpich" if pair.language == "MPI" else "cc"
    subprocess.run([compiler, "-O1", "-o", folder / "program", folder / "program.c"], check=True)
    launcher = ["mpiexec.hydra", "-n", str(pair.ranks)] if pair.language == "MPI" else []
    return [*launcher, str(folder / "program")]


def took(command: list[str], out: Path) -> float:
    """Returns how long the command takes, without the time in which its first thread waited for a core."""
    out.mkdir()
    start = time.perf_counter()
    process = subprocess.Popen([*command, out / "data"], stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    end = time.perf_counter()
    _, waited, _ = Path(f"/proc/{process.pid}/schedstat").read_text().split()
    if process.wait():
        sys.exit(f"{command} failed")
    shutil.rmtree(out)
    return end - start - int(waited) * 1e-9


def stated(command: list[str], folder: Path) -> dict[str, Any]:
    """Returns the first finding of a traced run."""
    out = folder / "out"
    out.mkdir()
    words = [THALWEG, "trace", "--force", "--out", folder / "t.root", "--", *command, out / "data"]
    subprocess.run(words, check=True, capture_output=True)
    shutil.rmtree(out)
    found = explain(str(folder / "t.root")).findings
    return found[0].to_dict() if found else {"rule": "", "saves_s": 0.0, "low_s": 0.0, "high_s": 0.0}


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def measured(pair: Pair, rounds: int, folder: Path) -> dict[str, Any]:
    wrong, right = command_of(pair, True, folder / "wrong"), command_of(pair, False, folder / "right")
    (took(wrong, folder / "out"), took(right, folder / "out"))  # files that are read are in memory from here on
    times, found = [], []
    for _ in range(rounds):
        times.append(tuple(took(each, folder / "out") for each in (wrong, right)))
        found.append(stated(wrong, folder))
    gain = spread([bad - good for bad, good in times])
    said = {name: spread([each[name] for each in found]) for name in ("saves_s", "low_s", "high_s")}
    ratio = said["saves_s"]["median"] / max(gain["median"], 1e-9)
    return {
        "name": pair.name,
        "rules": sorted({each["rule"] for each in found}),
        "is_named": all(each["rule"] in pair.rules for each in found),
        "with_fault_s": spread([bad for bad, _ in times]),
        "gain_s": gain,
        "said": said,
        "ratio": ratio,
        "is_near": 1 / FACTOR <= ratio <= FACTOR,
        "is_inside": said["low_s"]["median"] <= gain["median"] <= said["high_s"]["median"],
    }


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| fault | program | mending saves | said | interval | said / saved |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in results:
        gain, said = each["gain_s"], each["said"]
        ratio = f"{each['ratio']:.2f}" if gain["median"] > 0 else "no gain"
        lines.append(
            f"| {each['name']} | {each['with_fault_s']['median']:.2f} s | {gain['median']:.2f} s "
            f"({gain['least']:.2f} to {gain['most']:.2f}) | {said['saves_s']['median']:.2f} s | "
            f"{said['low_s']['median']:.2f} to {said['high_s']['median']:.2f} s | {ratio} |"
        )
    near, inside = (sum(each[name] for each in results) for name in ("is_near", "is_inside"))
    lines += ["", f"Within a factor of {FACTOR}: {near} of {len(results)}. Inside the interval: {inside}."]
    return "\n".join(lines)


def write(results: list[dict[str, Any]]) -> None:
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    readme = (HERE / "README.md").read_text()
    before, _, rest = readme.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    (HERE / "README.md").write_text(f"{before}{MARKS[0]}\n{table(results)}\n{MARKS[1]}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    results = []
    for pair in PAIRS:
        if options.only in pair.name:
            with tempfile.TemporaryDirectory(prefix="thalweg-explain-") as folder:
                results.append(measured(pair, options.rounds, Path(folder)))
            print(
                table(results[-1:]).splitlines()[2], "" if results[-1]["is_named"] else results[-1]["rules"], flush=True
            )
            if not options.only:
                write(results)


if __name__ == "__main__":
    main()
