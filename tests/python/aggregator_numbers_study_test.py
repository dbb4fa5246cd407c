"""The studies of numbers of aggregators and of requests: their figures are right, and their texts are made of them."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))

import aggregator_numbers.table  # noqa: E402
import device_requests.table  # noqa: E402
from aggregator_numbers.cells import LAWS, LIBRARIES, RANKS, WRITES  # noqa: E402
from aggregator_numbers.figures import ratio_of, to_best  # noqa: E402
from aggregator_numbers.running import bed  # noqa: E402
from device_requests.block_trace import Request, inside, places_of, writes_of  # noqa: E402

TABLES: dict[str, Any] = {"aggregator_numbers": aggregator_numbers.table, "device_requests": device_requests.table}


@pytest.mark.parametrize("name", TABLES)
def test_the_readme_has_what_the_summary_says(name: str) -> None:
    readme = (STUDIES / name / "README.md").read_text()
    summary = json.loads((STUDIES / name / "results" / "summary.json").read_text())
    assert TABLES[name].with_results(readme, summary) == readme, f"run `python studies/{name}/study.py --draw`"


def test_ratios_to_the_best_number() -> None:
    random = np.random.default_rng(1)
    seconds = {number: list(random.normal(typical, 0.02, 12)) for number, typical in ((0, 2.0), (1, 1.5), (2, 1.0))}
    found = to_best(seconds)
    assert found.best == 2
    assert found.ratios[2].value == 1
    for number, typical in ((0, 2.0), (1, 1.5)):
        ratio = found.ratios[number]
        assert ratio.low < ratio.value < ratio.high
        assert ratio.value == pytest.approx(typical, rel=0.05)
        assert ratio.high - ratio.low < 0.1
    # Which one of equal numbers is best is a matter of chance, and the interval says so.
    equal = to_best({number: list(random.normal(1, 0.1, 12)) for number in range(9)})
    assert all(each.low < 1.05 for each in equal.ratios.values())


def test_a_ratio_of_two_ways() -> None:
    found = ratio_of([3.0, 3.1, 2.9], [1.0, 1.0, 1.0])
    assert found.low <= found.value == 3.0 <= found.high
    assert str(found) == "3.00 (2.90 to 3.10)"


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_program_obeys_the_law_and_the_number(library: str) -> None:
    if shutil.which(LIBRARIES[library].compiler) is None or shutil.which(LIBRARIES[library].launcher[0]) is None:
        pytest.skip(f"there is no {LIBRARIES[library].compiler}: `tools/system-packages bench` has it")
    writes, law = WRITES["small blocks"], LAWS["one server"]
    with bed() as made:
        (seconds,) = made.seconds(library, "one server", writes, 1, 1)
        assert seconds > law.latency_us * 1e-6 + writes.bytes / law.bandwidth
        found = made.advice("one server", writes, 9_000_000, library)
        assert (found["aggregators"], found["all_bytes_by_k"], found["ranks"]) == (1, 1, RANKS)
        found = made.advice("one server", writes, writes.bytes // 4, library)
        assert found["groups"] == [[0, 1], [2, 3], [4, 5], [6, 7]]


TRACE = """\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          <idle>-0       [000] d.h2.   100.000001: block_rq_complete: 254,0 WS () 1000 + 4096 none,0,0 [0]
          <idle>-0       [000] d.h2.   100.000002: block_rq_complete: 254,0 R () 900 + 8 none,0,0 [0]
          <idle>-0       [000] d.h2.   100.000003: block_rq_complete: 254,0 FF () 18446744073709551615 + 0 none,0,0 [0]
               y-43      [001] d..2.   100.000004: block_rq_complete: 254,0 W () 6000 + 8 be,0,4 [0]
"""
FILEFRAG = """\
Filesystem type is: ef53
File size of run.h5 is 4194304 (8192 blocks of 512 bytes)
 ext:     logical_offset:        physical_offset: length:   expected: flags:
   0:        0..    4095:       1000..      5095:   4096:
   1:     4096..    8191:       8000..     12095:   4096:       5096: last,eof
run.h5: 2 extents found
"""


def test_requests_of_a_file_are_read_from_a_trace() -> None:
    requests = list(writes_of(TRACE))
    assert requests == [Request(1000, 4096), Request(6000, 8)]
    places = places_of(FILEFRAG)
    assert places == [range(1000, 5096), range(8000, 12096)]
    assert inside(requests, places) == [Request(1000, 4096)]
    assert requests[0].bytes == 2 << 20
