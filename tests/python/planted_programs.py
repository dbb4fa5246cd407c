"""Serial programs as users write them: some have one fault each, others have none.

They are in C, Fortran and Java, and in Python with h5py, netCDF4, PyTables and zarr.
"""

from dataclasses import dataclass

from rule_programs import H5PY, START, STREAM

BLOCKS = "data = os.urandom(1 << 20)\nfor i in range(24): os.pwrite(fd, data, i << 20)\nos.fsync(fd)\n"
MATRIX = (
    "data = np.random.default_rng(1).integers(0, 9, (512, 2048))\n"
    "h5py.File(path, 'w').create_dataset('x', data=data, chunks=(512, 256), compression='gzip', compression_opts=1)\n"
)
NETCDF = "import sys, netCDF4, numpy as np\npath = sys.argv[1]\nfile = netCDF4.Dataset(path, 'w')\n"
MAPS = (
    "for name, size in (('t', None), ('y', 180), ('x', 360)): file.createDimension(name, size)\n"
    "var = file.createVariable('v', 'f4', ('t', 'y', 'x'), zlib=True, complevel=1, chunksizes=(1, 180, 360))\n"
    "var[:200] = np.random.default_rng(1).random((200, 180, 360), 'f4').round(2)\nfile.close()\n"
    "var = netCDF4.Dataset(path)['v']\n"
)
TABLES = (
    "import sys, tables, numpy as np\npath = sys.argv[1]\n"
    "Hit = np.dtype([('time', 'f8'), ('energy', 'f4'), ('channel', 'i4')])\n"
    "file = tables.open_file(path, 'w'); hits = file.create_table('/', 'hits', Hit)\n"
)
ZARR = "import sys, zarr, numpy as np\npath = sys.argv[1]\n"
FORTRAN = "program p\nimplicit none\ncharacter(len=500) :: path\ninteger :: i, j\n{}\n{}\nend program\n"
ARGUMENT = "call get_command_argument(1, path)\n"
JAVA = (
    "import java.io.*; import java.nio.*; import java.nio.channels.*; import java.nio.file.*;\n"
    "class Program {{ public static void main(String[] words) throws Exception {{ String path = words[0];\n{}\n}} }}\n"
)


@dataclass(frozen=True)
class Program:
    source: str
    """The text of the program; its first argument is the path of a file."""
    rules: tuple[str, ...] = ()
    """The rules that name its fault; none if it has no fault."""
    language: str = "Python"


def python(source: str, *rules: str, start: str = START) -> Program:
    return Program(start + source, rules)


def h5py(source: str, *rules: str) -> Program:
    return python(source, *rules, start=H5PY)


def c(source: str, *rules: str) -> Program:
    return Program(STREAM.format(source), rules, "C")


def fortran(declared: str, source: str, *rules: str) -> Program:
    return Program(FORTRAN.format(declared, ARGUMENT + source), rules, "Fortran")


def java(source: str, *rules: str) -> Program:
    return Program(JAVA.format(source), rules, "Java")


