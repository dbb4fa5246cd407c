"""Measures libfabric's providers beside sockets, keeps what it found, and writes the tables of the page.

python studies/readout/fabric/measure.py --rounds 5
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.programs import REPOSITORY, WORK, MissingError, call
from readout.scale import results, tables
from readout.scale.measure import measure, stamp

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER.parent / "results" / "fabric.json"
PAGE = FOLDER / "README.md"
PROGRAM = WORK / "fabric_study"
SOCKETS = ("TCP", "Unix")
PROVIDERS = ("tcp", "tcp;ofi_rxm", "shm", "sockets")
# The responses of 16 requests in flight: over as many connections, or between two endpoints that have none.
CONNECTIONS = {"tcp;ofi_rxm": 1, "shm": 1}
IN_FLIGHT = 16
NUMBERS, QUICK_NUMBERS = (10, 100, 300, 1000), (10,)
MOST_S = 140.0  # then no other round begins
ONE_S = 30.0
USUAL_S, QUICK_S = 0.5, 0.1
COLUMNS = {
    "setup": (
        ("setup_server_us", "server: CPU µs each"),
        ("setup_client_us", "client: CPU µs each"),
        ("both_us", "both: CPU µs each"),
        ("server_kB", "memory of the server: kB each"),
        ("client_kB", "of the client"),
    ),
    "cost": (
        ("server_ns", "server: CPU ns a fragment"),
        ("client_ns", "client: CPU ns a fragment"),
        ("GB_per_s", "GB/s"),
        ("idle_cores", "server without requests: cores"),
    ),
}


def build() -> None:
    """Compiles the program; raises MissingError where libfabric or a compiler is not there."""
    if shutil.which("pkg-config") is None or shutil.which("c++") is None:
        raise MissingError("there is no pkg-config or no c++: `tools/system-packages build` installs them")
    found = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libfabric"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        raise MissingError("there is no libfabric: `tools/system-packages bench` installs it")
    sources = sorted(FOLDER.glob("*.cc"))
    newest = max(path.stat().st_mtime for path in FOLDER.iterdir() if path.suffix in {".cc", ".h"})
    if PROGRAM.is_file() and PROGRAM.stat().st_mtime > newest:
        return
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    command = ["c++", "-std=c++20", "-O2", "-Wall", "-Wextra", f"-I{REPOSITORY}", "-o", str(PROGRAM)]
    call([*command, *map(str, sources), *found.stdout.split()])


def variant(wire: str, connections: int, seconds: float | None) -> Callable[[float], dict[str, object]]:
    """Returns what measures it once; after it failed, it fails at once, and every round has the same reason."""
    failed: list[MissingError] = []

    def run(usual_s: float) -> dict[str, object]:
        if failed:
            raise failed[0]
        words = [wire, connections, max(IN_FLIGHT, connections), usual_s if seconds is None else seconds]
        command = [str(PROGRAM), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ONE_S)
        if done.returncode != 0:
            failed.append(MissingError(done.stderr.strip() or f"the program ended with {done.returncode}"))
            raise failed[0]
        found = dict(json.loads(done.stdout))
        found["both_us"] = found["setup_server_us"] + found["setup_client_us"]
        return found

    return run


def name_of(wire: str) -> str:
    return f"{wire} socket" if wire in SOCKETS else f"libfabric, {wire}"


def variants(numbers: tuple[int, ...]) -> dict[str, Callable[[float], dict[str, object]]]:
    wires = SOCKETS + PROVIDERS
    costs = {f"{name_of(wire)}: responses": variant(wire, CONNECTIONS.get(wire, IN_FLIGHT), None) for wire in wires}
    set_ups = {
        f"{name_of(wire)}: {number} connections": variant(wire, number, 0) for number in numbers for wire in wires
    }
    return costs | set_ups


def parts_of(found: results.Kept) -> results.Kept:
    """Parts what was measured in the same rounds into two tables, and says once why something is left out."""
    reasons = {key.rpartition(", round")[0]: why for key, why in found["missing"].items()}
    parts = {}
    for part, is_cost in (("setup", False), ("cost", True)):
        of_part = dict(found)
        for key, all_of in (("variants", found["variants"]), ("missing", reasons)):
            chosen = {name: each for name, each in all_of.items() if name.endswith(": responses") == is_cost}
            of_part[key] = {name.removesuffix(": responses"): each for name, each in chosen.items()}
        parts[part] = {**stamp(), **of_part}
    return parts


def with_tables(page: str, kept: results.Kept) -> str:
    return tables.with_tables(page, kept, COLUMNS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one short round, which is not kept: does all of it work?")
    options = parser.parse_args()
    try:
        build()
    except MissingError as error:
        print(f"nothing is measured: {error}", file=sys.stderr)
        return 1
    rounds, seconds = (1, QUICK_S) if options.quick else (options.rounds, USUAL_S)
    kept = parts_of(measure(variants(QUICK_NUMBERS if options.quick else NUMBERS), rounds, seconds, MOST_S))
    if options.quick:
        print(json.dumps(kept, indent=1, ensure_ascii=False))
        return 0
    results.write(kept, RESULTS)
    PAGE.write_text(with_tables(PAGE.read_text(), kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
