"""How commands speak: sentences and tables on stderr, JSON on stdout."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

people = Console(stderr=True, highlight=False, soft_wrap=True)

JsonOption = Annotated[bool, typer.Option("--json", help="The answer on stdout, for programs.")]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A closed file, or a run that is still open.")]


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr)
