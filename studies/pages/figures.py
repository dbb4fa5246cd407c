"""The figures of the table, and what they should be."""

from harness.figures import Best, Figure
from pages.variants import BUDGETS_MIB, HDF5_PAGES_MIB

DEFAULT_MIB = 64
ROOT, H5PY = "ROOT: zstd-1", "h5py: bitshuffle + zstd-1, 1 MiB"


def ratio(name: str, target: str, key: str, ours: str, theirs: str) -> Figure:
    return Figure(name, target, lambda each: each[ours][key] / each[theirs][key], (ours, theirs))


def all_figures(_: Best) -> list[Figure]:
    figures = []
    for budget in BUDGETS_MIB:
        ours = f"thalweg: zstd-1, {budget} MiB"
        is_default = budget == DEFAULT_MIB
        name = f"{budget} MiB{', the default' if is_default else ''}"
        figures += [
            ratio(f"size of the RNTuple / ROOT's, {name}", "≤ 1.05" if is_default else "", "file_bytes", ours, ROOT),
            ratio(f"memory / ROOT's, {name}", "≤ 1" if is_default else "", "memory_bytes", ours, ROOT),
            ratio(f"CPU time / ROOT's, {name}", "", "cpu_s", ours, ROOT),
        ]
    figures.append(Figure("clusters in ROOT's file", "≥ 3", lambda each: each[ROOT]["clusters"], (ROOT,)))
    for pages in HDF5_PAGES_MIB:
        ours = f"thalweg: HDF5, pages of {pages} MiB"
        is_default = pages == HDF5_PAGES_MIB[-1]
        target = "≤ 1.15" if is_default else ""
        name = f"{pages} MiB{', the default' if is_default else ''}"
        figures.append(ratio(f"size of the HDF5 file / h5py's, pages of {name}", target, "file_bytes", ours, H5PY))
    return figures
