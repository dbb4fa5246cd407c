from harness.study import Study
from record.figures import all_figures
from record.programs import Programs
from record.variants import VARIANTS

STUDY = Study("record", 16, Programs, VARIANTS, all_figures, ("fio:",))