PLANTED = {
    "O_SYNC": python(
        "own = os.open(path, os.O_RDWR | os.O_SYNC)\nfor i in range(300): os.pwrite(own, bytes(4096), i * 4096)",
        "written synchronously",
    ),
    "a sync after each event": python(
        "for i in range(300): os.pwrite(fd, bytes(8192), i * 8192); os.fsync(fd)", "sync storm"
    ),
    "small writes": python("for i in range(20_000): os.pwrite(fd, bytes(64), i * 64)", "small requests"),
    "a file read again and again": python(
        f"{BLOCKS}for _ in range(8): os.lseek(fd, 0, 0); [os.read(fd, 1 << 16) for _ in range(384)]",
        "redundant reads",
    ),
    "jumps of half a MiB": python(
        "os.ftruncate(fd, 1 << 32)\nfor i in range(8000): os.pread(fd, 4096, i << 19)", "random reads"
    ),
    "many tiny files": python("for i in range(3000): open(f'{path}.{i}', 'w').write('x' * 300)", "many small files"),
    "a search that fails": python(
        "for i in range(9000): os.path.exists(f'/nope/{i}/{path}')", "failed calls", "metadata storm"
    ),
    "letter by letter": c("for (int i = 0; i < 900000; ++i) fputc('x', file);", "single bytes"),
    "number by number": c("for (int i = 0; i < 900000; ++i) fwrite(&i, sizeof i, 1, file);", "single items"),
    "a flush after each line": c(
        'for (int i = 0; i < 20000; ++i) { fprintf(file, "%d\\n", i); fflush(file); }', "flushed again and again"
    ),
    "HDF5 opened for each event": h5py(
        f"{MATRIX}for i in range(150): h5py.File(path)['x'][i, :3]", "HDF5 files opened again and again"
    ),
    "a chunk cache that holds no chunk": h5py(
        f"{MATRIX}x = h5py.File(path, rdcc_nbytes=1 << 16)['x']\nfor i in range(40): x[i]", "chunk cache too small"
    ),
    "rows of HDF5 one by one": h5py(
        "x = h5py.File(path, 'w').create_dataset('x', (9000, 4), 'f4')\nfor i in range(9000): x[i] = 1",
        "small transfers",
    ),
    "a dataset looked up for each event": h5py(
        "file = h5py.File(path, 'w'); file['a/b/c/x'] = np.arange(5000)\nfor i in range(4000): file['a/b/c/x']",
        "objects opened again and again",
    ),
    "small chunks": h5py(
        "h5py.File(path, 'w').create_dataset('x', data=np.ones(2_000_000), chunks=(512,))", "chunks split requests"
    ),
    "chunks of 64 values": h5py(
        "h5py.File(path, 'w').create_dataset('x', data=np.ones(200_000), chunks=(64,))", "chunks split requests"
    ),
    "netCDF: a point of each map": python(
        f"{MAPS}[float(var[i, 90, 180]) for i in range(200)]", "chunks larger than requests", start=NETCDF
    ),
    "netCDF: number by number": python(
        "file.createDimension('t', None); var = file.createVariable('v', 'f8', ('t',))\n"
        "for i in range(4000): var[i] = i",
        "small transfers",
        start=NETCDF,
    ),
    "PyTables: a flush after each row": python(
        "row = hits.row\nfor i in range(3000): row['time'] = i; row.append(); hits.flush()",
        "HDF5 flushes",
        "small transfers",
        start=TABLES,
    ),
    "PyTables: row by row": python(
        "hits.append(np.zeros(100_000, Hit)); hits.flush()\nfor i in range(4000): hits.read(i, i + 1)",
        "small transfers",
        start=TABLES,
    ),
    "zarr: a file for each value": python(
        "x = zarr.create_array(path, shape=(3000,), chunks=(1,), dtype='f8'); x[:] = np.arange(3000.0)",
        "many small files",
        start=ZARR,
    ),
    "zarr: a chunk read for each value": python(
        "x = zarr.create_array(path, shape=(1 << 20,), chunks=(1 << 19,), dtype='f8')\n"
        "x[:] = np.random.default_rng(1).random(1 << 20)\nfor i in range(120): x[i]",
        "redundant reads",
        "opened again and again",
        start=ZARR,
    ),
    "Fortran: opened for each record": fortran(
        "",
        "do i = 1, 4000\nopen(9, file=path, position='append')\nwrite(9, *) i\nclose(9)\nend do",
        "opened again and again",
    ),
    "Fortran: a flush after each record": fortran(
        "",
        "open(9, file=path, access='stream', form='unformatted')\ndo i = 1, 20000\nwrite(9) i\nflush(9)\nend do",
        "small requests",
    ),
    "Fortran: rewound again and again": fortran(
        "real(8) :: x(100000)",
        "x = 1\nopen(9, file=path, form='unformatted')\ndo i = 1, 20\nwrite(9) x\nend do\ndo j = 1, 20\nrewind(9)\n"
        "do i = 1, 20\nread(9) x\nend do\nend do",
        "redundant reads",
    ),
    "Java: byte by byte": java(
        "try (var out = new FileOutputStream(path)) { for (int i = 0; i < 60000; ++i) out.write(i); }",
        "small requests",
    ),
    "Java: a sync after each record": java(
        "try (var out = FileChannel.open(Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {\n"
        "for (int i = 0; i < 300; ++i) { out.write(ByteBuffer.allocate(4096)); out.force(true); } }",
        "sync storm",
    ),
    "Java: records here and there": java(
        'try (var file = new RandomAccessFile(path, "rw")) { file.setLength(1L << 31); var some = new byte[512];\n'
        "for (int i = 0; i < 8000; ++i) { file.seek(i * 7919L % 4096 << 19); file.readFully(some); } }",
        "random reads",
    ),
}
HEALTHY = {
    "large blocks and a sync": python(BLOCKS),
    "read in order": python(f"{BLOCKS}os.lseek(fd, 0, 0)\nwhile os.read(fd, 1 << 17): pass"),
    "lines of text": c('for (int i = 0; i < 40000; ++i) fprintf(file, "%d\\n", i);'),
    "an array by fwrite": c("static int data[100000]; fwrite(data, sizeof *data, 100000, file);"),
    "a table of sqlite": python(
        "import sqlite3; base = sqlite3.connect(path + '.db'); base.execute('create table t (x)')\n"
        "base.executemany('insert into t values (?)', [(i,) for i in range(20_000)]); base.commit()"
    ),
    "an array of HDF5": h5py(f"{MATRIX}h5py.File(path)['x'][:].sum()"),
    "a gzip file": python("import gzip; gzip.open(path + '.gz', 'wb').write(b'x' * 900_000)"),
    "a text and a folder": python("open(path + '.txt', 'w').write('abc'); os.listdir('/'); os.stat(path)"),
    "HDF5 in pieces": h5py(
        "x = h5py.File(path, 'w').create_dataset('x', (64, 1 << 18), 'f4', chunks=(1, 1 << 18))\n"
        "for i in range(64): x[i] = np.float32(i)"
    ),
    "netCDF: map by map": python(f"{MAPS}[float(var[i].sum()) for i in range(200)]", start=NETCDF),
    "PyTables: blocks of rows": python(
        "for i in range(20): hits.append(np.zeros(50_000, Hit))\nhits.flush(); hits.read()['energy'].sum()",
        start=TABLES,
    ),
    "zarr: large chunks": python(
        "x = zarr.create_array(path, shape=(1 << 22,), chunks=(1 << 19,), dtype='f8'); x[:] = 1.5; x[:].sum()",
        start=ZARR,
    ),
    "Fortran: arrays": fortran(
        "real(8) :: x(500000)",
        "x = 1\nopen(9, file=path, form='unformatted')\ndo i = 1, 10\nwrite(9) x\nend do\nrewind(9)\n"
        "do i = 1, 10\nread(9) x\nend do",
    ),
    "Fortran: lines of text": fortran("", "open(9, file=path)\ndo i = 1, 40000\nwrite(9, *) i, i\nend do"),
    "Java: a buffered stream": java(
        "try (var out = new BufferedOutputStream(new FileOutputStream(path), 1 << 16)) {\n"
        "for (int i = 0; i < 4000000; ++i) out.write(i); }\n"
        "try (var in = new BufferedInputStream(new FileInputStream(path), 1 << 16)) { while (in.read() >= 0); }"
    ),
    "Java: a channel": java(
        "try (var out = FileChannel.open(Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {\n"
        "for (int i = 0; i < 40; ++i) out.write(ByteBuffer.allocate(1 << 20)); out.force(true); }"
    ),
}
