"""with_thalweg.py WRITERS K REPEATS SYNC FILE: the same data by as many producers of Thalweg, without MPI.

Prints [[[seconds]], ...] as the others do, with one rank: from before the file is created to behind its close. A close
of Thalweg always syncs, so SYNC is 1.
"""

import json
import os
import sys
import time

import numpy as np

import thalweg as tw


def main() -> None:
    writers, k, repeats = (int(word) for word in sys.argv[1:4])
    path = sys.argv[5]
    data = np.random.default_rng(1).integers(0, 1024, k, dtype=np.uint16)
    rows = []
    for _ in range(repeats):
        ways = [os.pipe() for _ in range(writers)]
        children = []
        for (
            reader,
            _,
        ) in ways:  # they wait for the run, as the ranks of an MPI program are there before the timing begins
            pid = os.fork()
            if pid == 0:
                handle = os.read(reader, 1 << 16).decode()
                with tw.attach(handle) as run:
                    run.producer("data").append(x=data)
                os._exit(0)
            children.append(pid)
        begin = time.perf_counter()
        out = tw.create(path, {"data": {"x": tw.uint16}}, codec="none", force=True)
        for _, sink in ways:
            os.write(sink, out.handle.encode())
        for pid in children:
            if os.waitpid(pid, 0)[1]:
                raise SystemExit("a producer has failed")
        out.close()
        rows.append([[time.perf_counter() - begin]])
        for pair in ways:
            for end in pair:
                os.close(end)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
