"""More real programs whose I/O is traced and counted by strace: other tools, languages and ways to start."""

from real_programs import Program, compiled, python, shell

PIECES = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
int main() {
    static char data[4][8192]; struct iovec pieces[4];
    for (int i = 0; i < 4; ++i) pieces[i] = (struct iovec){data[i], sizeof data[i]};
    char name[] = "piecesXXXXXX"; int ends[2], fd = mkstemp(name), unnamed = open(".", O_TMPFILE | O_RDWR, 0600);
    unlink(name);
    if (pipe(ends)) return 1;
    for (int i = 0; i < 200; ++i) {
        if (writev(fd, pieces, 4) < 0 || pwritev(unnamed, pieces, 4, 32768L * i) < 0) return 1;
        if (preadv(fd, pieces, 2, 0) < 0 || pread(unnamed, data[0], 100, i) < 0) return 1;
        if (write(ends[1], data, 3000) < 0 || read(ends[0], data, 65536) < 0) return 1;
    }
}
"""
FAILING = r"""
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
int main() {
    char data[100]; struct iovec piece = {data, 100}; int ends[2], folder = open(".", O_RDONLY);
    int reads = open("bytes", O_RDONLY); pipe(ends); fcntl(ends[0], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 500; ++i) {
        read(folder, data, 100); read(ends[0], data, 100); read(999, data, 100); write(reads, data, 100);
        pread(ends[0], data, 100, 0); pread(reads, data, 100, -5); pread(reads, data, 100, 1L << 40);
        readv(999, &piece, 1); pwritev(999, &piece, 1, 0); write(ends[1], data, 0); readv(ends[0], &piece, 1);
    }
}
"""
STREAMS = r"""
#include <fstream>
#include <string>
int main() {
    { std::ofstream out("numbers"); for (int i = 0; i < 300000; ++i) out << i << '\n'; }
    std::ifstream in("numbers"); std::string line; long sum = 0; while (std::getline(in, line)) sum += std::stol(line);
    return sum != 300000L * 299999 / 2;
}
"""
LARGE_BUFFERS = r"""
#include <stdio.h>
#include <stdlib.h>
int main() {
    static char data[4096]; FILE *in = fopen("bytes", "r"), *out = fopen("copied", "w");
    setvbuf(out, NULL, _IOFBF, 1 << 18);
    for (size_t got; (got = fread(data, 1, sizeof data, in)) > 0;) fwrite(data, 1, got, out);
    fclose(out);
}
"""
COPIES = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main() {
    int in = open("bytes", O_RDONLY), out = open("a", O_CREAT | O_RDWR, 0600);
    int other = open("b", O_CREAT | O_RDWR, 0600);
    int ends[2]; if (pipe(ends)) return 1;
    while (copy_file_range(in, NULL, out, NULL, 1 << 20, 0) > 0) continue;
    off_t at = 0; while (sendfile(other, in, &at, 1 << 20) > 0) continue;
    lseek(in, 0, SEEK_SET);
    for (long got; (got = splice(in, NULL, ends[1], NULL, 65536, 0)) > 0;) splice(ends[0], NULL, other, NULL, got, 0);
}
"""
VFORKS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main() {
    for (int i = 0; i < 100; ++i) {
        int mine = open("mine", O_CREAT | O_WRONLY | O_APPEND, 0600); pid_t child = vfork();
        if (!child) {
            dup2(open("theirs", O_CREAT | O_WRONLY | O_APPEND, 0600), 1);
            execlp("head", "head", "-c", "9999", "bytes", (char*)0);
            _exit(1);
        }
        waitpid(child, 0, 0); if (write(mine, "0123456789", 10) != 10) return 1; close(mine);
    }
}
"""
FORKS = r"""
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main() {
    for (int i = 0; i < 400; ++i) {
        char data[4096]; pid_t child = fork();
        if (!child) {
            int fd = open("bytes", O_RDONLY);
            for (int j = 0; j < 8; ++j) if (read(fd, data, 4096) < 0) _exit(1);
            _exit(close(fd));
        }
        waitpid(child, 0, 0);
    }
}
"""
THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static void* work(void* number) {
    char data[1000]; int fd = open("bytes", O_RDONLY);
    for (int i = 0; i < 2000; ++i) if (pread(fd, data, 1000, (long)number * 1000000 + i * 1000) < 0) return number;
    close(fd); return 0;
}
int main() {
    pthread_t threads[16];
    for (long i = 0; i < 16; ++i) pthread_create(&threads[i], 0, work, (void*)i);
    for (int i = 0; i < 16; ++i) pthread_join(threads[i], 0);
}
"""
FORTRAN = """program x
  integer :: i
  real(8) :: a(1000)
  a = 1.d0
  open(10, file="direct", form="unformatted", access="direct", recl=8000)
  do i = 1, 500
    write(10, rec=i) a
  end do
  do i = 1, 500
    read(10, rec=i) a
  end do
  close(10)
  open(11, file="formatted")
  do i = 1, 50000
    write(11, *) i, a(1)
  end do
  close(11)
end program
"""
RUST = """use std::io::{BufRead, BufReader, BufWriter, Write};
fn main() {
    let mut out = BufWriter::new(std::fs::File::create("lines").unwrap());
    for i in 0..300000 { writeln!(out, "{}", i).unwrap(); }
    out.flush().unwrap();
    let lines = BufReader::new(std::fs::File::open("lines").unwrap()).lines().count();
    assert_eq!(lines, 300000);
    std::fs::copy("bytes", "copied").unwrap();
}
"""
CHANNELS = """import java.io.*; import java.nio.*; import java.nio.channels.*; import java.nio.file.*;
public class Channels { public static void main(String[] words) throws Exception {
    try (FileChannel out = new RandomAccessFile("out", "rw").getChannel()) {
        ByteBuffer data = ByteBuffer.allocateDirect(65536);
        for (int i = 0; i < 200; ++i) { data.clear(); out.write(data, i * 65536L); }
        out.force(true);
    }
    try (FileChannel from = FileChannel.open(Path.of("out")); FileChannel to = FileChannel.open(Path.of("to"),
        StandardOpenOption.CREATE, StandardOpenOption.WRITE)) { from.transferTo(0, from.size(), to); }
} }
"""
NODE = (
    "const fs = require(`fs`); (async () => { const f = await fs.promises.open(`o`, `w`); "
    "for (let i = 0; i < 300; ++i) await f.write(Buffer.alloc(65536, i)); await f.sync(); await f.close(); "
    "fs.copyFileSync(`o`, `p`); for (let i = 0; i < 1000; ++i) fs.appendFileSync(`q`, `line ` + i + `\\n`); })()"
)
TCL = (
    "set in [open text]; set out [open copied w]; while {[gets $in line] >= 0} {puts $out $line}; close $out; "
    "exec cat copied > again"
)
MAKEFILE = (
    "all: $(patsubst tree/%%.c,%%.o,$(wildcard tree/file1*.c))\\n\\tar rc lib.a *.o\\n"
    "%%.o: tree/%%.c\\n\\tcc -w -c $<\\n"
)
SQL = (
    "pragma journal_mode=wal; create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c "
    "where x < 100000) insert into t select x, hex(randomblob(20)) from c; select count(*) from t; vacuum;"
)
POOL = """
import multiprocessing, sys
def work(i):
    with open(f"out{i}", "wb") as file: file.write(b"x" * 1000000)
    return len(open(f"out{i}", "rb").read())
with multiprocessing.get_context("fork").Pool(3) as pool: print(sum(pool.map(work, range(20))))
"""
PACKED = """
import bz2, gzip, lzma, os, pickle, shutil
data = os.urandom(2000000)
for module, name in ((gzip, "g"), (bz2, "b"), (lzma, "l")):
    with module.open(name, "wb") as file: file.write(data)
    assert module.open(name).read() == data
pickle.dump(list(range(300000)), open("p", "wb")); pickle.load(open("p", "rb")); shutil.copyfile("p", "q")
shutil.copytree("tree", "tree2"); shutil.make_archive("a", "zip", "tree"); shutil.unpack_archive("a.zip", "tree3")
"""
ZARR = """
import numpy as np, zarr
z = zarr.open("z.zarr", mode="w", shape=(1000, 1000), chunks=(100, 100), dtype="f8")
z[:] = np.arange(1e6).reshape(1000, 1000); print(zarr.open("z.zarr")[:].sum())
"""
TABLES = """
import numpy as np, tables
file = tables.open_file("t.h5", "w"); filters = tables.Filters(5, "blosc")
rows = file.create_earray("/", "x", tables.Float64Atom(), (0, 1000), filters=filters)
for i in range(20): rows.append(np.random.default_rng(1).normal(size=(100, 1000)))
file.close(); print(tables.open_file("t.h5").root.x[:].sum())
"""
DASK = """
import dask.array as da, h5py, numpy as np
with h5py.File("d.h5", "w") as file: file["v"] = np.arange(1e6)
print(da.from_array(h5py.File("d.h5")["v"], chunks=100000).sum().compute(scheduler="threads"))
"""
DUCKDB = """
import duckdb
c = duckdb.connect("d.db"); c.execute("create table t as select range a, random() b from range(1000000)")
c.execute("checkpoint"); c.execute("copy t to 'x.parquet'"); print(c.execute("select count(*) from t").fetchall())
"""
POLARS = """
import polars as pl
pl.DataFrame({"a": range(1000000)}).write_parquet("p.parquet"); print(pl.scan_parquet("p.parquet").sum().collect())
pl.DataFrame({"a": range(300000)}).write_csv("c.csv"); print(pl.read_csv("c.csv").shape)
"""
ASYNC = """
import asyncio
async def main():
    loop = asyncio.get_running_loop()
    for i in range(50): await loop.run_in_executor(None, lambda: open(f"o{i}", "wb").write(b"z" * 100000))
asyncio.run(main())
"""
CHILDREN = """
import subprocess
for i in range(40):
    with open(f"out{i}", "wb") as out: subprocess.run(["head", "-c", "200000", "bytes"], stdout=out, check=True)
"""
MPI4PY = """
from mpi4py import MPI; import numpy as np
file = MPI.File.Open(MPI.COMM_WORLD, "ranks", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(MPI.COMM_WORLD.rank << 20, np.zeros(1 << 20, "u1")); file.Close()
"""


