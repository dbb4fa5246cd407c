"""Programs over MPI as users write them: some have one fault each, others have none. They are in C and in Python.

The program in C opens the file of its first argument with the hints that follow it. `rank`, `size` and `data`, 4 MiB,
are known to what stands in it.
"""

from dataclasses import dataclass

from rule_programs import MIB, READ, SHARED, WRITE, over_mpi

H5PY_MPI = (
    "import os, sys, time\nfrom mpi4py import MPI\nimport h5py, numpy as np\npath = sys.argv[1]\n"
    "comm = MPI.COMM_WORLD; rank, size = comm.rank, comm.size\n"
    "assert h5py.get_config().mpi\nfile = h5py.File(path, 'w', driver='mpio', comm=comm)\n"
)
PLAIN = (
    "import os, sys, time\nfrom mpi4py import MPI\nimport numpy as np\npath = sys.argv[1]\n"
    "comm = MPI.COMM_WORLD; rank, size = comm.rank, comm.size\n"
)
# A view in which each rank has every size-th piece of some bytes.
VIEW = (
    "MPI_Datatype some; MPI_Type_vector(1 << 20, {0}, {0} * size, MPI_BYTE, &some); MPI_Type_commit(&some);"
    'MPI_File_set_view(file, rank * {0}, MPI_BYTE, some, "native", info);'
)
PARALLEL = r"""
#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>
int main(int count, char** words) {
    int rank, size; MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), create = H5Pcreate(H5P_DATASET_CREATE);
    hid_t together = H5Pcreate(H5P_DATASET_XFER); float* data = calloc(1 << 20, 8);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL); H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE);
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t all[2] = {2048, 1024}, chunk[2] = {256, 1024}, at[2] = {0, 0}, part[2] = {1, 1024};
    hid_t space = H5Screate_simple(2, all, NULL); H5Pset_fill_time(create, H5D_FILL_TIME_NEVER);
    %s
    H5Fclose(file); MPI_Finalize();
}
"""
SET = 'hid_t set = H5Dcreate(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, create, H5P_DEFAULT);'
MINE = (
    "hid_t mine = H5Screate_simple(2, part, NULL);"
    "H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, part, NULL);"
    "H5Dwrite(set, {}, mine, space, {}, data); H5Sclose(mine);"
)
PIECE = f"at[0] = rank * all[0] / size; part[0] = all[0] / size; {MINE}"


@dataclass(frozen=True)
class Ranks:
    source: str
    rules: tuple[str, ...] = ()
    """The rules that name its fault; none if it has no fault."""
    language: str = "C"
    """C, HDF5 (C with the HDF5 of the MPI), or Python (that of the system, with its mpi4py and h5py)."""
    ranks: int = 2
    hints: tuple[str, ...] = ()
    mpis: tuple[str, ...] = ("MPICH", "Open MPI, OMPIO")
    """The MPIs with which it has this fault; the first one is tried in short runs."""


def c(body: str, *rules: str, **more: object) -> Ranks:
    return Ranks(f"#include <stdio.h>\n{over_mpi(body)}", rules, **more)  # type: ignore[arg-type]


def hdf5(body: str, *rules: str) -> Ranks:
    return Ranks(PARALLEL % body, rules, "HDF5")


def python(source: str, *rules: str, start: str = PLAIN) -> Ranks:
    return Ranks(start + source, rules, "Python", mpis=("Open MPI",))


