"""All that is measured, one function each."""

from collections.abc import Callable

from harness.programs import Measurement
from pages.programs import MIB, Programs

Variant = Callable[[Programs], Measurement]

BUDGETS_MIB = (16, 32, 64, 96, 128)
HDF5_PAGES_MIB = (4, 16, 32)  # one page of every column, together
CHUNK_BYTES = 1 << 20


def rntuple(budget_mib: int) -> Variant:
    return lambda programs: programs.write(".root", codec="zstd-1", memory_bytes=budget_mib * MIB)


def hdf5(pages_mib: int) -> Variant:
    return lambda programs: programs.write(
        ".h5", codec="bitshuffle+zstd-1", table_page_bytes=pages_mib * MIB, whole_file_checksum=0
    )


VARIANTS: dict[str, Variant] = {
    "ROOT: zstd-1": lambda programs: programs.root(),
    **{f"thalweg: zstd-1, {budget} MiB": rntuple(budget) for budget in BUDGETS_MIB},
    "h5py: bitshuffle + zstd-1, 1 MiB": lambda programs: programs.h5py(CHUNK_BYTES),
    **{f"thalweg: HDF5, pages of {pages} MiB": hdf5(pages) for pages in HDF5_PAGES_MIB},
}
