"""thalweg knobs"""

from typing import Annotated

import typer

from thalweg import _core
from thalweg._base.stacked import Heading, StackedTable
from thalweg.cli._output import JsonOption, answer, as_epilog, print_json

EXAMPLES = ["thalweg knobs", "thalweg knobs --json", "thalweg knobs --markdown > docs/knobs.md"]

_PAGE = """# Knobs

Knobs tune how a run is written. No knob changes a written value or what a reader needs to know, and the defaults fit
most uses. `thalweg knobs --markdown` makes this table from `thalweg/tuning/knob_table.cc`.

- In Python: `tw.create(path, schema, tuning=tw.Tuning(flush_interval=0.5, extent_bytes="4 MiB"))`. Numbers are
  bytes or seconds; strings have a unit.
- On the command line, with each command that creates a run: `--set flush_interval=500ms --set extent_bytes=4MiB`.
- In C++: `thalweg::tuning::set(options, "extent_bytes", "4 MiB")` for the options of `Writer::create`.

The values in effect are kept with the run, while it is open and in the complete file: `thalweg inspect` shows them,
and `tw.open(path).knobs` returns them. `auto` means that no value was set; if the container chooses one, that value is
kept instead. Each process that attaches to a run can set a knob that may change in a run; the file keeps the value of
the process that created the run.

"""


def knobs(
    json: JsonOption = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", show_default=False, help="Write the page docs/knobs.md to stdout.")
    ] = False,
) -> int:
    """List the knobs that --set KNOB=VALUE can tune, with their ranges and defaults."""
    if markdown:
        print(knobs_page(), end="")
    elif json:
        print_json([knob_as_json(knob) for knob in _core.knobs()])
    else:
        names = Heading("knob"), Heading("default"), Heading("range"), Heading("what it does", is_folded=True)
        shown = StackedTable(names)
        for knob in _core.knobs():
            shown.add_row(knob.name, knob.default, knob.range, knob.about)
        answer(shown)
    return 0


def knob_as_json(knob: _core.Knob) -> dict[str, object]:
    return {
        "name": knob.name,
        "type": knob.type,
        "unit": knob.unit,
        "range": knob.range,
        "default": knob.parse(knob.default),
        "applies_to": knob.applies_to,
        "may_change_in_a_run": knob.may_change,
        "about": knob.about,
    }


def knobs_page() -> str:
    """Returns the documentation page docs/knobs.md."""
    lines = [
        "| knob | type | range | default | what it does | applies to | may change in a run |",
        "|---|---|---|---|---|---|---|",
    ]
    for knob in _core.knobs():
        unit = f", in {knob.unit}" if knob.unit else ""
        cells = (
            knob.type + unit,
            knob.range,
            knob.default,
            knob.about,
            knob.applies_to,
            "yes" if knob.may_change else "no",
        )
        lines.append(f"| `{knob.name}` | {' | '.join(cells)} |")
    return _PAGE + "\n".join(lines) + "\n"


def register(app: typer.Typer) -> None:
    app.command("knobs", epilog=as_epilog(EXAMPLES))(knobs)
