"""thalweg_read.py PATH PASSES: what uproot_read.py does, by the Python package of Thalweg, where it is installed."""

import json
import statistics
import sys
import time

import awkward as ak

import thalweg as tw


def main(path: str, passes: str) -> None:
    seconds = []
    for _ in range(1 + int(passes)):  # the first one only warms
        table = tw.open(path)["events"]
        begin = time.monotonic()
        events = table.read(threads=2).to_awkward()
        seconds.append(time.monotonic() - begin)
    size_bytes = 16 * len(events) + 4 * int(ak.count(events.particles))
    median = statistics.median(seconds[1:])
    print(json.dumps({"seconds": median, "raw_bytes": size_bytes, "GB_per_s": size_bytes / median / 1e9}))


if __name__ == "__main__":
    main(*sys.argv[1:])
