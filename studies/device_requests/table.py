"""The tables of README.md, which are made of results/summary.json alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SUMMARY = Path(__file__).with_name("results") / "summary.json"
BEGIN, END = "<!-- results: written by study.py -->", "<!-- end of results -->"
TARGET_MB = 1.5
TARGETED = "encoded, huge pages, direct, uring"


def with_results(readme: str, summary: Mapping[str, Any]) -> str:
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{as_markdown(summary)}\n{END}{rest.partition(END)[2]}"


def as_markdown(summary: Mapping[str, Any]) -> str:
    return "\n\n".join("\n".join(_of_disk(name, each)) for name, each in summary.items())


def _of_disk(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    limits, facts = found["limits"], found["machine"]
    mean, low, _ = found["ways"][TARGETED]["mean_mb"]
    most_mb = limits["max_sectors_kb"] * 1024 / 1e6
    pieces = f"{limits['max_segments']} pieces of memory{_size(limits['max_segment_size'])}"
    yield _wrapped(
        f"On {name}, which takes up to {most_mb:.2f} MB and {pieces} in a request; {found['rounds']} rounds of "
        f"{found['raw_mb']} MB of raw data. The mean request of encoded extents is {mean:.2f} MB; the target of "
        f"{TARGET_MB} MB is {_verdict(low, most_mb)}."
    )
    yield ""
    yield "| recorded | mean request, MB | of bytes in requests of 1 MiB and more | in huge pages, MB | s |"
    yield "|---|---|---|---|---|"
    for way, each in found["ways"].items():
        share = "{:.0f} % ({:.0f} to {:.0f})".format(*(100 * share for share in each["share_of_large"]))
        cells = [way, _spread(each["mean_mb"]), share, _spread(each["huge_mb"]), _spread(each["seconds"])]
        yield f"| {' | '.join(cells)} |"
    yield ""
    load, least, most = found["load"]
    yield _wrapped(
        f"Medians, and the range of all rounds, on {facts['date']}, Linux {facts['kernel']}, {facts['cores']} cores, "
        f"commit {facts['commit']}; the load was {load:.1f} ({least:.1f} to {most:.1f})."
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120)


def _verdict(mean_mb: float, most_mb: float) -> str:
    if mean_mb >= TARGET_MB:
        return "met"
    return "**not met**" if most_mb >= TARGET_MB else "more than one request may have here"


def _spread(values: list[float]) -> str:
    median, low, high = values
    return f"{median:.3g} ({low:.3g} to {high:.3g})"


def _size(size: int) -> str:
    return f" of up to {size >> 10} KiB" if size < 1 << 30 else ""
