"""`make laws`: every one of 200 combinations of hints of ROMIO, three runs each, on a storage with a known law, and how
often the search of `thalweg tune` ends within 5 % of the best. The runs of the searches are drawn from those three."""

import itertools
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mpis import MPICH
from storage_law import Law
from tracing import compile_c

from thalweg._tune.search import search

RANKS, REPEATS, SEARCHES, RUNS = 4, 3, 100, 46
MIB = 1 << 20
SETTINGS = {
    "cb_config_list": ("*:1", "*:2", "*:3", "*:4"),
    "cb_buffer_size": (str(MIB // 2), str(MIB), str(2 * MIB), str(4 * MIB)),
    "romio_cb_write": ("disable",),
    "romio_ds_write": ("disable",),
    "ind_wr_buffer_size": (str(4 * MIB),),
}
COUNTS = [len(values) + 1 for values in SETTINGS.values()]
LAWS = {
    "four servers": {"servers": 4, "stripe": MIB, "latency_us": 2000, "bandwidth": 100_000_000},
    "one slow server": {"servers": 1, "stripe": MIB, "latency_us": 5000, "bandwidth": 200_000_000},
    "eight servers": {"servers": 8, "stripe": MIB // 4, "latency_us": 1000, "bandwidth": 50_000_000},
    "far away": {"servers": 4, "stripe": 4 * MIB, "latency_us": 20_000, "bandwidth": 400_000_000},
}
# Each rank writes every fourth piece of 64 kB, 16 MB in all.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { PIECE = 64 << 10, PIECES = 64 };
int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char* const bytes = malloc(PIECE * PIECES);
    for (int i = 0; i < PIECE * PIECES; ++i) bytes[i] = (char)(rank + i);
    MPI_Barrier(MPI_COMM_WORLD);
    double const begin = MPI_Wtime();
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Datatype pieces;
    MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_File_set_view(file, (MPI_Offset)PIECE * rank, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, bytes, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    if (rank == 0) printf("%.6f\n", MPI_Wtime() - begin);
    MPI_Finalize();
}
"""


def measure(program: Path, folder: Path, law: Law, combination: tuple[int, ...]) -> float:
    out = folder / "out.bin"
    out.unlink(missing_ok=True)
    hints = folder.parent / "hints"
    chosen = zip(SETTINGS.items(), combination, strict=True)
    hints.write_text("".join(f"{name} {values[i - 1]}\n" for (name, values), i in chosen if i))
    done = subprocess.run(
        list(map(str, MPICH.command(RANKS, program, out))),
        env=law.environment | {"ROMIO_HINTS": str(hints)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stat().st_size == RANKS * 64 * (64 << 10)
    return float(re.findall(r"[\d.]+", done.stdout)[0])


def exhaustive(name: str, place: Path) -> dict[tuple[int, ...], list[float]]:
    folder = place / "work"
    folder.mkdir()
    law = Law(folder, place / "law", **LAWS[name])
    program = compile_c(place / "c", PROGRAM, compiler=shutil.which(MPICH.compiler))
    combinations = list(itertools.product(*map(range, COUNTS)))
    seconds: dict[tuple[int, ...], list[float]] = {each: [] for each in combinations}
    for repeat in range(REPEATS):
        order = random.Random(repeat).sample(combinations, len(combinations))
        for each in order:
            seconds[each].append(measure(program, folder, law, each))
    return seconds


def judge(seconds: dict[tuple[int, ...], list[float]]) -> dict[str, Any]:
    typical = {each: statistics.median(runs) for each, runs in seconds.items()}
    best = min(typical.values())
    found = 0
    for seed in range(SEARCHES):
        draw = random.Random(seed)

        def run(combination: tuple[int, ...], limit_s: float, draw: random.Random = draw) -> float | None:
            taken = draw.choice(seconds[combination])
            return taken if taken < limit_s else None

        found += typical[search(COUNTS, run, RUNS, seed).best] < 1.05 * best
    default = typical[(0,) * len(COUNTS)]
    spread = statistics.median(max(runs) / min(runs) for runs in seconds.values())
    near = sum(each < 1.05 * best for each in typical.values())
    return {
        "combinations": len(seconds),
        "default / best": round(default / best, 2),
        "worst / best": round(max(typical.values()) / best, 1),
        "within 5 % of the best": near,
        "spread of three runs": round(spread, 2),
        "searches within 5 %": f"{found} of {SEARCHES}",
        "runs with the screen": RUNS + 3 + sum(COUNTS) - len(COUNTS),
    }


def main(names: list[str]) -> None:
    for name in names or LAWS:
        with tempfile.TemporaryDirectory() as place:
            print(json.dumps({"law": name} | judge(exhaustive(name, Path(place)))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
