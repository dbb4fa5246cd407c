"""What the DUNE study of August 2025 says, and what the log in its repository has.

(S M Shovan, "I/O Performance trade-offs among RNTuple's persistent layouts for DUNE Data Products"; one million events,
24 threads; repository Framework-R-D/phlex-io-granularity-test, experiments/log.txt.)
"""

from typing import NamedTuple


class Figures(NamedTuple):
    write_s: float  # the sum of what 24 threads took, without the last clusters, footer and sync
    file_size: float  # MB


LOG = {
    "aos_event_all": Figures(1386.1, 35977.2),
    "aos_event_per_product": Figures(1404.0, 35967.6),
    "aos_event_per_group": Figures(1528.9, 36138.5),
    "aos_spill_all": Figures(1403.2, 35976.1),
    "aos_spill_per_product": Figures(1451.9, 35964.7),
    "aos_spill_per_group": Figures(1608.6, 36147.5),
    "aos_top_object_per_product": Figures(1886.3, 35967.2),
    "aos_top_object_per_group": Figures(2223.9, 36138.8),
    "aos_element_per_product": Figures(9036.5, 37423.2),
    "aos_element_per_group": Figures(9512.6, 35970.7),
    "soa_event_all": Figures(1241.8, 34866.6),
    "soa_event_per_product": Figures(1221.7, 34856.1),
    "soa_event_per_group": Figures(1255.9, 34855.6),
    "soa_spill_all": Figures(1295.0, 34865.4),
    "soa_spill_per_product": Figures(1261.6, 34854.5),
    "soa_spill_per_group": Figures(1264.1, 34853.9),
    "soa_top_object_per_product": Figures(1676.6, 34856.2),
    "soa_top_object_per_group": Figures(1686.5, 34855.7),
    "soa_element_per_product": Figures(8372.8, 34696.4),
    "soa_element_per_group": Figures(9273.8, 34859.9),
}
