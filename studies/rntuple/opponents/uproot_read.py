"""uproot_read.py PATH PASSES: reads all of a table of events, once more than said."""

import json
import statistics
import sys
import time

import awkward as ak
import uproot


def main(path: str, passes: str) -> None:
    seconds, cpu = [], []
    for _ in range(1 + int(passes)):  # the first one only warms
        with uproot.open(path) as file:
            table = file["events"]
            begin, begin_cpu = time.monotonic(), time.process_time()
            events = table.arrays(["eventId", "particles"], library="ak")
            seconds.append(time.monotonic() - begin)
            cpu.append(time.process_time() - begin_cpu)
    size_bytes = 16 * len(events) + 4 * int(ak.count(events.particles))
    median = statistics.median(seconds[1:])
    result = {"seconds": median, "raw_bytes": size_bytes, "GB_per_s": size_bytes / median / 1e9}
    print(json.dumps({**result, "cpu_s_per_GB": statistics.mean(cpu[1:]) / size_bytes * 1e9}))


if __name__ == "__main__":
    main(*sys.argv[1:])
