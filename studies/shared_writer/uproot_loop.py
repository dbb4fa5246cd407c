"""uproot_loop.py INPUT OUTPUT: in uproot, all columns of an RNTuple, read and written again, some events at a time."""

import json
import os
import resource
import sys
import time

import uproot

STEP = 20_000  # events


def cpu() -> float:
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def main() -> None:
    source, target = sys.argv[1:]
    before, begin = cpu(), time.monotonic()
    with uproot.open(source) as file, uproot.recreate(target) as out:
        out.compression = uproot.ZSTD(5)
        events = file["Events"]
        for first in range(0, events.num_entries, STEP):
            rows = events.arrays(entry_start=first, entry_stop=first + STEP)
            rows = rows[rows.event >= 0]  # a selection, which every loop has
            if first == 0:
                out.mkrntuple("Events", rows)
            else:
                out["Events"].extend(rows)
    with open(target, "rb+") as file:
        os.fsync(file.fileno())
    use = resource.getrusage(resource.RUSAGE_SELF)
    measured = {"seconds": time.monotonic() - begin, "cpu_s": cpu() - before, "rss_MiB": use.ru_maxrss / 1024}
    print(json.dumps(measured | {"bytes": os.path.getsize(target)}))


if __name__ == "__main__":
    main()
