"""Small programs, two for each rule of `thalweg explain`: one that it must find, and one beside it that does it right.

Those in Python are lines behind START; those in C are whole, and get the path as their first argument.
"""

from dataclasses import dataclass

START = "import os, sys\npath = sys.argv[1]\nfd = os.open(path, os.O_RDWR | os.O_CREAT)\n"
BIG = "os.pwrite(fd, bytes(1 << 20), 0)\n"
# A mapped file of which no page is in memory.
TOUCHED = (
    "import mmap\nos.pwrite(fd, bytes(1 << 26), 0); os.fsync(fd); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
    "memory = mmap.mmap(fd, 1 << 26); memory.madvise(mmap.MADV_RANDOM)\n"
)
# Rule: a program that breaks it, and one that does not.
FILES = {
    "small requests": (
        "for i in range(2000): os.pwrite(fd, bytes(100), i * 100)",
        "for i in range(2000): os.pwrite(fd, bytes(8192), i * 8192)",
    ),
    "unaligned writes": (
        "for i in range(200): os.pwrite(fd, bytes(8192), 100 + i * 8192)",
        "for i in range(200): os.pwrite(fd, bytes(8192), i * 8192)",
    ),
    "redundant reads": (
        f"{BIG}for _ in range(4): os.lseek(fd, 0, 0); os.read(fd, 1 << 20)",
        f"{BIG}os.lseek(fd, 0, 0)\nwhile os.read(fd, 1 << 16): pass",
    ),
    "random reads": (
        "os.ftruncate(fd, 1 << 28)\nfor i in range(2000): os.pread(fd, 4096, i * 7919 % 65536 * 4096)",
        "os.ftruncate(fd, 1 << 28)\nfor i in range(2000): os.pread(fd, 4096, i * 4096)",
    ),
    "metadata storm": (
        "for i in range(3000): os.path.exists(f'{path}{i}')",
        "for i in range(3000): os.path.exists(f'{path}{i}'); os.pwrite(fd, bytes(8192), i)",
    ),
    "failed calls": (
        "for i in range(3000): os.path.exists(f'{path}{i}')",
        "for i in range(3000): os.path.exists(path)",
    ),
    "seeks": (
        "for i in range(1000): os.lseek(fd, i * 8192, 0); os.write(fd, bytes(8192))",
        "for i in range(1000): os.pwrite(fd, bytes(8192), i * 8192)",
    ),
    "no sync": (f"{BIG}", f"{BIG}os.fsync(fd)"),
    "written synchronously": (
        "own = os.open(path, os.O_RDWR | os.O_SYNC)\nfor i in range(200): os.pwrite(own, bytes(4096), i * 4096)",
        "own = os.open(path, os.O_RDWR)\nfor i in range(200): os.pwrite(own, bytes(4096), i * 4096)",
    ),
    "many small files": (
        "for i in range(1500): open(f'{path}{i}', 'w').write('x' * 300)",
        "for i in range(1500): os.pwrite(fd, bytes(300), i * 300)",
    ),
    "page faults": (
        f"{TOUCHED}for i in range(2000): memory[i * 7919 % 16384 * 4096]",
        f"{TOUCHED}os.pread(fd, 1 << 26, 0)",
    ),
    "sync storm": (
        "for i in range(200): os.pwrite(fd, bytes(4096), i * 4096); os.fsync(fd)",
        "for i in range(200): os.pwrite(fd, bytes(4096), i * 4096)\nos.fsync(fd)",
    ),
    "opened again and again": (
        "for i in range(100): open(path).close()",
        "for i in range(100): open(f'{path}{i}', 'w').close()",
    ),
    "truncation of an existing file": (f"{BIG}os.fsync(fd)\nopen(path, 'w')", f"{BIG}os.fsync(fd)\nopen(path, 'a')"),
    "read, modify, write": (
        f"{BIG}\nfor i in range(50): os.pread(fd, 8192, i * 8192); os.pwrite(fd, bytes(8192), i * 8192)",
        f"{BIG}\nfor i in range(50): os.pread(fd, 8192, i * 8192)\nfor i in range(50): os.pwrite(fd, bytes(8192), i)",
    ),
    "direct and small": (
        (
            "import mmap; page = mmap.mmap(-1, 4096); direct = os.open(path, os.O_RDWR | os.O_DIRECT)\n"
            "for i in range(200): os.pwrite(direct, page, i * 4096)"
        ),
        (
            "import mmap; page = mmap.mmap(-1, 1 << 20); direct = os.open(path, os.O_RDWR | os.O_DIRECT)\n"
            "for i in range(200): os.pwrite(direct, page, i % 8 << 20)"
        ),
    ),
    "written and thrown away": (f"{BIG}os.unlink(path)", f"{BIG}os.pread(fd, 100, 0); os.unlink(path)"),
    "waiting for locks": (
        (
            "import fcntl, time\nfor _ in range(2): os.fork()\nmine = os.open(path, os.O_RDWR)\n"
            "for _ in range(10): fcntl.flock(mine, fcntl.LOCK_EX); time.sleep(0.005); fcntl.flock(mine, fcntl.LOCK_UN)"
        ),
        (
            "import fcntl, time\nfor _ in range(2): os.fork()\nmine = os.open(path, os.O_RDWR)\n"
            "for _ in range(10): fcntl.flock(mine, fcntl.LOCK_SH); time.sleep(0.005); fcntl.flock(mine, fcntl.LOCK_UN)"
        ),
    ),
    "overlapping writes": (
        "os.fork()\nimport time\nfor i in range(20): os.pwrite(fd, bytes(1 << 16), i << 16); time.sleep(0.01)",
        (
            "import time\nat = 0 if os.fork() else 20\n"
            "for i in range(20): os.pwrite(fd, bytes(1 << 16), i + at << 16); time.sleep(0.01)"
        ),
    ),
}

