"""What this study runs: Thalweg alone, over several nodes that are processes of this machine."""

import sys
from dataclasses import dataclass
from pathlib import Path

from harness import programs
from harness.programs import Measurement

REGION_BYTES = 256 << 20  # the largest


@dataclass
class Programs(programs.Programs):
    def nodes(self, nodes: int, producers: int, **options: object) -> Measurement:
        measured = self.study("nodes", path=self.target, nodes=nodes, producers=producers, **options)
        stored = measured["stored_bytes"]
        return {
            **measured,
            "blocks_per_stored": measured["disk_bytes"] / stored,
            "regions_unused": max(0, measured["file_bytes"] - stored) / nodes / REGION_BYTES,
            "regions_per_GB": measured["regions"] / (stored / 1e9),
            "regions_per_GB_later": _later_regions(measured["regions"], nodes, stored),
        }

    def pages(self, nodes: int, pages: int) -> Measurement:
        """Very many small pages, for what a close costs."""
        measured = self.nodes(nodes, 1, codec="none", data="noise", columns=8, bytes=pages * 1024, page_bytes=1024)
        return {**measured, "close_us_per_page": measured["close_s"] / measured["pages"] * 1e6}

    def claims(self, threads: int) -> Measurement:
        return self.study("claims", path=self.target, threads=threads, claims=20_000_000)

    def names(self) -> Measurement:
        return self.study("names", path=Path(f"{self.target}-names"))

    def versions(self) -> dict[str, str]:
        return {"python": sys.version.split()[0]}


def _later_regions(regions: int, nodes: int, stored_bytes: int) -> float:
    """Names a GB behind the first GB of each node, in which regions are smaller: 16, 32, ... 512 MiB in all, then 2."""
    first = 4 + -(-(10**9 - (240 << 20)) // REGION_BYTES)
    more_gb = stored_bytes / 1e9 - nodes
    return max(0, regions - nodes * (first + 1)) / more_gb if more_gb > 0.5 else 0.0
