"""The tables and sentences of README.md, which are made of results/summary.json alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from aggregator_numbers.cells import CELLS, DEFAULT, LAWS, RANKS, UNEVEN, WRITES, Cell
from aggregator_numbers.figures import NEAR, Ratio

BEGIN, END = "<!-- results: written by study.py -->", "<!-- end of results -->"
WAYS = {"the authors' number": "authors", "⌈S/k⌉": "by_volume", "no setting": "default"}
MIB = 1 << 20


def as_markdown(summary: Mapping[str, Any]) -> str:
    return "\n".join(
        [
            *_laws(summary),
            "",
            *_numbers(summary),
            "",
            *_sentences(summary),
            "",
            "### What a number loses",
            "",
            *_uneven(summary),
            "",
            *_lost(summary),
            "",
            *_machine(summary),
        ]
    )


def with_results(readme: str, summary: Mapping[str, Any]) -> str:
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{as_markdown(summary)}\n{END}{rest.partition(END)[2]}"


def _laws(summary: Mapping[str, Any]) -> Iterator[str]:
    yield "| storage | law | k, with the interval of 90 % |"
    yield "|---|---|---|"
    for name, law in LAWS.items():
        k = summary["k"][name]
        yield f"| {name} | {law} | {_mib(k['k'])} ({_mib(k['low'])} to {_mib(k['high'])}) MiB |"


def _cells(summary: Mapping[str, Any]) -> Iterator[tuple[Cell, Mapping[str, Any]]]:
    for cell in CELLS:
        if (found := summary["cells"].get(str(cell))) is not None:
            yield cell, found


def _numbers(summary: Mapping[str, Any]) -> Iterator[str]:
    yield "| library | storage | writes | authors | ⌈S/k⌉ | best | authors / best | ⌈S/k⌉ / best | no setting / best |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for cell, found in _cells(summary):
        ratios = " | ".join(str(_ratio(found, way)) for way in WAYS.values())
        best = "no setting" if found["best"] == DEFAULT else found["best"]
        by_volume = found["by_volume"]
        used = "" if by_volume <= RANKS else f" ({RANKS})"
        numbers = f"{found['authors']} | {by_volume}{used} | {best}"
        yield f"| {cell.library} | {cell.law} | {cell.writes} | {numbers} | {ratios} |"


def _number(found: Mapping[str, Any], way: str) -> int:
    """Returns the number that is used: there are no more aggregators than ranks."""
    return DEFAULT if way == "default" else min(RANKS, int(found[way]))


def _ratio(found: Mapping[str, Any], way: str) -> Ratio:
    return Ratio(*found["ratios"][str(_number(found, way))])


def _sentences(summary: Mapping[str, Any]) -> Iterator[str]:
    cells = list(_cells(summary))
    least, most = summary["files_of_a_number"]
    files = f"{least}" if least == most else f"{least} to {most}"
    yield f"Each number was measured in {files} files. Within {100 * (NEAR - 1):.0f} % of the best of all numbers are:"
    yield ""
    for name, way in WAYS.items():
        near = sum(_ratio(found, way).value <= NEAR for _, found in cells)
        worst, where = max((_ratio(found, way).value, str(cell)) for cell, found in cells)
        yield _wrapped(f"- {name}: {near} of {len(cells)}; at worst {worst:.1f} times as long as the best ({where}).")
    others = [(cell, found) for cell, found in cells if _number(found, "authors") != _number(found, "by_volume")]
    better = sum(_is_below(_ratio(found, "authors"), _ratio(found, "by_volume")) for _, found in others)
    worse = sum(_is_below(_ratio(found, "by_volume"), _ratio(found, "authors")) for _, found in others)
    yield ""
    yield _wrapped(
        f"The authors' number and ⌈S/k⌉ differ in {len(others)} of {len(cells)} rows. Their intervals lie apart in "
        f"{better + worse} of them: in {better} the authors' number is faster, in {worse} it is ⌈S/k⌉."
    )


def _is_below(one: Ratio, other: Ratio) -> bool:
    return one.high < other.low


def _uneven(summary: Mapping[str, Any]) -> Iterator[str]:
    yield "| storage | writes | groups | most bytes, groups | most bytes, number | number / groups |"
    yield "|---|---|---|---|---|---|"
    for law, writes in ((law, writes) for law in LAWS for writes in UNEVEN):
        found = summary["uneven"].get(f"{law}, {writes}")
        if found is not None:
            groups = ", ".join(" to ".join(map(str, _ends(group))) for group in found["groups"])
            most = f"{_mib(found['most_of_groups'])} MiB | {_mib(found['most_of_number'])} MiB"
            yield f"| {law} | {writes} | {groups} | {most} | {Ratio(*found['number_to_groups'])} |"


def _ends(group: list[int]) -> list[int]:
    return group if len(group) == 1 else [group[0], group[-1]]


def _lost(summary: Mapping[str, Any]) -> Iterator[str]:
    yield "`thalweg tune --aggregators` says of these writes:"
    yield ""
    for law, writes in ((law, writes) for law in LAWS for writes in WRITES):
        found = summary["advice"].get(f"{law}, {writes}")
        for library in ("ROMIO", "OMPIO"):
            if found is not None and (lost := found[f"lost_in_{library.lower()}"]):
                yield _wrapped(f"- {library}, {law}, {writes}: {lost}.")


def _machine(summary: Mapping[str, Any]) -> Iterator[str]:
    noise = summary["noise"]
    facts = summary["machine"]
    yield _wrapped(
        f"Measured on {facts['date']}, {facts['cores']} cores of {facts['processor']}, commit {facts['commit']}; the "
        f"load was {noise['load']:.1f} in the median of all launches ({noise['least']:.1f} to {noise['most']:.1f})."
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, subsequent_indent="  " if text.startswith("- ") else "")


def _mib(size: int) -> str:
    return f"{size / MIB:.3g}"
