"""All that a run of the study leaves: pictures and a report for people, CSV and JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from layouts import machine, plot, report
from layouts.figures import Found, figures
from layouts.study import Study


def write(out: Path, study: Study) -> dict[str, Any]:
    """From all measurements in the folder, also those of earlier runs."""
    found = Found(study.table.rows)
    answers = figures(found)
    described = machine.describe(study.target.parent)
    summary: dict[str, Any] = {
        "machine": described,
        "settings": json.loads(study.settings.to_json()),
        "figures": [
            {
                "figure": each.name,
                "median": each.spread.median,
                "values": each.spread.values,
                "target": each.target,
                "paper": each.paper,
            }
            for each in answers
        ],
    }
    lines = [f"{_json(key)}: {_json(value)}" for key, value in summary.items() if key != "figures"]
    lines.append('"figures": [\n' + ",\n".join(map(_json, summary["figures"])) + "\n]")
    (out / "summary.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    pictures = plot.draw(out, found)
    text = report.markdown(found, answers, study.settings, described)
    shown = "\n\n".join(f"![writing and reading of {path.stem}]({path.name})" for path in pictures)
    (out / "report.md").write_text(f"# Results of the layouts study\n\n{shown}\n\n{text}")
    return summary


def sentences(summary: dict[str, Any], out: Path) -> list[str]:
    lines = [f"{each['figure']}: {each['median']:.3g}" for each in summary["figures"]]
    return [*lines, f"All of it: {out / 'report.md'}, measurements.csv, summary.json and pictures beside it."]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