STREAM = """#include <stdio.h>
int main(int count, char** words) {{ FILE* file = fopen(words[1], "w+"); {} return count != 2; }}"""
STREAMS = {
    "flushed again and again": (
        STREAM.format('for (int i = 0; i < 1000; ++i) { fprintf(file, "%d\\n", i); fflush(file); }'),
        STREAM.format('for (int i = 0; i < 1000; ++i) fprintf(file, "%d\\n", i);'),
    ),
    "single items": (
        STREAM.format("for (int i = 0; i < 120000; ++i) fwrite(&i, sizeof i, 1, file);"),
        STREAM.format("static int data[120000]; fwrite(data, sizeof *data, 120000, file);"),
    ),
    "single bytes": (
        STREAM.format("for (int i = 0; i < 60000; ++i) fputc('x', file);"),
        STREAM.format("char data[60000] = {0}; fwrite(data, 1, sizeof data, file);"),
    ),
}

H5PY = "import sys, h5py, numpy as np\npath = sys.argv[1]\n"
NOISE = "data = np.random.default_rng(1).integers(0, 255, (1024, 4096), dtype='u1')\n"
# Four chunks of 1 MiB each that compression does not shrink, of which the default cache holds none.
CHUNKED = f"{NOISE}h5py.File(path, 'w').create_dataset('x', data=data, chunks=(1024, 1024), compression='lzf')\n"
FLAT = "file = h5py.File(path, 'w'); x = file.create_dataset('x', (9,), 'f4')\n"
HDF5 = {
    "small transfers": (
        "x = h5py.File(path, 'w').create_dataset('x', (10_000,), 'f4')\nfor i in range(2000): x[i * 4 : i * 4 + 4] = 1",
        "x = h5py.File(path, 'w').create_dataset('x', (10_000,), 'f4')\nx[:] = 1",
    ),
    "objects opened again and again": (
        "file = h5py.File(path, 'w'); file['x'] = np.arange(5000)\nfor i in range(1500): file['x'][i]",
        "file = h5py.File(path, 'w'); file['x'] = np.arange(5000); x = file['x']\nfor i in range(1500): x[i]",
    ),
    "HDF5 files opened again and again": (
        "h5py.File(path, 'w')['x'] = np.arange(5000)\nfor i in range(60): h5py.File(path)['x'][i]",
        "h5py.File(path, 'w')['x'] = np.arange(5000)\nx = h5py.File(path)['x']\nfor i in range(60): x[i]",
    ),
    "HDF5 flushes": (
        f"{FLAT}for i in range(200): x[2] = i; file.flush()",
        f"{FLAT}for i in range(200): x[2] = i\nfile.flush()",
    ),
    "chunk cache too small": (
        f"{CHUNKED}x = h5py.File(path, rdcc_nbytes=1 << 16)['x']\nfor i in range(30): x[i, ::512]",
        f"{CHUNKED}x = h5py.File(path, rdcc_nbytes=1 << 24)['x']\nfor i in range(30): x[i, ::512]",
    ),
    "chunks split requests": (
        "h5py.File(path, 'w').create_dataset('x', data=np.ones(2_000_000), chunks=(512,))",
        "h5py.File(path, 'w').create_dataset('x', data=np.ones(2_000_000), chunks=(100_000,))",
    ),
    "chunks larger than requests": (
        f"{CHUNKED.replace('lzf', 'gzip')}x = h5py.File(path)['x']; x[:, 0]; x[0, 1024]; x[0, 2048]; x[0, 3072]",
        f"{CHUNKED.replace('lzf', 'gzip')}x = h5py.File(path)['x'][:]",
    ),
    "type conversion": (
        "h5py.File(path, 'w').create_dataset('x', (300_000,), 'f4')[:] = np.ones(300_000)",
        "h5py.File(path, 'w').create_dataset('x', (300_000,), 'f4')[:] = np.ones(300_000, 'f4')",
    ),
    "fill values in vain": (
        (
            "create = h5py.h5p.create(h5py.h5p.DATASET_CREATE); create.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)\n"
            "create.set_fill_value(np.array(7.0)); space = h5py.h5s.create_simple((300_000,))\n"
            "file = h5py.File(path, 'w')\n"
            "h5py.Dataset(h5py.h5d.create(file.id, b'x', h5py.h5t.NATIVE_DOUBLE, space, create))[:] = np.ones(300_000)"
        ),
        "file = h5py.File(path, 'w'); file.create_dataset('x', (300_000,), 'f8', fillvalue=7)[:] = np.ones(300_000)",
    ),
    "alignment inflates the file": (
        (
            "file = h5py.File(path, 'w', alignment_threshold=1, alignment_interval=1 << 20)\n"
            "for i in range(10): file[f'x{i}'] = np.arange(1000)"
        ),
        (
            "file = h5py.File(path, 'w', alignment_threshold=1 << 16, alignment_interval=1 << 20)\n"
            "for i in range(10): file[f'x{i}'] = np.arange(1000)"
        ),
    ),
}

