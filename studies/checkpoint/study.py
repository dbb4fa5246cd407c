from checkpoint.figures import all_figures, write_tables
from checkpoint.programs import Programs
from checkpoint.variants import FIRST, VARIANTS
from harness.study import Study

STUDY = Study(
    "checkpoint",
    0.5,
    Programs,
    VARIANTS,
    all_figures,
    ("posix file per process,",),
    columns=("seconds", "open_s", "write_s", "sync_s", "read_s", "close_s", "raw_bytes", "GB_per_s", "writes", "hints"),
    told=("GB_per_s", "seconds", "lost_ratio"),
    ours=("extents", "facts"),
    rounds=30,
    seldom={"once:": 3},
    first=FIRST,
    pictures=write_tables,
)
