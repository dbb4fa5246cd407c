"""Results as files: measurements as CSV and JSON for programs, tables in README.md for people."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from harness.figures import Answer, Measure, Round, Spread
from harness.kept import Kept

NOISE = ["load", "other_cores", "stolen_cores"]
BEGIN, END = "<!-- results: written by run.py -->", "<!-- end of results -->"


def number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def spread_text(spread: Spread) -> str:
    return f"{number(spread.low)} to {number(spread.high)}"


def as_table(answers: list[Answer]) -> str:
    of_paper = any(answer.paper for answer in answers)
    rounds = max((answer.spread.rounds for answer in answers), default=0)
    heads = ["figure", *(["the paper"] if of_paper else []), "target", f"median of {rounds}", "range", ""]
    lines = [f"| {' | '.join(heads)} |".replace("|  |", "| |"), "|---" * len(heads) + "|"]
    for answer in answers:
        cells = [answer.figure, *([answer.paper] if of_paper else []), answer.target]
        cells += [number(answer.spread.median), spread_text(answer.spread), answer.verdict]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def rate_table(kept: Kept, measure: Measure) -> str:
    lines = [f"| variant | {measure.unit}, median | range |", "|---|---|---|"]
    for variant, spread in kept.of_measure(measure.key).items():
        lines.append(f"| {variant} | {number(spread.median)} | {spread_text(spread)} |")
    return "\n".join(lines)


def as_markdown(kept: Kept, measure: Measure) -> str:
    facts = kept.facts
    machine = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in facts["machine"].items())
    left_out = "\n".join(f"- {name}: {why}" for name, why in facts["missing"].items()) or "- nothing"
    others, stolen = facts["noise"]["other_cores"], facts["noise"]["stolen_cores"]
    best = ", ".join(f'"{name}"' for name in facts["opponents"])
    opponents = f"If an opponent has several variants, the best one counts: {best}.\n" if best else ""
    busy = f"Other work kept {others:.2f} cores busy and the host took {stolen:.2f} cores away"
    pictures = "\n\n".join(f"![{Path(name).stem}](results/{name})" for name in facts["pictures"])
    return f"""{as_table(kept.answers)}

{opponents}{busy}, in the median of all measurements.

{pictures}

{rate_table(kept, measure)}

Left out, and why:
{left_out}

The machine:
{machine}
"""


def write_raw(folder: Path, rounds: list[Round], columns: Sequence[str]) -> None:
    """Every measurement: for programs (CSV), and for --keep-others (JSON)."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "measurements.csv").open("w", newline="") as file:
        fields = ["round", "variant", *columns, *NOISE]
        writer = csv.DictWriter(file, fields, extrasaction="ignore", restval="", lineterminator="\n")
        writer.writeheader()
        for index, each in enumerate(rounds, start=1):
            for variant, measured in each.items():
                rounded = {key: float(f"{v:.6g}") if isinstance(v, float) else v for key, v in measured.items()}
                writer.writerow({"round": index, "variant": variant, **rounded})
    (folder / "rounds.json").write_text(json.dumps(rounds, ensure_ascii=False) + "\n")


def put_into_readme(readme: Path, results: Path) -> None:
    before, _, rest = readme.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{BEGIN}\n{results.read_text()}{END}{after}")
    results.unlink()  # once is enough, and its links are those of the README
