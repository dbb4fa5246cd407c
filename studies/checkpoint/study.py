from checkpoint.figures import all_figures, write_intervals
from checkpoint.programs import Programs
from checkpoint.variants import VARIANTS
from harness.study import Study

STUDY = Study(
    "checkpoint",
    0.5,
    Programs,
    VARIANTS,
    all_figures,
    ("posix file per process:",),
    columns=("seconds", "raw_bytes", "GB_per_s", "writes", "writes_of_busiest", "hints"),
    told=("GB_per_s", "seconds", "lost_ratio"),
    ours=("extents",),
    rounds=30,
    pictures=write_intervals,
)
