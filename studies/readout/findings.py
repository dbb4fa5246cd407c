"""Writes the findings on the page of this study: findings.in has the sentences, and every number comes from the
results.

python studies/readout/findings.py    # writes them
"""

import json
import re
import textwrap
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER / "README.md"
SENTENCES = FOLDER / "findings.in"
RESULTS = FOLDER / "results" / "summary.json"
BEGIN, END = "<!-- findings: written by findings.py -->\n", "<!-- end of findings -->\n"
WIDTH = 120
NOT_MEASURED = "(not measured)"
PLACE = re.compile(r"\{\{(.+?)\}\}")  # {{figure}}, or {{variant | key}}: its median


def number(value: float) -> str:
    """Returns three digits: rounds do not agree on more."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def findings(summary: dict[str, Any]) -> str:
    figures = {each["figure"]: each["spread"][0] for each in summary["figures"]}
    variants = summary["variants"]

    def median(place: re.Match[str]) -> str:
        name, _, key = place[1].partition(" | ")
        value = variants.get(name, {}).get(key, [None])[0] if key else figures.get(name)
        return NOT_MEASURED if value is None else number(value)

    paragraphs = SENTENCES.read_text().replace("\n\n", "\0").replace("\n", " ").strip().split("\0")
    filled = (PLACE.sub(median, paragraph) for paragraph in paragraphs)
    options = {"break_long_words": False, "break_on_hyphens": False}
    return "\n\n".join(textwrap.fill(paragraph, WIDTH, **options) for paragraph in filled) + "\n"


def with_findings(page: str, summary: dict[str, Any]) -> str:
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + findings(summary) + END + after


if __name__ == "__main__":
    PAGE.write_text(with_findings(PAGE.read_text(), json.loads(RESULTS.read_text())))
