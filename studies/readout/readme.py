"""Writes the table of the readout on the page about performance, from the results of this study.

python studies/readout/readme.py    # writes it
"""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "studies" / "readout" / "results" / "summary.json"
BEGIN, END = "<!-- readout: written by studies/readout/readme.py -->\n", "<!-- end of readout -->\n"
NOT_MEASURED = "not measured yet"
HEAD = """\
| | best case: packets of 24 bytes, ranges of 256 events, 16 in flight | packets of 8 to 40 bytes | \
ATLAS, IEEE RT 2026 |
|---|---|---|---|
"""
# Each row has a name, the figures of the best case and of mixed lengths, their unit, and the figure of the paper.
ROWS = (
    (
        "million packets a second of 46.2 that the card would send, 14 a fragment",
        "live: rate reached, M packets/s",
        "live: 8 to 40 B: rate reached, M packets/s",
        "",
        "46.2",
    ),
    (
        "the handler, at that rate",
        "live: handler with 1000 connections, cores",
        "live, 8 to 40 B: handler with 1000 connections, cores",
        "cores",
        "4.7 cores",
    ),
    (
        "of that, a packet",
        "live: everything in the handler, ns a packet",
        "live: 8 to 40 B: ns a packet",
        "ns",
        "102 ns",
    ),
    (
        "decoding and building alone, a packet",
        "decode and build, 42 streams, 24 B fixed: ns a packet",
        "decode and build, 42 streams, 8 to 40 B: ns a packet",
        "ns",
        "71 ns",
    ),
    (
        "relaying fragments of 752 bytes: the thread that sends, each",
        "relay of 752 B, 2100 connections: the sending thread, ns a fragment",
        "",
        "ns",
        "540 ns",
    ),
)


def table(summary: dict[str, Any]) -> str:
    medians = {each["figure"]: each["spread"][0] for each in summary["figures"]}

    def cell(figure: str, unit: str) -> str:
        if not figure:
            return ""
        return f"{medians[figure]:.3g} {unit}".strip() if medians.get(figure) is not None else NOT_MEASURED

    return HEAD + "".join(
        f"| {what} | {cell(best, unit)} | {cell(mixed, unit)} | {paper} |\n" for what, best, mixed, unit, paper in ROWS
    )


def with_table(page: str, summary: dict[str, Any]) -> str:
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + table(summary) + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(), json.loads(RESULTS.read_text())))
