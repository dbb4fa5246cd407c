"""Finds the beginnings of comments, docstrings and paragraphs, for the rules of tidy.py."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

Beginning = tuple[int, str]  # a line, and the text from there on

_C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LIST_ITEM = re.compile(r"([-*+]|\d+[.)])\s+")
_NO_PROSE = ("#", "|", "<", "    ")


def beginnings(path: Path, lines: list[str]) -> Iterator[Beginning]:
    """Yields the beginning of each comment, docstring or paragraph of a file."""
    text = "\n".join(lines) + "\n"
    if path.suffix in {".c", ".cc", ".h"}:
        return _of_c(text)
    if path.suffix == ".py":
        return _of_python(text)
    return _of_markdown(lines) if path.suffix == ".md" else iter(())


def _of_c(text: str) -> Iterator[Beginning]:
    end_of_block = -1  # the last line of a block of // comments
    for token in _C_TOKEN.finditer(text):
        if not token[0].startswith(("//", "/*")):
            continue
        line = text.count("\n", 0, token.start()) + 1
        alone = not text[text.rfind("\n", 0, token.start()) + 1 : token.start()].strip()
        goes_on = alone and token[0].startswith("//") and end_of_block == line - 1
        end_of_block = line if alone and token[0].startswith("//") else -1
        if not goes_on:
            yield line, token[0][2:].lstrip("/*! \n")


def _of_python(text: str) -> Iterator[Beginning]:
    end_of_block = -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            alone = not token.line[:column].strip()
            if not (alone and end_of_block == line - 1):
                yield line, token.string.lstrip("#!: ")
            end_of_block = line if alone else -1
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else []:
            value = each.value if isinstance(each, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield each.lineno, value.value.lstrip()


def _of_markdown(lines: list[str]) -> Iterator[Beginning]:
    fence = ""
    begins = True
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if fence or stripped.startswith(("```", "~~~")):
            fence = "" if fence and stripped.startswith(fence) else fence or stripped[:3]
            begins = True
            continue
        item = _LIST_ITEM.match(stripped)
        if stripped and (begins or item) and not line.startswith(_NO_PROSE):
            yield number, stripped[item.end() :] if item else stripped
        begins = not stripped or stripped.startswith("#")
