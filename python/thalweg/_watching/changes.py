"""What a pass over a run has instead of what the configuration says."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg._watching.windows import Windows

Delays = tuple[float, ...]


@dataclass(frozen=True)
class Changes:
    """None: as the configuration says."""

    delays_ps: Delays | None = None
    windows: Windows | None = None
