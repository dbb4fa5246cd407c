"""Extrapolates what a run of many nodes needs of the file system from measurements of a few."""

from dataclasses import dataclass

REGION_BYTES = 256 << 20
NAMES_OF_A_NODE = 9  # journal, room, beats, finished, each made and removed, and a share of those of all
LOOKS_PER_S = 2000  # of all nodes together, while they wait (thalweg/dataset/node_folder/folder_pause.h)


@dataclass(frozen=True)
class Costs:
    """The costs on the machine of the study; its README has their origin."""

    gather_us_per_page: float = 0.75
    complete_us_per_page: float = 1.25
    journal_bytes_per_page: float = 56
    close_s: float = 0.04  # of a run without pages
    node_s: float = 0.004  # of each node: its journal is opened, its names are removed
    names_per_s: float = 1400


def close_seconds(costs: Costs, nodes: int, pages: int) -> float:
    """Returns the time from the last `close` on."""
    return costs.close_s + nodes * costs.node_s + pages * (costs.gather_us_per_page + costs.complete_us_per_page) * 1e-6


@dataclass(frozen=True)
class Run:
    """The needs of a run of so many nodes, each of which stores `GB_per_s` for `seconds` in pages of `page_bytes`."""

    nodes: int
    GB_per_s: float = 1.0
    seconds: float = 600
    page_bytes: int = 1 << 20

    @property
    def regions_per_s(self) -> float:
        return self.nodes * self.GB_per_s * 1e9 / REGION_BYTES

    @property
    def pages(self) -> int:
        return int(self.nodes * self.GB_per_s * 1e9 * self.seconds / self.page_bytes)

    def row(self, costs: Costs) -> list[str]:
        share = self.regions_per_s / costs.names_per_s
        journals = self.pages * costs.journal_bytes_per_page
        return [
            f"{self.nodes}",
            f"{self.nodes * self.GB_per_s:.0f} GB/s",
            f"{self.regions_per_s:.1f}",
            f"{share:.1%}",
            f"{self.nodes * NAMES_OF_A_NODE:,}",
            f"{self.pages / 1e6:.2f} M",
            f"{journals / 1e6:.0f} MB",
            f"{close_seconds(costs, self.nodes, self.pages):.1f} s",
        ]


HEADS = [
    "nodes",
    "stored",
    "regions a second",
    "of what the folder's server takes",
    "other names",
    "pages",
    "journals, read at close",
    "close",
]


def as_table(costs: Costs) -> str:
    lines = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    lines += [f"| {' | '.join(Run(nodes).row(costs))} |" for nodes in (1, 2, 4, 8, 64, 256, 1024)]
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_table(Costs()))
