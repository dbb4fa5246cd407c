"""Measurements and answers as files: CSV and JSON for programs, a table in README.md for people."""

import csv
import json
import statistics
from pathlib import Path
from typing import Any

from harness.figures import Answer, Measure, Round
from harness.study import AnyPrograms, Study

NOISE = ["load", "other_cores", "stolen_cores"]
BEGIN, END = "<!-- results: written by run.py -->", "<!-- end of results -->"


def number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def as_table(answers: list[Answer]) -> str:
    of_paper = any(answer.figure.paper for answer in answers)
    rounds = max((len(answer.values) for answer in answers), default=0)
    heads = ["figure", *(["the paper"] if of_paper else []), "target", f"median of {rounds}", "range", ""]
    lines = [f"| {' | '.join(heads)} |".replace("|  |", "| |"), "|---" * len(heads) + "|"]
    for answer in answers:
        spread = f"{number(min(answer.values))} to {number(max(answer.values))}"
        figure = answer.figure
        cells = [figure.name, *([figure.paper] if of_paper else []), figure.target, number(answer.median), spread]
        lines.append(f"| {' | '.join([*cells, answer.verdict])} |")
    return "\n".join(lines)


def rates(rounds: list[Round], measure: Measure) -> dict[str, list[float]]:
    """Variant -> what is measured by round, of all that have it."""
    found: dict[str, list[float]] = {}
    for each in rounds:
        for variant, measured in each.items():
            if measure.key in measured:
                found.setdefault(variant, []).append(measured[measure.key])
    return found


def rate_table(rounds: list[Round], measure: Measure) -> str:
    lines = [f"| variant | {measure.unit}, median | range |", "|---|---|---|"]
    for variant, values in rates(rounds, measure).items():
        spread = f"{number(min(values))} to {number(max(values))}"
        lines.append(f"| {variant} | {number(statistics.median(values))} | {spread} |")
    return "\n".join(lines)


def as_markdown(answers: list[Answer], rounds: list[Round], measure: Measure, summary: dict[str, Any]) -> str:
    machine = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in summary["machine"].items())
    left_out = "\n".join(f"- {name}: {why}" for name, why in summary["missing"].items()) or "- nothing"
    noise = summary["noise"]
    others, stolen = noise["other_cores"], noise["stolen_cores"]
    best = ", ".join(f'"{name}"' for name in summary["opponents"])
    opponents = f"Of an opponent in several variants the best counts: {best}.\n" if best else ""
    busy = f"Other work kept {others:.2f} cores busy and the host took {stolen:.2f} cores away"
    pictures = "\n\n".join(f"![{Path(name).stem}](results/{name})" for name in summary["pictures"])
    return f"""{as_table(answers)}

{opponents}{busy}, in the median of all measurements.

{pictures}

{rate_table(rounds, measure)}

Left out, and why:
{left_out}

The machine:
{machine}
"""


def write_files(
    directory: Path, answers: list[Answer], rounds: list[Round], study: Study[AnyPrograms], summary: dict[str, Any]
) -> None:
    with (directory / "measurements.csv").open("w", newline="") as file:
        writer = csv.DictWriter(
            file, ["round", "variant", *study.columns, *NOISE], extrasaction="ignore", restval="", lineterminator="\n"
        )
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
    (directory / "results.md").write_text(as_markdown(answers, rounds, study.measure, summary))


def put_into_readme(readme: Path, results: Path) -> None:
    before, _, rest = readme.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{results.read_text()}{END}{after}")
    results.unlink()  # once is enough, and its links are those of the README
