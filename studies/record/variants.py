"""All that is measured, one function each. Every one that writes a file ends when the file is durable."""

import json
from collections.abc import Callable

from harness.programs import Measurement, call, fio
from record.programs import Programs

Variant = Callable[[Programs], Measurement]

PAGE_BYTES = 48 * 10_496 * 2  # what Thalweg writes at once when it does not compress: 246 blocks of 4 KiB
EXTENT_BYTES = 2 << 20  # when it does
PAPER_ITEMS = 100_000_000  # k = 10^8 of uint16, for each writer
WRITERS = 2
BATCH_ROWS = 2000  # 42 MB, of which whole pages are encoded where they lie


def thalweg(**options: object) -> Variant:
    def run(programs: Programs) -> Measurement:
        return programs.study("write", **{"path": programs.target, "bytes": programs.total_bytes, **options})

    return run


def split_ranks(datasets: Callable[[Programs], int]) -> Variant:
    def run(programs: Programs) -> Measurement:
        programs.require("parallel HDF5")
        command = ["mpiexec.mpich", "-n", str(WRITERS), str(programs.split_ranks), str(programs.target)]
        return dict(json.loads(call([*command, str(PAPER_ITEMS), str(datasets(programs))])))

    return run


def h5py_write(filter_name: str, small: bool = False, native: bool = False) -> Variant:
    def run(programs: Programs) -> Measurement:
        size = programs.small_bytes if small else programs.total_bytes
        return programs.h5py("h5py_write.py", programs.target, programs.pulses, size, filter_name, native=native)

    return run


def h5py_direct_chunks(programs: Programs) -> Measurement:
    return programs.h5py("h5py_direct_chunks.py", programs.target, programs.pulses, programs.total_bytes, WRITERS)


def tensorstore_write(programs: Programs) -> Measurement:
    programs.require("TensorStore")
    return programs.opponent("tensorstore_write.py", programs.target, programs.pulses, programs.total_bytes, WRITERS)


def adios2_write(programs: Programs) -> Measurement:
    programs.require("ADIOS2")
    return programs.opponent("adios2_write.py", programs.target, programs.pulses, programs.total_bytes)


def h5py_read(native: bool) -> Variant:
    return lambda programs: programs.h5py("h5py_read.py", programs.recorded, "ch0/waveform/values", 3, native=native)


def in_memory(programs: Programs) -> int:
    """For what has no disk to wait for, and so no beginning or end that would have to be made small."""
    return min(programs.total_bytes, 4 << 30)


def stock_bitshuffle(native: bool) -> Variant:
    return lambda programs: programs.h5py(
        "stock_bitshuffle.py", programs.pulses, in_memory(programs), WRITERS, native=native
    )


def paper_steps(programs: Programs) -> int:
    return max(1, programs.total_bytes // (WRITERS * PAPER_ITEMS * 2))


PAPER_BYTES = WRITERS * PAPER_ITEMS * 2

VARIANTS: dict[str, Variant] = {
    "fio: two jobs, 984 KiB": fio(2, PAGE_BYTES),
    "thalweg: none, processes": thalweg(codec="none", **{"as": "processes"}),
    "fio: one job, 984 KiB": fio(1, PAGE_BYTES),
    "thalweg: none, threads": thalweg(codec="none"),
    "fio: two jobs, 2 MiB": fio(2, EXTENT_BYTES),
    "thalweg: default, processes": thalweg(**{"as": "processes"}),
    "fio: one job, 2 MiB": fio(1, EXTENT_BYTES),
    "thalweg: default, threads": thalweg(),
    "fio, huge pages: one job, 984 KiB": fio(1, PAGE_BYTES, huge_pages=True),
    "thalweg: default, batches": thalweg(batch_rows=BATCH_ROWS, **{"as": "processes"}),
    "fio, huge pages: one job, 2 MiB": fio(1, EXTENT_BYTES, huge_pages=True),
    "parallel HDF5: many steps": split_ranks(paper_steps),
    "parallel HDF5: one step": split_ranks(lambda _: 1),
    "thalweg: none, one step": thalweg(codec="none", bytes=PAPER_BYTES, **{"as": "processes"}),
    "thalweg: default, one step": thalweg(bytes=PAPER_BYTES, **{"as": "processes"}),
    "h5py: bitshuffle + lz4": h5py_write("bitshuffle+lz4"),
    "h5py: bitshuffle + lz4, native": h5py_write("bitshuffle+lz4", native=True),
    "h5py: direct chunks, two threads": h5py_direct_chunks,
    "h5py: shuffle + gzip-1": h5py_write("shuffle+gzip-1", small=True),
    "TensorStore: Zarr 3, shards": tensorstore_write,
    "ADIOS2: none": adios2_write,
    "codec: ours": lambda programs: programs.study("encode", threads=WRITERS, bytes=in_memory(programs)),
    "codec: stock": stock_bitshuffle(native=False),
    "codec: stock, native": stock_bitshuffle(native=True),
    "memory: one producer": thalweg(path="memory", producers=1),
    "memory: two producers": thalweg(path="memory", producers=2),
    "source alone": lambda programs: programs.study("source", bytes=in_memory(programs)),
    "many pages": lambda programs: programs.study("pages", path=programs.target, pages=programs.page_count),
    "producer: waveform": lambda programs: programs.study("memory", path=programs.target),
    "producer: 1000 columns": lambda programs: programs.study("memory", path=programs.target, columns=1000),
    "read: ours": lambda programs: programs.study("read", path=programs.recorded, threads=WRITERS),
    "read: h5py": h5py_read(native=False),
    "read: h5py, native": h5py_read(native=True),
}
