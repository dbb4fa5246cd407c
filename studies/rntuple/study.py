from harness.study import Study
from rntuple.figures import all_figures
from rntuple.programs import Programs
from rntuple.variants import VARIANTS

STUDY = Study("rntuple", 1, Programs, VARIANTS, all_figures, ("fio:", "uproot: zstd-1", "uproot: zstd-5"))
