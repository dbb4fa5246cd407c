from harness.figures import Measure
from harness.study import Study
from readout.figures import all_figures
from readout.pictures import draw_all
from readout.programs import Programs
from readout.variants import VARIANTS

MEASURE = Measure(
    key="ns_per_item",
    unit="thread CPU, ns for an item",
    axis="thread CPU time, ns for an item (dots: the rounds)",
    title="items: packets, fragments, descriptors; CPU time of threads, not of the wall",
    logarithmic=True,
)
COLUMNS = (
    *("item", "ns_per_item", "M_items_per_s", "response_bytes", "connections", "batch", "cores", "wrong"),
    *(
        "producer_ns",
        "consumer_ns",
        "builder_ns",
        "server_ns",
        "bare_ns",
        "incomplete",
        "kHz",
        "GB_per_s",
        "partial_writes_per_response",
    ),
    *("servers", "congestion", "credit_bytes", "goodput_MB_per_s", "ideal_ms", "p50_ms", "p99_ms", "max_ms"),
    *("batches", "retransmissions_per_batch", "items", "seconds"),
)
TOLD = ("ns_per_item", "M_items_per_s", "cores", "wrong", "kHz", "goodput_MB_per_s", "p50_ms", "p99_ms", "max_ms")

STUDY = Study(
    name="readout",
    total_gib=1,
    programs=Programs,
    variants=VARIANTS,
    figures=all_figures,
    opponents=(),
    measure=MEASURE,
    columns=COLUMNS,
    told=TOLD,
    ours=("decode", "build", "serve", "live", "relay", "card", "collect", "ring", "copied"),
    rounds=5,
    seldom={"incast": 2, "flatten": 3},
    pictures=draw_all,
)
