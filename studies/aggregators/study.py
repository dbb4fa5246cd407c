from aggregators.figures import all_figures, draw
from aggregators.programs import Programs
from aggregators.variants import VARIANTS
from harness.figures import Measure
from harness.study import Study

STUDY = Study(
    "aggregators",
    0.1,
    Programs,
    VARIANTS,
    all_figures,
    (),
    Measure(
        "seconds", "s", "first file of a process, seconds (dots: the rounds)", "as the paper times it", logarithmic=True
    ),
    columns=(
        "seconds",
        "seconds_again",
        "mean_of_all_s",
        "mean_of_writers_s",
        "longest_s",
        "longest_again_s",
        "open_s",
        "create_s",
        "write_s",
        "close_s",
        "raw_bytes",
        "is_flagged",
        "writers",
        "hints",
    ),
    told=("seconds", "seconds_again", "longest_again_s"),
    rounds=10,
    pictures=draw,
)
