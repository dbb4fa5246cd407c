"""`{thalweg-commands}`: a section for each command, from what its `--help` has."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class Commands(Directive):
    def run(self) -> list[nodes.Node]:
        import typer

        from thalweg.cli import app, register

        register()
        parent = nodes.section()
        self.state.nested_parse(StringList(list(_command(typer.main.get_command(app), "thalweg"))), 0, parent)
        return list(parent.children)


def _command(command: Any, name: str) -> Iterator[str]:
    import click

    context = click.Context(command, info_name=name)
    commands = getattr(command, "commands", {})
    if not commands:
        yield from (f"## {name}", "")
        yield from (*(command.help or "").split("\n"), "")
        usage = " ".join(command.collect_usage_pieces(context))
        yield from ("```text", f"{name} {usage}", "```", "")
        yield from _options(command, context)
        examples = [line.strip() for line in (command.epilog or "").splitlines()[1:] if line.strip()]
        if examples:
            yield from ("```console", *(f"$ {each}" for each in examples), "```", "")
    for each, inner in commands.items():
        yield from _command(inner, f"{name} {each}")


def _options(command: Any, context: Any) -> Iterator[str]:
    records = [each.get_help_record(context) for each in command.params]
    rows = [record for record in records if record and record[0] != "--help"]
    if rows:
        yield from ("| | |", "|---|---|")
        for option, text in rows:
            said = " ".join(text.split()).replace("|", ", ").replace("<", "&lt;")
            yield f"| `{option.replace('|', ' or ')}` | {said} |"
        yield ""


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("thalweg-commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
