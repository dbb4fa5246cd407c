"""The `thalweg` command. One file per subcommand; results go to stdout, everything else to stderr."""

from thalweg.cli._first import end_imports, ignore_interrupts

# isort: split

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import cleandoc
from itertools import takewhile
from shutil import get_terminal_size
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from thalweg import __version__
from thalweg._base.errors import Error, UsageError


class _InterruptedError(Exception):
    """Raised for a KeyboardInterrupt in a command."""


class _Commands(TyperGroup):
    """Keeps interrupts from typer, whose later versions return 130 for them, as a traced program may do, too."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _interrupts_are_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _interrupts_are_errors():
            return super().invoke(ctx)


class _Command(TyperCommand):
    """Shows brackets in its help texts as they are: rich takes them for markup. In a narrow terminal, the help has no
    columns, which rich would cut."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from rich.markup import escape  # here, since few commands show a help

        from thalweg.cli._narrow_help import LEAST_COLUMNS_WIDTH, narrow_help

        if (width := get_terminal_size().columns) < LEAST_COLUMNS_WIDTH:
            formatter.write(narrow_help(self, ctx, width))
            return

        options = [each for each in self.params if getattr(each, "help", None)]
        plain = self.help, [each.help for each in options]  # type: ignore[attr-defined]
        self.help = escape(self.help or "")
        for each in options:
            each.help = escape(each.help)  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            self.help = plain[0]
            for each, text in zip(options, plain[1], strict=True):
                each.help = text  # type: ignore[attr-defined]


@contextmanager
def _interrupts_are_errors() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise _InterruptedError from None


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False)

DONE, FAILED, WRONG_REQUEST = 0, 1, 2


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"thalweg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Record, inspect, verify, recover, convert, merge and plot detector data.

    Exit codes: 0 if all is done, 1 if the run failed or data are lost or left out, 2 if the request was wrong.
    """


_DATA = ("record", "inspect", "verify", "recover", "snapshot", "serve", "mount", "convert", "merge", "derive", "plot")
_COMMANDS = (*_DATA, "tdpac", "watch", "devices", "readout", "trace", "explain", "tune", "topology", "clean", "knobs")
_registered: set[str] = set()


def register(*names: str) -> None:
    """Imports these commands, or all. One alone takes three quarters of the time: some need servers, or tables."""
    for name in names or _COMMANDS:
        if name not in _registered:
            importlib.import_module(f"thalweg.cli.{name}").register(app)
            _registered.add(name)
    _unfold(app)


def _unfold(commands: typer.Typer) -> None:
    """Joins the lines of each paragraph of the help texts, so that they are folded to the width of the terminal."""
    for command in commands.registered_commands:
        text = cleandoc(command.help or (command.callback and command.callback.__doc__) or "")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        command.cls = _Command
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _unfold(group.typer_instance)


def main() -> None:
    code = run()
    ignore_interrupts()
    sys.exit(code)


def run(command: typer.Typer = app, name: str = "thalweg") -> int:
    """Runs the command and returns its exit code. An error becomes one sentence on stderr, never a traceback."""
    try:
        if command is app:
            register(*(word for word in sys.argv[1:2] if word in _COMMANDS))
        parsed_by = get_command(command)  # for which typer imports more
        end_imports()
        _check_arguments()
        code = parsed_by(standalone_mode=False, prog_name=name) or DONE
        sys.stdout.flush()  # a reader that has ended is met here, and not when the interpreter ends
        return code
    except UsageError as error:
        return _fail(error, WRONG_REQUEST)
    except Error as error:
        return _fail(error, FAILED)
    except (KeyboardInterrupt, _InterruptedError):
        return _fail("interrupted", FAILED)
    except BrokenPipeError:
        from thalweg.cli._output import forget_stdout

        forget_stdout()
        return FAILED  # the program that read our output has ended
    except SystemExit:
        if _asks_for_help():
            return DONE  # rich ends the program if the reader of the help, such as `head`, has ended
        raise
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        from thalweg.cli._wrong_words import sentence_of

        message = sentence_of(error)
        return _fail(message, WRONG_REQUEST) if message else WRONG_REQUEST  # the help was shown


def _check_arguments() -> None:
    """Raises UsageError if an argument is not UTF-8: files hold UTF-8 only. A traced program may get any bytes."""
    for argument in () if sys.argv[1:2] in (["trace"], ["tune"]) else sys.argv[1:]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{argument!a} cannot be used (it is not UTF-8 text): rename it") from None


def _asks_for_help() -> bool:
    return "--help" in takewhile(lambda word: word != "--", sys.argv[1:])


def _fail(error: object, code: int) -> int:
    print(f"thalweg: {error}", file=sys.stderr)
    return code
