"""Real programs of all kinds, whose I/O is traced and also counted by strace; `share_seen.py` runs them."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20


@dataclass(frozen=True)
class Program:
    name: str
    words: Callable[[Path], list[str]]
    """The command, in a folder with the files of `prepare`."""
    needs: tuple[str, ...] = ()
    """Commands without which it cannot be run, and modules of Python, as `module:NAME`."""
    make: Callable[[Path], None] = lambda _: None
    """Makes what has to be there before, besides those files."""
    unseen: tuple[str, ...] = ()
    """Words of the report's lines that have to name what it cannot see."""
    sees_all: bool = True
    """95 % of its bytes have to be in the trace; else only what is said of them has to be right."""

    def why_not(self) -> str:
        """Why it cannot be run here; empty where it can."""
        for each in self.needs:
            module = each.removeprefix("module:")
            if module != each:
                done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
                if done.returncode:
                    return f"there is no module {module}"
            elif shutil.which(each) is None:
                return f"there is no {each}"
        return ""


def prepare(folder: Path) -> None:
    """20 MiB of text, 32 MiB of bytes, a tree of small files, and files of HDF5 and CSV."""
    import h5py
    import numpy as np

    generator = np.random.default_rng(1)
    numbers = generator.integers(0, 1 << 40, 1_400_000)
    (folder / "text").write_text("\n".join(map(str, numbers))[: 20 * MIB])
    (folder / "bytes").write_bytes(generator.bytes(32 * MIB))
    (folder / "tree").mkdir()
    for i in range(200):
        (folder / "tree" / f"file{i}.c").write_text(
            f"int f{i}(int x);\n" * 300 + f"int f{i}(int x) {{ return x * {i}; }}\n"
        )
    (folder / "rows.csv").write_text("a,b\n" + "".join(f"{i},{i * 0.5}\n" for i in range(300_000)))
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("x", data=generator.normal(size=(1000, 1000)), chunks=(100, 1000), compression=1)


def shell(text: str) -> Callable[[Path], list[str]]:
    return lambda folder: ["sh", "-c", f"cd '{folder}' && {text}"]


def python(text: str) -> Callable[[Path], list[str]]:
    return lambda folder: [sys.executable, "-c", f"import os; os.chdir({str(folder)!r})\n{text}"]


def compiled(name: str, source: str, *command: str) -> Callable[[Path], None]:
    """Makes `folder/name` of the source, by the command that ends with the source's file."""

    def make(folder: Path) -> None:
        file = folder / f"{name}.{command[-1]}"
        file.write_text(source)
        words = [word.replace("@", str(folder / name)) for word in command[:-1]]
        subprocess.run([*words, file], check=True, capture_output=True, cwd=folder)

    return make


PYTHONS = {
    "pandas reads and writes CSV": ("pandas", "import pandas as pd\npd.read_csv('rows.csv').to_csv('out.csv')"),
    "h5py with chunks": (
        "h5py",
        (
            "import h5py\nx = h5py.File('x.h5')['x'][:]\n"
            "with h5py.File('y.h5', 'w') as f: f.create_dataset('x', data=x, chunks=(10, 1000))"
        ),
    ),
    "netCDF4": (
        "netCDF4",
        (
            "import netCDF4, numpy\nwith netCDF4.Dataset('x.nc', 'w') as f:\n f.createDimension('n', 1000000)\n"
            " f.createVariable('v', 'f8', ('n',))[:] = numpy.arange(1000000.)\n"
            "print(netCDF4.Dataset('x.nc')['v'][:].sum())"
        ),
    ),
    "pyarrow writes and reads Parquet": (
        "pyarrow.parquet",
        (
            "import pyarrow as pa, pyarrow.parquet as pq\n"
            "pq.write_table(pa.table({'x': list(range(1000000))}), 'x.parquet')\n"
            "print(pq.read_table('x.parquet').num_rows)"
        ),
    ),
    "uproot writes and reads": (
        "uproot",
        (
            "import uproot, numpy\nwith uproot.recreate('x.root') as f: f['t'] = {'x': numpy.arange(2000000.)}\n"
            "print(uproot.open('x.root')['t']['x'].array().to_numpy().sum())"
        ),
    ),
    "numpy saves, loads and maps": (
        "numpy",
        (
            "import numpy as np\nnp.save('x.npy', np.arange(4000000))\nprint(np.load('x.npy').sum())\n"
            "print(np.load('x.npy', mmap_mode='r')[-1])"
        ),
    ),
    "sqlite3 of Python": (
        "sqlite3",
        (
            "import sqlite3\nc = sqlite3.connect('p.db')\nc.execute('create table t(a, b)')\n"
            "c.executemany('insert into t values (?, ?)', ((i, str(i)) for i in range(300000)))\nc.commit()\n"
            "print(c.execute('select sum(a) from t').fetchone())"
        ),
    ),
    "Thalweg records": (
        "thalweg",
        (
            "import numpy as np, thalweg as tw\nx = np.random.default_rng(1).normal(size=1000000)\n"
            "with tw.create('own.root', {'t': {'x': tw.float64}}, tuning={'engine': 'threads'}) as out:\n"
            " out.producer('t').append(x=x)"
        ),
    ),
}

