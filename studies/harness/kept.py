"""The kept results of a study, results/summary.json: the figures of its table, and the spread of each variant.

Tables and the main picture are made from it alone (`run.py STUDY --draw`). The measurements themselves stay in
build/bench/raw, on the machine that made them; run.py measures them again.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.figures import Answer, Round, Spread

Spreads = dict[str, dict[str, Spread]]  # variant -> key -> what all rounds gave


@dataclass(frozen=True)
class Kept:
    facts: dict[str, Any]  # machine, noise, what is missing, ...
    answers: list[Answer]
    variants: Spreads

    @staticmethod
    def of(facts: dict[str, Any], answers: list[Answer], rounds: list[Round], columns: Sequence[str]) -> "Kept":
        found: dict[str, dict[str, list[float]]] = {}
        for each in rounds:
            for variant, measured in each.items():
                values = found.setdefault(variant, {})
                for key in columns:
                    if isinstance(measured.get(key), int | float):
                        values.setdefault(key, []).append(float(measured[key]))
        spreads = {name: {key: Spread.of(values) for key, values in by_key.items()} for name, by_key in found.items()}
        return Kept(facts, answers, spreads)

    @staticmethod
    def read(path: Path) -> "Kept":
        kept = json.loads(path.read_text())
        answers = [
            Answer(each["figure"], each["target"], each.get("paper", ""), Spread(*each["spread"]))
            for each in kept.pop("figures")
        ]
        variants = {
            name: {key: Spread(*spread) for key, spread in by_key.items()}
            for name, by_key in kept.pop("variants").items()
        }
        return Kept(kept, answers, variants)

    def write(self, path: Path) -> None:
        """One line for each figure and each variant."""
        figures = [
            {"figure": each.figure, "target": each.target, "paper": each.paper, "spread": _numbers(each.spread)}
            for each in self.answers
        ]
        variants = {
            name: {key: _numbers(spread) for key, spread in by_key.items()} for name, by_key in self.variants.items()
        }
        lines = [f"{_json(key)}: {_json(value)}" for key, value in self.facts.items()]
        lines.append('"figures": [\n' + ",\n".join(map(_json, figures)) + "\n]")
        entries = (f"{_json(name)}: {_json(by_key)}" for name, by_key in variants.items())
        lines.append('"variants": {\n' + ",\n".join(entries) + "\n}")
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")

    def of_measure(self, key: str) -> dict[str, Spread]:
        """Returns the variants that have this number."""
        return {name: by_key[key] for name, by_key in self.variants.items() if key in by_key}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _numbers(spread: Spread) -> list[float]:
    return [float(f"{value:.6g}") for value in (spread.median, spread.low, spread.high)] + [spread.rounds]
