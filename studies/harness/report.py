"""Measurements and answers as files: CSV and JSON for programs, a table in README.md for people."""

import csv
import json
import statistics
from pathlib import Path
from typing import Any

from harness.figures import Answer, Round

NOISE = ["load", "other_cores", "stolen_cores"]
COLUMNS = ["round", "variant", "seconds", "raw_bytes", "GB_per_s", "cpu_s_per_GB", *NOISE]
BEGIN, END = "<!-- results: written by run.py -->", "<!-- end of results -->"


def number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def as_table(answers: list[Answer], rounds: int) -> str:
    lines = [f"| figure | target | median of {rounds} | range | |", "|---|---|---|---|---|"]
    for answer in answers:
        spread = f"{number(min(answer.values))} to {number(max(answer.values))}"
        target = answer.figure.target
        lines.append(f"| {answer.figure.name} | {target} | {number(answer.median)} | {spread} | {answer.verdict} |")
    return "\n".join(lines)


def rates(rounds: list[Round]) -> dict[str, list[float]]:
    """Variant -> GB/s by round, of all that have a rate."""
    found: dict[str, list[float]] = {}
    for each in rounds:
        for variant, measured in each.items():
            if "GB_per_s" in measured:
                found.setdefault(variant, []).append(measured["GB_per_s"])
    return found


def rate_table(rounds: list[Round]) -> str:
    lines = ["| variant | GB/s, median | range |", "|---|---|---|"]
    for variant, values in rates(rounds).items():
        spread = f"{number(min(values))} to {number(max(values))}"
        lines.append(f"| {variant} | {number(statistics.median(values))} | {spread} |")
    return "\n".join(lines)


def as_markdown(answers: list[Answer], rounds: list[Round], summary: dict[str, Any]) -> str:
    machine = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in summary["machine"].items())
    left_out = "\n".join(f"- {name}: {why}" for name, why in summary["missing"].items()) or "- nothing"
    noise = summary["noise"]
    others, stolen = noise["other_cores"], noise["stolen_cores"]
    best = ", ".join(f'"{name}"' for name in summary["opponents"])
    return f"""{as_table(answers, len(rounds))}

Of an opponent in several variants the best counts: {best}.
Other work kept {others:.2f} cores busy and the host took {stolen:.2f} cores away, in the median of all measurements.

![rates and ratios](results/{summary["study"]}.png)

{rate_table(rounds)}

Left out, and why:
{left_out}

The machine:
{machine}
"""


def write_files(directory: Path, answers: list[Answer], rounds: list[Round], summary: dict[str, Any]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "measurements.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
        writer.writeheader()
        for index, each in enumerate(rounds, start=1):
            for variant, measured in each.items():
                rounded = {key: float(f"{v:.6g}") if isinstance(v, float) else v for key, v in measured.items()}
                writer.writerow({"round": index, "variant": variant, **rounded})
    figures = [
        {"figure": each.figure.name, "target": each.figure.target, "median": each.median, "values": each.values}
        for each in answers
    ]
    text = json.dumps({**summary, "figures": figures, "rounds": rounds}, indent=1, ensure_ascii=False)
    (directory / "summary.json").write_text(text + "\n")
    (directory / "results.md").write_text(as_markdown(answers, rounds, summary))


def put_into_readme(readme: Path, results: Path) -> None:
    before, _, rest = readme.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{results.read_text()}{END}{after}")
    results.unlink()  # once is enough, and its links are those of the README
