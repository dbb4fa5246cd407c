"""What one rank of MPI runs: mpi_errors.py FOLDER. How each wrong request ends, also without MPI, is in rankN.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpi4py import MPI

import thalweg as tw

COMM = MPI.COMM_WORLD
SCHEMA = {"t": {"x": tw.int32}}
OTHER = {"t": {"x": tw.int64}}


def end_of(work: Callable[[], Any]) -> tuple[str, str]:
    try:
        work()
    except tw.Error as error:
        return type(error).__name__, str(error)
    return "", "no error"


def main(folder: Path) -> None:
    requests: dict[str, Callable[..., Any]] = {
        "codec": lambda **over: tw.create(folder / "a.h5", SCHEMA, codec="bogus", **over),
        "exists": lambda **over: tw.create(folder / "exists.h5", SCHEMA, **over),
        "no schema": lambda **over: tw.create(folder / "b.h5", **over),
        "no folder": lambda **over: tw.create(folder / "missing" / "c.h5", SCHEMA, **over),
        "long name": lambda **over: tw.create(folder / ("x" * 300 + ".h5"), SCHEMA, **over),
        "nothing to resume": lambda **over: tw.create(folder / "d.h5", resume=True, **over),
        "damaged": lambda **over: tw.create(folder / "damaged.h5", resume=True, **over),
    }
    found: dict[str, Any] = {
        name: {"over MPI": end_of(lambda request=request: request(comm=COMM, node_timeout=3))}  # type: ignore[misc]
        for name, request in requests.items()
    }
    COMM.Barrier()
    for name, request in requests.items():
        found[name]["alone"] = end_of(request) if COMM.Get_rank() == 0 else None
        COMM.Barrier()
    last = COMM.Get_size() - 1
    mine: Any = 7 if COMM.Get_rank() == last else "seven"
    wrong = end_of(lambda: tw.create(folder / "e.h5", SCHEMA, metadata={"a": mine}, comm=COMM))
    found["metadata of the last rank"] = {"over MPI": wrong}
    own = OTHER if COMM.Get_rank() == last else SCHEMA
    found["schema of the last rank"] = {"over MPI": end_of(lambda: tw.create(folder / "f.h5", own, comm=COMM))}
    out = tw.create(folder / "g.h5", SCHEMA, comm=COMM)
    if COMM.Get_rank() == last:
        producer = out.producer("t")
        found["a wrong row of the last rank"] = {"over MPI": end_of(lambda: _append_wrong(out, producer))}
    else:
        found["a wrong row of the last rank"] = {"over MPI": end_of(out.close)}
    (folder / f"rank{COMM.Get_rank()}.json").write_text(json.dumps(found))


def _append_wrong(out: tw.Shared, producer: tw.Producer) -> None:
    with out:
        producer.append(x="text")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