OWN = 'char own[500]; snprintf(own, 500, "%s.%d", words[1], rank);'
STDIO = "FILE* stream = fopen({}, {}); {} fclose(stream);"
ALL_INTO_ONE = (
    "char* all = calloc(size, 1 << 22); for (int i = 0; i < 8; ++i) {{"
    "MPI_Gather(data, 1 << 22, MPI_BYTE, all, 1 << 22, MPI_BYTE, 0, MPI_COMM_WORLD); if (!rank) {} }}"
)
PLANTED = {
    "one rank writes for all": c(
        ALL_INTO_ONE.format(
            f"MPI_File_write_at(file, 4l * i * size * {MIB}, all, 4 * size * {MIB}, MPI_BYTE, MPI_STATUS_IGNORE);"
        ),
        "one rank does all",
    ),
    "one rank writes for all by a stream": c(
        STDIO.format(
            'rank ? "/dev/null" : words[1]', '"w"', ALL_INTO_ONE.format("fwrite(all, size, 1 << 22, stream);")
        ),
        "one rank does all",
    ),
    "all ranks read the same file": c(
        SHARED.replace(f"rank * {MIB}", f"rank * 24 * {MIB}")
        .replace(f", {MIB},", f", 4 * {MIB},")
        .format("for (int i = 0; i < size * 24; i += 4) " + READ.format(f"i * {MIB}", 4 * MIB)),
        "same reads of all ranks",
    ),
    "all ranks read one table by a stream": python(
        "if rank == 0: np.zeros(4 << 20).tofile(path)\ncomm.Barrier(); np.fromfile(path)", "same reads of all ranks"
    ),
    "small independent pieces": c(
        "for (int i = 0; i < 8000; ++i) " + WRITE.format("write_at", "(i * size + rank) * 512", 512),
        "independent and interleaved",
    ),
    "a view, written independently": c(
        VIEW.format(512)
        + "for (int i = 0; i < 60; ++i) MPI_File_write(file, data, 1 << 17, MPI_BYTE, MPI_STATUS_IGNORE);",
        "read, modify, write",
        "waiting for locks",
        "independent and interleaved",
        mpis=("MPICH",),
    ),
    "a straggler": c(
        "for (int i = 0; i < (rank == 1 ? 400 : 20); ++i) " + WRITE.format("write_at", f"rank * {MIB} * 4l", 4 * MIB),
        "straggler",
        ranks=3,
    ),
    "a file for each rank and step": c(
        OWN
        + 'for (int i = 0; i < 1500; ++i) { snprintf(own, 500, "%s.%d.%d", words[1], rank, i);'
        + STDIO.format("own", '"w"', "fwrite(data, 200, 1, stream);")
        + "}",
        "many small files",
    ),
    "opened by all ranks for each step": c(
        "for (int i = 0; i < 200; ++i) { MPI_File own;"
        "MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_RDWR, info, &own);"
        + WRITE.format("write_at", "(i * size + rank) * 65536", 65536).replace("file,", "own,")
        + "MPI_File_close(&own); }",
        "MPI-IO files opened again and again",
        "opened again and again",
    ),
    "the shared file pointer": c(
        "for (int i = 0; i < 300; ++i) MPI_File_write_shared(file, data, 8192, MPI_BYTE, MPI_STATUS_IGNORE);",
        "shared file pointer",
    ),
    "atomic mode": c(
        "MPI_File_set_atomicity(file, 1); for (int i = 0; i < 400; ++i) "
        + WRITE.format("write_at", "(rank * 400 + i) * 16384", 16384),
        "atomic mode",
    ),
    "a sync after each step": c(
        "for (int i = 0; i < 100; ++i) { "
        + WRITE.format("write_at", "(i * size + rank) * 65536", 65536)
        + "MPI_File_sync(file); }",
        "sync storm",
    ),
    "large pieces, gathered on one rank": c(
        "for (int i = 0; i < 16; ++i) " + WRITE.format("write_at_all", f"(i * size + rank) * 4l * {MIB}", 4 * MIB),
        "collective and apart",
        "one rank does all",
        hints=("romio_cb_write", "enable", "cb_config_list", "*:1"),
        mpis=("MPICH",),
    ),
    "hints that no call can use": c(
        "for (int i = 0; i < 8; ++i) "
        + WRITE.format("write_at", f"(rank * 8 + i) * {MIB}", MIB)
        + "MPI_File_sync(file);",
        "setting without effect",
        hints=("cb_nodes", "2", "romio_cb_read", "enable"),
        mpis=("MPICH",),
    ),
    "a chunk compressed by all ranks": hdf5(
        f"H5Pset_chunk(create, 2, chunk); H5Pset_deflate(create, 6); {SET}"
        f"{PIECE.format('H5T_NATIVE_FLOAT', 'together')}",
        "filters over ranks",
    ),
    "a collective write that converts": hdf5(
        f"{SET} {PIECE.format('H5T_NATIVE_DOUBLE', 'together')}", "collective in vain", "type conversion"
    ),
    "rows of HDF5, each alone": hdf5(
        "all[0] = 6144; all[1] = part[1] = 64; H5Sset_extent_simple(space, 2, all, NULL);"
        f"{SET} for (int i = 0; i < 2048; ++i) {{ at[0] = i * size + rank;"
        f"{MINE.format('H5T_NATIVE_FLOAT', 'H5P_DEFAULT')} }}",
        "small transfers",
        "independent and interleaved",
    ),
    "h5py: rows by each rank": python(
        "x = file.create_dataset('x', (9000, 64), 'f4')\n"
        "for i in range(rank, 9000, size): x[i] = np.float32(i)\nfile.close()",
        "small transfers",
        "independent and interleaved",
        start=H5PY_MPI,
    ),
    "mpi4py: gathered and saved": python(
        "all = comm.gather(np.full(2 << 20, 1.0 + rank))\n"
        "if rank == 0:\n    for i in range(8): np.save(f'{path}.{i}.npy', np.concatenate(all))",
        "one rank does all",
    ),
}
HEALTHY = {
    "large pieces of each rank": c(
        "for (int i = 0; i < 8; ++i) "
        + WRITE.format("write_at", f"(rank * 8 + i) * {MIB}", MIB)
        + "MPI_File_sync(file);"
    ),
    "large pieces, collective": c(
        "for (int i = 0; i < 8; ++i) " + WRITE.format("write_at_all", f"(i * size + rank) * {MIB}", MIB)
    ),
    "pieces of 1 KiB, collective": c(
        VIEW.format(1024)
        + "for (int i = 0; i < 8; ++i) MPI_File_write_all(file, data, 1 << 20, MPI_BYTE, MPI_STATUS_IGNORE);",
        mpis=("MPICH",),  # OMPIO writes each piece by itself
    ),
    "each rank reads its part": c(
        WRITE.format("write_at_all", f"rank * 4 * {MIB}", 4 * MIB)
        + "MPI_File_sync(file); MPI_Barrier(MPI_COMM_WORLD);"
        + READ.format(f"rank * 4 * {MIB}", 4 * MIB)
    ),
    "a large file for each rank": c(
        OWN + STDIO.format("own", '"w"', "for (int i = 0; i < 8; ++i) fwrite(data, 1 << 22, 1, stream);")
    ),
    "the same small input for all": c(
        "if (!rank) {" + STDIO.format("words[1]", '"w"', "fwrite(data, 3000, 1, stream);") + "}"
        "MPI_Barrier(MPI_COMM_WORLD);"
        + STDIO.format("words[1]", '"r"', "fread(data, 3000, 1, stream);")
        + WRITE.format("write_at_all", f"rank * 4 * {MIB}", 4 * MIB)
    ),
    "a log by one rank": c(
        "for (int i = 0; i < 4; ++i) "
        + WRITE.format("write_at_all", f"(i * size + rank) * {MIB}", MIB)
        + OWN
        + "if (!rank) {"
        + STDIO.format("own", '"w"', 'for (int i = 0; i < 2000; ++i) fprintf(stream, "step %d\\n", i);')
        + "}"
    ),
    "HDF5, collective": hdf5(f"{SET} {PIECE.format('H5T_NATIVE_FLOAT', 'together')}"),
    "HDF5, chunks, collective": hdf5(
        f"H5Pset_chunk(create, 2, chunk); {SET} {PIECE.format('H5T_NATIVE_FLOAT', 'together')}"
    ),
    "HDF5, parts of each rank": hdf5(f"{SET} {PIECE.format('H5T_NATIVE_FLOAT', 'H5P_DEFAULT')}"),
    "h5py: parts of each rank": python(
        "x = file.create_dataset('x', (size, 1 << 20), 'f4'); x[rank] = np.float32(rank); file.close()", start=H5PY_MPI
    ),
    "h5py: collective": python(
        "x = file.create_dataset('x', (size, 1 << 20), 'f4')\n"
        "with x.collective: x[rank] = np.float32(rank)\nfile.close()",
        start=H5PY_MPI,
    ),
    "mpi4py: a file for each rank": python("np.save(f'{path}.{rank}.npy', np.ones(2 << 20))"),
    "nothing but messages": c("for (int i = 0; i < 200; ++i) MPI_Barrier(MPI_COMM_WORLD);", ranks=2),
}
