"""manual.py FOLDER: writes a page of manual for each command (FOLDER/man/man1), and completions for bash, zsh and fish,
from what the installed commands say of themselves. See `make manual`."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer
from typer._completion_shared import get_completion_script

from thalweg import __version__
from thalweg.cli import app, register

COMPLETIONS = {
    "bash": "bash-completion/completions/thalweg",
    "zsh": "zsh/site-functions/_thalweg",
    "fish": "fish/vendor_completions.d/thalweg.fish",
}
EXIT_CODES = (
    "0 if all is done, 1 if the run failed or data are lost or left out, 2 if the request was wrong."
    "  The result goes to stdout, everything else to stderr."
)


def roff(text: str) -> str:
    """Returns a text as roff shows it: hyphens stay hyphens, and no line begins a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def page_of(command: Any, name: str) -> str:
    context = click.Context(command, info_name=name)
    title = name.replace(" ", "-")
    about = " ".join((command.help or "").split())
    first = re.split(r"(?<=[.:]) ", about)[0].rstrip(".:")
    lines = [
        f'.TH "{roff(title.upper())}" "1" "" "thalweg {__version__}" "Thalweg"',
        ".SH NAME",
        f"{roff(title)} \\- {roff(first[:1].lower() + first[1:])}",
        ".SH SYNOPSIS",
        f".B {roff(name)}",
        roff(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
    ]
    for paragraph in (command.help or "").split("\n\n"):
        lines += [".PP", roff(" ".join(paragraph.split()))]
    lines += options_of(command, context)
    for each, inner in sorted(getattr(command, "commands", {}).items()):
        said = re.split(r"(?<=[.:]) ", " ".join((inner.help or "").split()))[0]
        lines += [".TP", f".BR {roff(f'{title}-{each}')} (1)", roff(said)] if said else []
    examples = [line.strip() for line in (command.epilog or "").splitlines()[1:] if line.strip()]
    if examples:
        lines += [".SH EXAMPLES", *(line for each in examples for line in (".PP", ".nf", roff(each), ".fi"))]
    return "\n".join([*lines, ".SH EXIT STATUS", roff(EXIT_CODES)]) + "\n"


def options_of(command: Any, context: click.Context) -> list[str]:
    records = [record for each in command.params if (record := each.get_help_record(context))]
    lines = [".SH OPTIONS"] if records else []
    for option, text in records:
        lines += [".TP", f".B {roff(option)}", roff(" ".join(text.split()))]
    return lines + ([".SH COMMANDS"] if getattr(command, "commands", {}) else [])


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for each, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {each}")


def main(folder: Path) -> None:
    register()
    for name, command in commands(typer.main.get_command(app), "thalweg"):
        path = folder / "man" / "man1" / f"{name.replace(' ', '-')}.1"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page_of(command, name))
    for shell, place in COMPLETIONS.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        script = get_completion_script(prog_name="thalweg", complete_var="_THALWEG_COMPLETE", shell=shell)
        path.write_text(script.strip() + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
