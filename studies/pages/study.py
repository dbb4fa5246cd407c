from harness.figures import Measure
from harness.study import Study
from pages.figures import all_figures
from pages.pictures import draw_curve
from pages.programs import Programs
from pages.variants import VARIANTS

STUDY = Study(
    "pages",
    1,
    Programs,
    VARIANTS,
    all_figures,
    (),
    measure=Measure("file_MB", "MB", "size of the file, MB", "the same rows, the same codec"),
    columns=("file_bytes", "memory_bytes", "cpu_s", "clusters"),
    told=("file_MB", "memory_MiB", "cpu_s"),
    rounds=3,
    pictures=draw_curve,
)