MPI_SOURCE = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int count, char** words) {
    int rank; MPI_File file; int const size = 4 << 20; char* data = calloc(1, size);
    MPI_Init(&count, &words); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, "ranks", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < 4; ++i)
        MPI_File_write_at_all(file, (MPI_Offset)(i * 2 + rank) * size, data, size, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file); MPI_Finalize();
}
"""
GO_SOURCE = """package main

import (
    "io"
    "os"
)

import "C"

func main() {
    in, _ := os.Open("bytes")
    out, _ := os.Create("bytes.go")
    io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{in})
    out.Close()
}
"""
RUST_SOURCE = 'fn main() { let data = std::fs::read("bytes").unwrap(); std::fs::write("bytes.rs", data).unwrap(); }\n'
STATIC_SOURCE = r"""
#include <stdio.h>
int main() {
    FILE* file = fopen("s.out", "w");
    for (int i = 0; i < 100000; ++i) fputs("0123456789", file);
    fclose(file);
}
"""
JAVA_SOURCE = """import java.nio.file.*;
public class Copy { public static void main(String[] w) throws Exception { Files.write(Path.of("bytes.java"),
    Files.readAllBytes(Path.of("bytes"))); } }
"""
CMAKE_TEXT = "cmake_minimum_required(VERSION 3.20)\\nproject(x C)\\nfile(GLOB s tree/file1*.c)\\nadd_library(x ${s})\\n"
OPEN_MPI = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpiexec.openmpi --oversubscribe -n 2 ./open"
FIO = "fio --name=x --filename=fio.data --size=16m --bs=64k --rw=write --minimal --thread --ioengine"


def mpi(name: str, compiler: str) -> Callable[[Path], None]:
    return compiled(name, MPI_SOURCE, compiler, "-o", "@", "c")


PROGRAMS = [
    Program("cp -r", shell("cp -r tree bytes copied 2>/dev/null || { mkdir copied; cp -r tree bytes copied; }")),
    Program("dd", shell("dd if=bytes of=dd.out bs=4k 2>/dev/null")),
    Program("dd, O_DIRECT and O_SYNC", shell("dd if=bytes of=dd.out bs=1M iflag=direct oflag=direct,sync 2>/dev/null")),
    Program("cat through pipes", shell("cat bytes text | cat | wc -c")),
    Program("tar", shell("tar cf t.tar tree bytes && mkdir untarred && tar xf t.tar -C untarred")),
    Program("tar with gzip", shell("tar czf t.tgz tree text")),
    Program("gzip and gunzip", shell("gzip -1k text && gunzip -c text.gz > text2")),
    Program("bzip2", shell("bzip2 -1k text"), ("bzip2",)),
    Program("xz, threads", shell("xz -0 -T2 -k text"), ("xz",)),
    Program("zstd, threads", shell("zstd -q -T2 -k bytes"), ("zstd",)),
    Program("zip and unzip", shell("zip -q -r z.zip tree text && unzip -q z.zip -d unzipped"), ("zip", "unzip")),
    Program("sort, from files beside", shell("sort -S 4M -T . -o sorted text")),
    Program("grep and sed", shell("grep -r return tree | sed s/x/y/ > found")),
    Program("awk", shell("awk -F, '{ s += $1; print s }' rows.csv > sums")),
    Program("find and sha256sum", shell("find tree -type f | xargs sha256sum > sums")),
    Program("openssl", shell("openssl enc -aes-128-ctr -K 00 -iv 00 -in bytes -out bytes.enc"), ("openssl",)),
    Program("curl", shell("curl -s -o fetched file://$PWD/bytes"), ("curl",)),
    Program(
        "git",
        shell(
            "cd tree && git init -q . && git add . && git -c user.name=x -c user.email=x@x commit -qm x && git gc -q"
        ),
        ("git",),
    ),
    Program("sqlite3", shell("(echo 'create table t(a);'; echo '.import rows.csv t') | sqlite3 s.db"), ("sqlite3",)),
    Program("gcc", shell("cat tree/file1*.c > all.c && gcc -O1 -w -c -o all.o all.c"), ("gcc",)),
    Program(
        "cmake and ninja",
        shell(
            f"printf '{CMAKE_TEXT}' > CMakeLists.txt && cmake -G Ninja -B out . > /dev/null && ninja -C out > /dev/null"
        ),
        ("cmake", "ninja"),
    ),
    Program("perl", shell('perl -e \'open I, "text"; open O, ">out.pl"; while (<I>) { print O $_ }\''), ("perl",)),
    Program(
        "h5repack and h5dump",
        shell("h5repack -f GZIP=2 x.h5 z.h5 && h5dump -d x z.h5 > dumped"),
        ("h5repack", "h5dump"),
    ),
    *(Program(name, python(text), (f"module:{module}",)) for name, (module, text) in PYTHONS.items()),
    Program("Rust", shell("./copy"), ("rustc",), compiled("copy", RUST_SOURCE, "rustc", "-O", "-o", "@", "rs")),
    Program(
        "Java",
        shell("java -XX:TieredStopAtLevel=1 -cp . Copy"),
        ("java", "javac"),
        compiled("Copy", JAVA_SOURCE, "javac", "java"),
    ),
    Program(
        "Node.js",
        shell(
            'node -e \'const fs = require("fs"); fs.createReadStream("bytes").pipe(fs.createWriteStream("bytes.js"))\''
        ),
        ("node",),
    ),
    Program(
        "ranks of MPICH",
        shell("mpiexec.hydra -n 2 ./mpich"),
        ("mpicc.mpich", "mpiexec.hydra"),
        mpi("mpich", "mpicc.mpich"),
    ),
    Program("ranks of Open MPI", shell(OPEN_MPI), ("mpicc.openmpi", "mpiexec.openmpi"), mpi("open", "mpicc.openmpi")),
    Program("fio, psync", shell(f"{FIO}=psync > /dev/null"), ("fio",)),
    Program("fio, POSIX aio", shell(f"{FIO}=posixaio --iodepth=8 > /dev/null"), ("fio",)),
    Program(
        "fio, libaio",
        shell(f"{FIO}=libaio --direct=1 --iodepth=8 > /dev/null"),
        ("fio",),
        unseen=("libaio",),
        sees_all=False,
    ),
    Program(
        "fio, io_uring",
        shell(f"{FIO}=io_uring --iodepth=8 > /dev/null"),
        ("fio",),
        unseen=("io_uring",),
        sees_all=False,
    ),
    Program(
        "fio, mmap", shell(f"{FIO}=mmap > /dev/null"), ("fio",), unseen=("shared memory mappings",), sees_all=False
    ),
    Program(
        "Go, dynamic",
        shell("./gocopy"),
        ("go", "gcc"),
        compiled("gocopy", GO_SOURCE, "go", "build", "-o", "@", "go"),
        unseen=("bypass the C library",),
        sees_all=False,
    ),
    Program(
        "a static program below a shell",
        shell("./static"),
        ("gcc",),
        compiled(
            "static",
            STATIC_SOURCE,
            "gcc",
            "-static",
            "-o",
            "@",
            "c",
        ),
        unseen=("linked statically",),
        sees_all=False,
    ),
]
