"""All that is measured, one function each."""

from collections.abc import Callable

from harness.programs import Measurement
from nodes.programs import Programs

Variant = Callable[[Programs], Measurement]

CODECS = ("none", "bitshuffle+lz4")
PAGES = 400_000  # of 1 KiB
NODES = (1, 2, 4, 8)


def of_producers(nodes: int, producers: int, codec: str) -> Variant:
    return lambda programs: programs.nodes(nodes, producers, codec=codec, bytes=programs.total_bytes)


def of_pages(nodes: int) -> Variant:
    return lambda programs: programs.pages(nodes, PAGES)


VARIANTS: dict[str, Variant] = {
    **{f"1 node, 2 producers, {codec}": of_producers(1, 2, codec) for codec in CODECS},
    **{f"2 nodes, 1 producer, {codec}": of_producers(2, 1, codec) for codec in CODECS},
    **{f"close, {nodes} nodes": of_pages(nodes) for nodes in NODES},
    "2 nodes, 4 GB": lambda programs: programs.nodes(2, 1, codec="none", bytes=4_300_000_000),
    "claims": lambda programs: programs.claims(2),
    "names": lambda programs: programs.names(),
}
