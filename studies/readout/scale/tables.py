"""Writes the tables on the page of this study from its results.

python studies/readout/scale/tables.py    # writes them
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from readout.scale import results

PAGE = results.FOLDER / "README.md"
NOT_MEASURED = "(not measured)"
Columns = Mapping[str, Sequence[tuple[str, str]]]
# The columns of each part: key, title.
COLUMNS: Columns = {
    "connections": (
        ("setup_server_us", "set-up, handler: CPU µs each"),
        ("setup_client_us", "set-up, collectors: CPU µs each"),
        ("server_bytes", "memory of the handler: bytes each"),
        ("client_bytes", "of the collectors"),
        ("kernel_bytes", "of the kernel, both ends"),
        ("fairness", "least / mean of events a collector"),
        ("p99_ms", "a range, p99: ms"),
        ("ns_per_packet", "flow, handler: ns a packet"),
    ),
    "curves": (
        ("M_packets_per_s", "M packets/s"),
        ("ns_per_packet", "handlers: ns a packet"),
        ("builder_ns", "of that, building"),
        ("server_ns_per_fragment", "serving: ns a fragment"),
        ("builder_cores", "building: cores"),
        ("server_cores", "serving: cores"),
        ("collector_cores", "collectors: cores"),
        ("p99_ms", "a range, p99: ms"),
    ),
    "incast": (
        ("share", "goodput, share of the link"),
        ("p50_of_ideal", "a range, median / ideal"),
        ("p99_of_ideal", "a range, p99 / ideal"),
        ("dropped", "packets dropped there"),
        ("retransmissions", "segments sent again"),
        ("most_outstanding_bytes", "most bytes asked for"),
    ),
    "model": (
        ("M_packets_per_s", "M packets/s"),
        ("handler_cores", "handlers: cores"),
        ("collector_cores", "collectors: cores"),
    ),
}


def number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def cell(spread: list[float] | None) -> str:
    if spread is None:
        return NOT_MEASURED
    median, low, high = map(number, spread)
    return median if low == high else f"{median} ({low} to {high})"


def effects(measured: dict[str, list[float]]) -> str:
    found = {key.removesuffix("_in_effect"): spread for key, spread in measured.items() if key.endswith("_in_effect")}
    return ", ".join(f"{cure}: {'yes' if spread[0] else '**no**'}" for cure, spread in found.items())


def table(part: str, kept: results.Kept, columns: Columns = COLUMNS) -> str:
    if part not in kept:
        return f"{NOT_MEASURED}\n"
    of_part = kept[part]
    has_cures = part == "incast"
    titles = ["", *(title for _, title in columns[part]), *(["in effect"] if has_cures else [])]
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for name, measured in of_part["variants"].items():
        cells = [name, *(cell(measured.get(key)) for key, _ in columns[part])]
        lines.append(f"| {' | '.join(cells + ([effects(measured)] if has_cures else []))} |")
    if "model" in of_part:
        lines += ["", "| of the model | |", "|---|---|"]
        lines += [f"| {name} | {number(value)} |" for name, value in of_part["model"].items()]
    noise = of_part["noise"]
    lines += [
        "",
        f"{of_part['date']}, commit {of_part['commit']}; rounds: {of_part['rounds']}; load {number(noise['load'])}.",
        f"Other work: {noise['other_cores']:.2f} cores; taken by the host: {noise['stolen_cores']:.2f} cores.",
    ]
    lines += [f"Left out: {name} ({why})." for name, why in of_part["missing"].items()]
    return "\n".join(lines) + "\n"


def with_tables(page: str, kept: results.Kept, columns: Columns = COLUMNS) -> str:
    for part in columns:
        begin, end = f"<!-- {part}: written by tables.py -->\n", f"<!-- end of {part} -->\n"
        if begin not in page:
            continue
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = before + begin + table(part, kept, columns) + end + after
    return page


def write_page() -> None:
    PAGE.write_text(with_tables(PAGE.read_text(), results.read()))


if __name__ == "__main__":
    write_page()
