from harness.study import Study
from rntuple.figures import all_figures
from rntuple.programs import Programs
from rntuple.variants import VARIANTS

CODECS = ("none", "lz4", "zstd-1", "zstd-5")
THREADS = ("1 thread", "2 threads", "4 threads")
OPPONENTS = (
    "fio:",
    "uproot: zstd-1",
    "uproot: zstd-5",
    *(f"beside ROOT: {codec}, {threads}" for codec in CODECS for threads in THREADS),
    "ROOT on disk:",
    "ROOT reads: zstd-1",
    "ROOT reads: zstd-5",
)
STUDY = Study("rntuple", 1, Programs, VARIANTS, all_figures, OPPONENTS)
