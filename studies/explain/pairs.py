"""Programs with one fault each, and the same programs without it: what a finding says that can be gained is measured.

`{0}` in a text is where the two differ. Each program gets the path of a file as its argument and makes the same data.
"""

from dataclasses import dataclass

OS = "import os, sys\npath = sys.argv[1]\nfd = os.open(path, os.O_RDWR | os.O_CREAT)\n{0}"
H5PY = "import sys, h5py, numpy as np\npath = sys.argv[1]\n"
C = (
    "#include <stdio.h>\n#include <unistd.h>\n"
    'int main(int count, char** words) {{ FILE* file = fopen(words[1], "w+");\n{0}\n}}'
)
MPI = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int count, char** words) {{
    int rank, size; MPI_File file; char* data = calloc(8, 1 << 23);
    MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    {0}
    MPI_File_close(&file); MPI_Finalize();
}}
"""
JAVA = (
    "import java.io.*;\nclass Program {{ public static void main(String[] words) throws Exception {{\n"
    "try (var out = {0}) {{ for (int i = 0; i < 400000; ++i) out.write(i); }} }} }}\n"
)
MATRIX = (
    "data = np.random.default_rng(1).integers(0, 9, (512, 2048))\n"
    "h5py.File(path, 'w').create_dataset('x', data=data, chunks=(512, 256), compression='gzip', compression_opts=1)\n"
)


@dataclass(frozen=True)
class Pair:
    name: str
    rules: tuple[str, ...]
    """The rules that name the fault."""
    text: str
    wrong: str
    right: str
    language: str = "Python"
    ranks: int = 1

    def source(self, is_wrong: bool) -> str:
        return self.text.replace("{0}", self.wrong if is_wrong else self.right).replace("{{", "{").replace("}}", "}")


PAIRS = (
    Pair(
        "small writes",
        ("small requests",),
        C,
        "for (long i = 0; i < 1000000; ++i) if (pwrite(fileno(file), &i, 8, 8 * i) != 8) return 1;",
        "for (long i = 0; i < 1000000; ++i) if (fwrite(&i, 8, 1, file) != 1) return 1;",
        "C",
    ),
    Pair(
        "a sync after each event",
        ("sync storm",),
        OS,
        "for i in range(400): os.pwrite(fd, bytes(8192), i * 8192); os.fsync(fd)",
        "for i in range(400): os.pwrite(fd, bytes(8192), i * 8192)\nos.fsync(fd)",
    ),
    Pair(
        "O_SYNC",
        ("written synchronously",),
        OS,
        "fd = os.open(path, os.O_RDWR | os.O_SYNC)\nfor i in range(400): os.pwrite(fd, bytes(4096), i * 4096)",
        "for i in range(400): os.pwrite(fd, bytes(4096), i * 4096)\nos.fsync(fd)",
    ),
    Pair(
        "a file read again and again",
        ("redundant reads",),
        OS[:-3] + "for i in range(64): os.pwrite(fd, bytes(1 << 20), i << 20)\n{0}",
        "for _ in range(80):\n    for i in range(1024): os.pread(fd, 1 << 16, i << 16)",
        "kept = [os.pread(fd, 1 << 16, i << 16) for i in range(1024)]",
    ),
    Pair(
        "many tiny files",
        ("many small files",),
        OS,
        "for i in range(1500): open(f'{path}.{i}', 'w').write('x' * 300)",
        "with open(f'{path}.one', 'w') as file:\n    for i in range(1500): file.write('x' * 300)",
    ),
    Pair(
        "a flush after each line",
        ("flushed again and again",),
        C,
        'for (int i = 0; i < 400000; ++i) { fprintf(file, "%d\\n", i); fflush(file); }',
        'for (int i = 0; i < 400000; ++i) { fprintf(file, "%d\\n", i); }',
        "C",
    ),
    Pair(
        "letter by letter",
        ("single bytes",),
        C,
        "for (int i = 0; i < 20000000; ++i) fputc('x', file);",
        "static char all[20000000]; for (int i = 0; i < 20000000; ++i) all[i] = 'x'; fwrite(all, 1, sizeof all, file);",
        "C",
    ),
    Pair(
        "number by number",
        ("single items",),
        C,
        "for (int i = 0; i < 5000000; ++i) fwrite(&i, sizeof i, 1, file);",
        "static int all[5000000]; for (int i = 0; i < 5000000; ++i) all[i] = i; fwrite(all, sizeof all, 1, file);",
        "C",
    ),
    Pair(
        "HDF5 opened for each event",
        ("HDF5 files opened again and again",),
        f"{H5PY}h5py.File(path, 'w')['x'] = np.arange(5000)\n{{0}}",
        "for i in range(1000): h5py.File(path)['x'][i]",
        "x = h5py.File(path)['x']\nfor i in range(1000): x[i]",
    ),
    Pair(
        "a chunk cache that holds no chunk",
        ("chunk cache too small",),
        f"{H5PY}{MATRIX}{{0}}\nfor i in range(120): x[i]",
        "x = h5py.File(path, rdcc_nbytes=1 << 16)['x']",
        "x = h5py.File(path, rdcc_nbytes=1 << 26)['x']",
    ),
    Pair(
        "rows of HDF5 one by one",
        ("small transfers",),
        f"{H5PY}x = h5py.File(path, 'w').create_dataset('x', (30_000, 4), 'f4')\n{{0}}",
        "for i in range(30_000): x[i] = 1",
        "x[:] = 1",
    ),
    Pair(
        "a dataset looked up for each event",
        ("objects opened again and again",),
        f"{H5PY}file = h5py.File(path, 'w'); file['a/b/c/x'] = np.arange(5000); x = file['a/b/c/x']\n{{0}}",
        "for i in range(5000): file['a/b/c/x'][i]",
        "for i in range(5000): x[i]",
    ),
    Pair(
        "small chunks",
        ("chunks split requests",),
        f"{H5PY}h5py.File(path, 'w').create_dataset('x', data=np.ones(20_000_000), chunks=({{0}},))",
        "512",
        "131072",
    ),
    Pair(
        "Java: byte by byte",
        ("small requests",),
        JAVA,
        "new FileOutputStream(words[0])",
        "new BufferedOutputStream(new FileOutputStream(words[0]))",
        "Java",
    ),
    Pair(
        "one rank writes for all",
        ("one rank does all",),
        MPI,
        "char* all = calloc(2, 1 << 26);"
        "MPI_Gather(data, 1 << 26, MPI_BYTE, all, 1 << 26, MPI_BYTE, 0, MPI_COMM_WORLD);"
        "if (!rank) for (int i = 0; i < 10; ++i)"
        "MPI_File_write_at(file, 0, all, size << 26, MPI_BYTE, MPI_STATUS_IGNORE);",
        "for (int i = 0; i < 10; ++i)"
        "MPI_File_write_at(file, (long)rank << 26, data, 1 << 26, MPI_BYTE, MPI_STATUS_IGNORE);",
        "MPI",
        2,
    ),
    Pair(
        "small independent pieces",
        ("independent and interleaved",),
        MPI,
        "for (int i = 0; i < 100000; ++i)"
        "MPI_File_write_at(file, 512l * (i * size + rank), data, 512, MPI_BYTE, MPI_STATUS_IGNORE);",
        "MPI_Datatype some; MPI_Type_vector(100000, 512, 512 * size, MPI_BYTE, &some); MPI_Type_commit(&some);"
        'MPI_File_set_view(file, 512 * rank, MPI_BYTE, some, "native", MPI_INFO_NULL);'
        "MPI_File_write_all(file, data, 100000 * 512, MPI_BYTE, MPI_STATUS_IGNORE);",
        "MPI",
        2,
    ),
)
