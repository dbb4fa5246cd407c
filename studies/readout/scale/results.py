"""What was measured, by part and by name: medians and ranges, kept as JSON."""

import json
import statistics
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER.parent / "results" / "scale.json"

Kept = dict[str, Any]


def spreads(rounds: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Returns [median, smallest, largest] of every number; of what is true or false, whether it was true always."""
    found = {}
    for key in rounds[0]:
        values = [each[key] for each in rounds if isinstance(each.get(key), bool | int | float)]
        if not values:
            continue
        if isinstance(values[0], bool):
            found[key] = [float(all(values)), float(min(values)), float(max(values))]
        else:
            found[key] = [float(f"{value:.4g}") for value in (statistics.median(values), min(values), max(values))]
    return found


def read(path: Path = RESULTS) -> Kept:
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def write(kept: Kept, path: Path = RESULTS) -> None:
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
