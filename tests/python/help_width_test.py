"""Help texts fill the terminal that they are shown in, and are never wider."""

import itertools
from collections.abc import Iterator

import click
import pytest
from rich.cells import cell_len
from typer.main import get_command
from typer.testing import CliRunner

from thalweg import cli


def commands(group: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*words, name))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_any_help_is_wider_than_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    cli.register()
    all_words = list(commands(get_command(cli.app)))
    assert ("readout", "serve") in all_words
    for words in all_words:
        done = CliRunner(env={"COLUMNS": str(width)}).invoke(cli.app, [*words, "--help"])
        assert done.exit_code == 0, done.output
        assert "[]" not in done.output, words
        lines = done.output.splitlines()
        assert max(cell_len(line) for line in lines) <= width, (words, max(lines, key=cell_len))
        pairs = itertools.pairwise(lines)
        assert [line for line, after in pairs if is_broken_too_early(line, after, width)] == [], words


def is_broken_too_early(line: str, after: str, width: int) -> bool:
    """Whether the next line begins in lower case, so that it goes on, with a word that would have fitted."""
    if line.startswith(("│", "╭", "╰")) or not after[1:2].islower():
        return False
    return bool(line.strip()) and cell_len(line.rstrip()) + 1 + len(after.split()[0]) < width - 1


def test_brackets_of_help_texts_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    cli.register()
    for command in ("watch", "serve", "tdpac"):
        done = CliRunner(env={"COLUMNS": "120"}).invoke(cli.app, [command, "--help"])
        assert f"pip install 'thalweg[{command}]'" in " ".join(done.output.split()), done.output


@pytest.mark.parametrize("width", [40, 60])
def test_no_name_of_an_option_is_cut_in_a_narrow_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    cli.register()
    for words in commands(get_command(cli.app)):
        command: click.Command = get_command(cli.app)
        for word in words:
            command = command.commands[word]  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            continue
        output = CliRunner(env={"COLUMNS": str(width)}).invoke(cli.app, [*words, "--help"]).output
        names = [
            name for each in command.params for name in each.opts if isinstance(each, click.Option) and not each.hidden
        ]
        assert [name for name in names if f"{name} " not in output and f"{name}\n" not in output] == [], words
