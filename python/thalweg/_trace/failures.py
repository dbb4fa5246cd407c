"""Reads which processes and threads have no ring, and why, from the page that they share with the tracer."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg._trace.records import FILE_LIMIT, NO_MEMORY, NO_PERMISSION, NO_TRACER

_REASONS = {
    NO_MEMORY: "there was no memory for its calls",
    NO_PERMISSION: "it may not write into the folder of the trace, perhaps since it runs as another user",
    NO_TRACER: "it does not see the process of the tracer",
    FILE_LIMIT: "it may not make files that are large enough for its calls (ulimit -f)",
}


@dataclass(frozen=True)
class Failure:
    """A process or thread without a ring."""

    pid: int
    program: str
    why: str


def failures(control: npt.NDArray[np.void]) -> list[Failure]:
    """Returns the first failures, which are described, from the control page."""
    found = []
    for each in control["failures"][0]:
        if why := int(each["why"]):
            error = f" ({os.strerror(int(each['error']))})" if why == NO_MEMORY and each["error"] else ""
            found.append(Failure(int(each["pid"]), each["program"].decode(errors="replace"), f"{_REASONS[why]}{error}"))
    return found
