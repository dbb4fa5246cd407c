"""Tables for a terminal of any width: columns that do not fit beside each other stand below each other, uncut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

_GAP = 2
_INDENT = 4  # of the second and later lines of a row; less in a very narrow terminal
_LEAST_FOLDED = 24  # narrower text is not pleasant to read: it gets a line of its own


@dataclass(frozen=True)
class Heading:
    name: str
    is_number: bool = False  # which stands at the right
    is_folded: bool = False  # a text of many words; at most the last column is one


@dataclass(frozen=True)
class _Place:
    """The place of a column in one of the lines of a row."""

    column: int
    width: int


class StackedTable:
    """A table whose rows take one line, or several in a terminal that is too narrow. Its headings then do, too.

    rich cuts columns that do not fit, and a number without its last digits is another number.
    """

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._headings = headings
        self._rows: list[tuple[list[Text], str]] = []

    def add_row(self, *cells: str | Text, style: str = "") -> None:
        """Adds a row, in which the last cells may be missing."""
        given = [Text(cell) if isinstance(cell, str) else cell for cell in cells]
        missing = len(self._headings) - len(given)
        self._rows.append(([*given, *(Text() for _ in range(missing))], style))

    def lines_per_row(self, width: int) -> int:
        """Returns how many lines a row takes if no text of it is folded."""
        return len(self._places(width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = options.max_width
        places = self._places(width)
        headings = [Text(heading.name) for heading in self._headings]
        for cells, style in [(headings, "dim"), *self._rows]:
            for number, line in enumerate(places):
                yield from self._lines(console, cells, line, style, _indent(width) if number else 0)

    def _places(self, width: int) -> list[list[_Place]]:
        """Distributes the columns among the lines of a row."""
        lines: list[list[_Place]] = [[]]
        left = width
        for column, heading in enumerate(self._headings):
            needed = self._width_of(column)
            least = min(needed, _LEAST_FOLDED) if heading.is_folded else needed
            if least > left and lines[-1]:
                lines.append([])
                left = width - _indent(width)
            taken = min(needed, left)
            lines[-1].append(_Place(column, taken))
            left -= taken + _GAP
        return lines

    def _width_of(self, column: int) -> int:
        cells = (cells[column].plain for cells, _ in self._rows)
        return max(map(cell_len, (self._headings[column].name, *cells)))

    def _lines(
        self, console: Console, cells: Sequence[Text], places: Sequence[_Place], style: str, indent: int
    ) -> Iterator[Text]:
        """Yields a line of a row, or several if a text is folded; none if its cells are empty."""
        folded = [cells[place.column].wrap(console, place.width, overflow="fold", no_wrap=False) for place in places]
        for number in range(max(map(len, folded))):
            line = Text(" " * indent, no_wrap=True, overflow="ignore")
            for place, texts in zip(places, folded, strict=True):
                text = texts[number] if number < len(texts) else Text()
                text.rstrip()
                blank = Text(" " * (place.width - text.cell_len))
                is_right = self._headings[place.column].is_number
                line.append_text(Text.assemble(*((blank, text) if is_right else (text, blank)), " " * _GAP))
            line.rstrip()
            line.stylize_before(style)
            if line:
                yield line


def _indent(width: int) -> int:
    return min(_INDENT, width // 8)
