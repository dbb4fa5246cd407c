"""python -m dashboards [--look] FOLDER: makes dashboards, rules and their page in a checkout.

With --look the table of metrics is first taken from a running handler and a running recording; `make metrics` does so.
"""

import argparse
import json
from pathlib import Path

import yaml

from dashboards.grafana import dashboard
from dashboards.live import look
from dashboards.metrics import PROGRAMS, read_table, write_table
from dashboards.pages import between_marks, rules, section

_HEAD = "# Made by tools/dashboards. docs/monitoring.md says what each alert means, and what to do.\n"


def files(folder: Path) -> dict[Path, str]:
    """Returns the content of each file that is made from the table of metrics in this checkout."""
    table = read_table(folder / "deploy/grafana/metrics.json")
    page = folder / "docs/monitoring.md"
    made = {
        folder / f"deploy/grafana/{program}.json": json.dumps(dashboard(program, table[program]), indent=1) + "\n"
        for program in PROGRAMS
    }
    text = yaml.safe_dump(rules(table), sort_keys=False, width=110, allow_unicode=True)
    made[folder / "deploy/grafana/alerts.yml"] = _HEAD + text
    made[page] = between_marks(page, section(table))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--look", action="store_true", help="take the table from programs that this starts")
    given = parser.parse_args()
    if given.look:
        write_table(given.folder / "deploy/grafana/metrics.json", look())
    for path, text in files(given.folder).items():
        path.write_text(text)


if __name__ == "__main__":
    main()