BEGIN = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
    int rank, size; MPI_Info info; MPI_File file; char* data = calloc(1, 1 << 22);
    MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info_create(&info);
    for (int i = 2; i + 1 < count; i += 2) MPI_Info_set(info, words[i], words[i + 1]);
    MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    """
END = "MPI_File_close(&file); MPI_Finalize(); }"
WRITE = "MPI_File_{}(file, (MPI_Offset)({}), data, {}, MPI_BYTE, MPI_STATUS_IGNORE);"


def over_mpi(body: str) -> str:
    return f"{BEGIN}{body} {END}"


@dataclass(frozen=True)
class Run:
    """A run of a program in C over MPI."""

    source: str
    words: tuple[str, ...] = ()
    """Hints and their values."""
    ranks: int = 2
    cores: tuple[int, ...] = ()
    """On which each rank may run."""
    gathers: bool = False
    """One rank writes for all: also where that is no matter of hints."""
    before: tuple[str, ...] = ()
    """A command that starts mpiexec."""


MIB = 1 << 20
MANY_SMALL = over_mpi("for (int i = 0; i < 300; ++i) " + WRITE.format("write_at", "(i * size + rank) * 4096", 4096))
FEW_LARGE = over_mpi("for (int i = 0; i < 4; ++i) " + WRITE.format("write_at", f"(rank * 4 + i) * {MIB}", MIB))
TOGETHER = over_mpi("for (int i = 0; i < 4; ++i) " + WRITE.format("write_at_all", f"(i * size + rank) * {MIB}", MIB))
ENABLED = ("romio_cb_write", "enable")
TWO = (*ENABLED, "cb_config_list", "*:2", "cb_nodes", "2")
BARRIERS = over_mpi("for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);")
READ = "MPI_File_read_at(file, (MPI_Offset)({}), data, {}, MPI_BYTE, MPI_STATUS_IGNORE);"
SHARED = WRITE.format("write_at", f"rank * {MIB}", MIB) + " MPI_File_sync(file); MPI_Barrier(MPI_COMM_WORLD); {}"
RANKS = {
    "one rank does all": (
        Run(over_mpi(f"if (!rank) {WRITE.format('write_at', 0, MIB)}")),
        Run(over_mpi(WRITE.format("write_at", f"rank * {MIB}", MIB))),
    ),
    "same reads of all ranks": (
        Run(over_mpi(SHARED.format(READ.format(0, 2 * MIB)))),
        Run(over_mpi(SHARED.format(READ.format(f"rank * {MIB}", MIB)))),
    ),
    "straggler": (
        Run(
            over_mpi(
                f"for (int i = 0; i < (rank == 1 ? 8000 : 1); ++i) {WRITE.format('write_at', f'rank * {MIB}', MIB)}"
            ),
            ranks=3,
        ),
        Run(over_mpi(WRITE.format("write_at", f"rank * {MIB}", MIB)), ranks=3),
    ),
    "independent and interleaved": (Run(MANY_SMALL), Run(FEW_LARGE)),
    "collective and apart": (Run(TOGETHER, (*ENABLED, "cb_config_list", "*:1"), gathers=True), Run(TOGETHER)),
    "MPI-IO files opened again and again": (
        Run(
            over_mpi(
                "for (int i = 0; i < 60; ++i) { MPI_File own;"
                "MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_RDWR, info, &own); MPI_File_close(&own); }"
            )
        ),
        Run(FEW_LARGE),
    ),
    "shared file pointer": (
        Run(
            over_mpi(
                "for (int i = 0; i < 20; ++i) MPI_File_write_shared(file, data, 8192, MPI_BYTE, MPI_STATUS_IGNORE);"
            )
        ),
        Run(FEW_LARGE),
    ),
    "atomic mode": (
        Run(
            over_mpi(
                "MPI_File_set_atomicity(file, 1); for (int i = 0; i < 20; ++i) "
                + WRITE.format("write_at", "(rank * 20 + i) * 8192", 8192)
            )
        ),
        Run(
            over_mpi(
                "MPI_File_set_atomicity(file, 0); for (int i = 0; i < 20; ++i) "
                + WRITE.format("write_at", "(rank * 20 + i) * 8192", 8192)
            )
        ),
    ),
    "more ranks than cores": (Run(BARRIERS, before=("taskset", "-c", "0")), Run(BARRIERS)),
    "aggregators on too few cores": (
        Run(TOGETHER, TWO, cores=(0, 0)),
        Run(TOGETHER, TWO, cores=(0, 1)),
    ),
}

PARALLEL_HDF5 = r"""
#include <hdf5.h>
#include <mpi.h>
#include <stdlib.h>
int main(int count, char** words) {
    int rank; hsize_t size = 1 << 20, chunk = 1 << 16, half = size / 2, at;
    MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank); at = rank * half;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), create = H5Pcreate(H5P_DATASET_CREATE);
    hid_t how = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL); H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE);
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (atoi(words[2])) { H5Pset_chunk(create, 1, &chunk); H5Pset_deflate(create, 1); }
    hid_t space = H5Screate_simple(1, &size, NULL), mine = H5Screate_simple(1, &half, NULL);
    hid_t set = H5Dcreate(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, create, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &half, NULL);
    H5Dwrite(set, atoi(words[3]) ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, mine, space, how, calloc(half, 8));
    H5Dclose(set); H5Fclose(file); MPI_Finalize();
}
"""
# Words: whether it has filters, whether types are converted.
RANKS_OF_HDF5 = {
    "filters over ranks": (("1", "0"), ("0", "0")),
    "collective in vain": (("0", "1"), ("0", "0")),
}
