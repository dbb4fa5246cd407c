"""recording.py FILE CODEC PAGES ENGINE MB: records so many MB of pulses, and says how long that took, and how much of
its memory lay in huge pages."""

import ctypes
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES, ROWS = 4096, 256
PR_SET_THP_DISABLE = 41


def pulses() -> np.ndarray[Any, Any]:
    """Noise on a baseline, and a pulse in each row: 10 bits, as a digitizer has them."""
    generator = np.random.default_rng(1)
    shape = np.exp(-np.arange(SAMPLES // 4) / 200)
    values = generator.normal(100, 2, (ROWS, SAMPLES))
    values[:, SAMPLES // 4 : SAMPLES // 2] += generator.uniform(50, 800, (ROWS, 1)) * shape
    return np.clip(values, 0, 1023).astype(np.uint16)


def huge_mb() -> float:
    """Returns how much of this process lies in huge pages, private or shared."""
    lines = (line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines())
    kib = sum(int(words[1]) for words in lines if words[0] in ("AnonHugePages:", "ShmemPmdMapped:"))
    return kib * 1024 / 1e6


def main() -> None:
    path, codec, pages, engine, megabytes = sys.argv[1:]
    if pages == "small" and ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        sys.exit("this kernel does not let a process do without huge pages")
    import thalweg as tw

    rows = pulses()
    more = {} if codec == "default" else {"codec": codec}
    begin = time.perf_counter()
    with tw.create(path, {"ch0": {"values": ("uint16", (SAMPLES,))}}, tuning={"engine": engine}, **more) as out:
        producer = out.producer("ch0")
        for _ in range(round(float(megabytes) * 1e6 / rows.nbytes)):
            producer.append(values=rows)
        huge = huge_mb()
    print(json.dumps({"seconds": time.perf_counter() - begin, "huge_mb": huge}))


if __name__ == "__main__":
    main()
