"""Groups that are merged, and rows of a Cartesian topology, are those of Open MPI: its aggregators write as many bytes
as the ranks of their groups have. (It splits groups in another way: record 162.)"""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from mpis import OMPIO
from tracing import compile_c, trace

from thalweg._trace.trace_file import load_trace
from thalweg._tune.aggregators import Part, groups

KIB = 1 << 10
RANKS, K = 8, 512 * KIB
# `program FOLDER CASES EXTENT...`: the file CASES has a line for each case, a letter and the offset and the bytes of
# each rank. v: each rank begins a view there; t: the type of a common view has the place; with extents, the ranks that
# open the file have a Cartesian topology.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { MOST = 4 << 20, DIMENSIONS = 3 };
int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank, ranks, dims[DIMENSIONS], periods[DIMENSIONS] = {0};
    MPI_Comm ours = MPI_COMM_WORLD;
    for (int i = 3; i < count; ++i) dims[i - 3] = atoi(words[i]);
    if (count > 3) MPI_Cart_create(MPI_COMM_WORLD, count - 3, dims, periods, 0, &ours);
    MPI_Comm_rank(ours, &rank);
    MPI_Comm_size(ours, &ranks);
    char* const bytes = calloc(1, MOST);
    FILE* const cases = fopen(words[2], "r");
    char kind, path[4096];
    for (int number = 0; fscanf(cases, " %c", &kind) == 1; ++number) {
        long offset = 0, size = 0, end = 1;
        for (int i = 0; i < ranks; ++i) {
            long at, of_rank;
            if (fscanf(cases, "%ld %ld", &at, &of_rank) != 2) MPI_Abort(ours, 2);
            if (i == rank) offset = at, size = of_rank;
            if (at + of_rank > end) end = at + of_rank;
        }
        snprintf(path, sizeof path, "%s/%d", words[1], number);
        MPI_File file;
        MPI_File_open(ours, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
        if (kind == 'v') {
            MPI_File_set_view(file, offset, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        } else {
            int const length = (int)size;
            MPI_Aint const place = offset;
            MPI_Datatype block, type;
            MPI_Type_create_hindexed(1, &length, &place, MPI_BYTE, &block);
            MPI_Type_create_resized(block, 0, end, &type);
            MPI_Type_commit(&type);
            MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL);
        }
        MPI_File_write_all(file, bytes, (int)size, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    MPI_Finalize();
}
"""
Case = tuple[str, list[Part]]


def in_views(sizes: Sequence[int]) -> Case:
    """Open MPI compares places inside of views, so that no rank follows another one."""
    return "v", [Part(rank << 30, size) for rank, size in enumerate(sizes)]


def in_types(gaps: Sequence[int], sizes: Sequence[int]) -> Case:
    parts, end = [], 0
    for gap, size in zip(gaps, sizes, strict=True):
        parts.append(Part(end + gap, size))
        end += gap + size
    return "t", parts


def line_of(case: Case) -> str:
    kind, parts = case
    # Views begin one behind the other, wherever the parts begin inside of them.
    places = np.cumsum([0] + [part.bytes for part in parts]) if kind == "v" else [part.offset for part in parts]
    return " ".join([kind, *(f"{at} {part.bytes}" for at, part in zip(places, parts, strict=False))])


def written(
    folder: Path, cases: Sequence[Case], variables: dict[str, str], dims: Sequence[int]
) -> list[dict[int, int]]:
    """Returns the bytes that each rank has written, by case."""
    OMPIO.skip_if_missing()
    program = compile_c(folder / "c", PROGRAM, compiler=OMPIO.compiler)
    (folder / "out").mkdir()
    (folder / "cases").write_text("".join(f"{line_of(case)}\n" for case in cases))
    command = OMPIO.command(RANKS, program, folder / "out", folder / "cases", *dims)
    # In this component an aggregator writes what its group has, and nothing else.
    environment = OMPIO.variables() | {"OMPI_MCA_fcoll": "dynamic"} | variables
    traced = trace(folder / "t.root", *command, env=environment)
    assert traced.done.returncode == 0, traced.said
    loaded = load_trace(str(traced.path))
    calls = loaded.posix.where(loaded.posix.kind == "write")
    found: list[dict[int, int]] = [{} for _ in cases]
    for file, rank, moved in zip(calls.file, calls.rank, calls.moved, strict=True):
        path = Path(loaded.files[file])
        if path.parent == folder / "out" and moved > 0:
            of_case = found[int(path.name)]
            of_case[int(rank)] = of_case.get(int(rank), 0) + int(moved)
    return found


def expected(case: Case, dims: Sequence[int] = ()) -> dict[int, int]:
    _, parts = case
    sums = {group[0]: sum(parts[rank].bytes for rank in group) for group in groups(parts, K, dims=dims)}
    return {rank: size for rank, size in sums.items() if size}


def merging_cases() -> list[Case]:
    generator = random.Random(1)
    sizes = (0, 16 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 500 * KIB, K, 700 * KIB)
    cases = [in_views([256 * KIB] * 7 + [K]), in_views([K] * 8), in_views([16 * KIB] * 7 + [K])]
    # The last rank has k bytes: if it had fewer, Open MPI would look behind the end of its list.
    cases += [in_views([*generator.choices(sizes, k=RANKS - 1), K]) for _ in range(20)]
    for _ in range(20):
        gaps = [generator.choice((0, 0, 4 * KIB)) for _ in range(RANKS - 1)]
        # No group has more than k bytes: these would be split.
        cases.append(in_types([*gaps, 4 * KIB], [*generator.choices((4 * KIB, 64 * KIB), k=RANKS - 1), K]))
    return cases


def test_merged_groups_are_those_of_open_mpi(tmp_path: Path) -> None:
    cases = merging_cases()
    variables = {"OMPI_MCA_io_ompio_grouping_option": "1", "OMPI_MCA_io_ompio_bytes_per_agg": str(K)}
    found = written(tmp_path, cases, variables, ())
    assert found == [expected(case) for case in cases]
    merged = sum(
        len(each) < sum(part.bytes > 0 for part in parts) for each, (_, parts) in zip(found, cases, strict=True)
    )
    assert merged > len(cases) / 2, "most cases merge groups"


@pytest.mark.parametrize("dims", [(2, 4), (4, 2), (8, 1), (2, 2, 2)], ids=str)
def test_rows_of_a_topology_are_those_of_open_mpi(tmp_path: Path, dims: tuple[int, ...]) -> None:
    row = RANKS // dims[0]
    # A row has k bytes, so that it stays as it is: Open MPI neither merges nor splits rows. There are gaps, so that the
    # places in the file would make other groups.
    case = in_types([4 * KIB] * RANKS, [K // row] * RANKS)
    (found,) = written(tmp_path, [case], {"OMPI_MCA_io_ompio_grouping_option": "5"}, dims)
    assert found == expected(case, dims) == dict.fromkeys(range(0, RANKS, row), K)
