from harness.study import Study
from nodes.figures import all_figures
from nodes.programs import Programs
from nodes.variants import VARIANTS

STUDY = Study(
    "nodes",
    4,
    Programs,
    VARIANTS,
    all_figures,
    (),
    columns=("seconds", "raw_bytes", "GB_per_s", "cpu_s_per_GB", "close_s", "stored_bytes", "file_bytes", "disk_bytes"),
    told=("GB_per_s", "close_s", "claims_M_per_s", "names_per_s", "regions", "blocks_per_stored"),
    ours=("node", "claims", "close", "names"),
    rounds=5,
    seldom={"2 nodes, 4 GB": 1},
)