def in_c(name: str, source: str, *flags: str) -> Program:
    make = compiled("program", source, "gcc", "-w", *flags, "-o", "@", "c")
    return Program(f"C, {name}", shell("./program"), ("gcc",), make)


MORE = [
    in_c("pieces and unnamed files", PIECES),
    in_c("calls that fail", FAILING),
    in_c("streams with large buffers", LARGE_BUFFERS),
    in_c("copies by the kernel", COPIES),
    in_c("children of vfork", VFORKS),
    in_c("children of fork", FORKS),
    in_c("16 threads", THREADS, "-pthread"),
    Program("C++, streams", shell("./streams"), ("g++",), compiled("streams", STREAMS, "g++", "-O1", "-o", "@", "cc")),
    Program("Fortran", shell("./program"), ("gfortran",), compiled("program", FORTRAN, "gfortran", "-o", "@", "f90")),
    Program("Rust, lines", shell("./lines_of"), ("rustc",), compiled("lines_of", RUST, "rustc", "-O", "-o", "@", "rs")),
    Program(
        "Java, channels",
        shell("java -XX:TieredStopAtLevel=1 -cp . Channels"),
        ("java", "javac"),
        compiled("Channels", CHANNELS, "javac", "java"),
    ),
    Program("Node.js, promises", shell(f"node -e '{NODE}'"), ("node",)),
    Program("Tcl", shell(f"echo '{TCL}' > c.tcl && tclsh c.tcl"), ("tclsh",)),
    Program("jq", shell("seq 1 100000 | jq -c '{a: .}' > j.json && jq -s length j.json"), ("jq",)),
    Program("socat", shell("socat -u OPEN:bytes CREATE:copied"), ("socat",)),
    Program("tee", shell("tee a b < bytes > c")),
    Program("lz4", shell("lz4 -q bytes b.lz4 && lz4 -q -d b.lz4 again && cmp bytes again"), ("lz4",)),
    Program("split and cat", shell("split -b 1M bytes part. && cat part.* > joined && cmp joined bytes")),
    Program("head, tail, cut and uniq", shell("head -c 9000000 text | tail -n +100 | cut -c 1-3 | uniq -c > counts")),
    Program("comm, join and paste", shell("sort text > s; comm -12 s s > c; join s s > j; paste s s | wc -c")),
    Program(
        "diff and patch",
        shell("cd tree; sed s/return/back/ file1.c > new; diff -u file1.c new > d; patch -s file1.c d"),
    ),
    Program(
        "base64, od and xxd",
        shell("base64 bytes > b && base64 -d b | cmp - bytes && od -x text | tail -1 && xxd text | wc"),
        ("xxd",),
    ),
    Program(
        "dd with holes",
        shell("dd if=/dev/zero of=o bs=64k count=100 conv=sparse,fsync status=none; cp --sparse=always o p"),
    ),
    Program("iconv", shell("iconv -f UTF-8 -t UTF-16 text > wide"), ("iconv",)),
    Program("bc and m4", shell("echo 'for (i = 0; i < 20000; ++i) i' | bc > n && m4 tree/file1.c > m"), ("bc", "m4")),
    Program("convert", shell("convert -size 600x600 gradient:red-blue a.png && convert a.png b.jpg"), ("convert",)),
    Program("make, cc and ar", shell(f"printf '{MAKEFILE}' > Makefile && make -s -j2"), ("make", "ar")),
    Program(
        "g++ and strip",
        shell("cp streams.cc a.cc && g++ -O1 -o a a.cc && strip a && ./a"),
        ("g++", "strip"),
        compiled("streams", STREAMS, "g++", "-o", "@", "cc"),
    ),
    Program("vim", shell("vim -es -u NONE -c '%s/1/2/g' -c 'w changed' -c 'q!' rows.csv"), ("vim",)),
    Program("groff", shell("man -P cat ls > page; groff -man -Tascii /dev/null > other; true"), ("groff", "man")),
    Program("sqlite3, WAL", shell(f"sqlite3 w.db '{SQL}'"), ("sqlite3",)),
    Program(
        "300 children of a shell",
        shell("for i in $(seq 300); do (read x < text); done; for i in $(seq 50); do head -c 100 text; done"),
    ),
    Program("Python, pool of processes", python(POOL)),
    Program("Python, compressed files", python(PACKED)),
    Program("Python, asyncio", python(ASYNC)),
    Program("Python, subprocesses", python(CHILDREN)),
    Program("zarr", python(ZARR), ("module:zarr",)),
    Program("PyTables", python(TABLES), ("module:tables",)),
    Program("dask and h5py", python(DASK), ("module:dask",)),
    Program("DuckDB", python(DUCKDB), ("module:duckdb",)),
    Program("polars", python(POLARS), ("module:polars",)),
    Program("mpi4py", python(MPI4PY), ("module:mpi4py",)),
]
