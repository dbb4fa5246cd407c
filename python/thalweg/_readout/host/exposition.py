"""Joins the metrics of several handlers to one page: Prometheus wants all samples of one name together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_HEAD = re.compile(r"# (?:HELP|TYPE) (\S+)")
_SAMPLE = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


@dataclass
class Family:
    """The lines of one metric: HELP and TYPE, and its samples."""

    head: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)


def families_of(text: str) -> dict[str, Family]:
    """Returns the families of a page by name, in its order. A page has the lines of a family together, head first."""
    found: dict[str, Family] = {}
    family = Family()
    for line in text.splitlines():
        if head := _HEAD.match(line):
            family = found.setdefault(head[1], Family())
            family.head.append(line)
        elif sample := _SAMPLE.match(line):
            if not family.head:  # a sample without a head is a family of its own
                family = found.setdefault(sample[0], Family())
            family.samples.append(line)
    return found


def joined(pages: Iterable[dict[str, Family]]) -> str:
    """Returns one page with the samples of all, and the head of each family once."""
    together: dict[str, Family] = {}
    for page in pages:
        for name, family in page.items():
            one = together.setdefault(name, Family(head=family.head))
            one.samples += family.samples
    return "".join(f"{line}\n" for family in together.values() for line in (*family.head, *family.samples))


def number(page: dict[str, Family], name: str) -> float | None:
    """Returns the value of the first sample of a metric, or None if there is none."""
    samples = page[name].samples if name in page else []
    return float(samples[0].rsplit(" ", 1)[1]) if samples else None
