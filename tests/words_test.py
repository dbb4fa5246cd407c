"""Words that were given up do not come back: ARCHITECTURE.md lists them, each with what is said instead."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROW = re.compile(r"^\| (.+?) \| (.+?) \|$", re.MULTILINE)
# The table itself, what was said in its time, and this test.
PLACES_OF_OLD_WORDS = re.compile(r"^(ARCHITECTURE\.md|CHANGELOG\.md|docs/decisions/.*|tests/words_test\.py)$")
# Words of other projects, if they mean that.
ALLOWED = {
    "gauge": re.compile(r"Kind::gauge|counter, gauge|gauge\\n|\"gauge\"|TYPE \w+ gauge|GaugeMetricFamily|_GAUGES"),
}


def retired(architecture: str) -> dict[str, str]:
    """Word → what is said instead."""
    section = architecture.split("Retired words")[1].split("\n## ")[0]
    return {word.strip("`"): instead for word, instead in ROW.findall(section) if word.startswith("`")}


def pattern(word: str) -> re.Pattern[str]:
    """As a word of a sentence, of a name_in_snake_case, or of a NameInCapWords; one or several."""
    camel = "".join(part.capitalize() for part in word.split("_"))
    spaced = word.replace("_", "[_ ]")

    def one_or_several(text: str) -> str:
        return rf"{text[:-1]}(?:y|ys|ies)" if text.endswith("y") else rf"{text}(?:s|es)?"

    return re.compile(rf"(?<![A-Za-z])(?i:{one_or_several(spaced)})(?![A-Za-z])|{one_or_several(camel)}(?![a-z])")


def found(word: str, text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        allowed = ALLOWED.get(word)
        if pattern(word).search(allowed.sub("", line) if allowed else line):
            yield number, line.strip()


def texts(repository: Path) -> Iterator[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        path = repository / name
        is_text = path.suffix in {".cc", ".h", ".py", ".md", ".c"} and path.is_file()
        if is_text and not PLACES_OF_OLD_WORDS.match(name):
            yield name, path.read_text()


def test_no_retired_word_is_used(repository: Path) -> None:
    words = retired((repository / "ARCHITECTURE.md").read_text())
    assert words, "the table of retired words is gone"
    uses = [
        f"{name}:{number}: {line} ('{word}' is retired; say {words[word]})"
        for name, text in texts(repository)
        for word in words
        for number, line in [*found(word, f"\n{text}"), *found(word, Path(name).stem)]
    ]
    assert uses == []


@pytest.mark.parametrize(
    "text",
    [
        *("a last word", "last_words(x)", "the last words", "LastWords said", "ParkingLot lot_;", "parking_lot.h"),
        *("its story", "two stories", "Stories of", "tell_stories(x)", "StoryTeller", "the LogStories", "DesksOf"),
    ],
)
def test_words_are_found_in_all_their_forms(text: str) -> None:
    assert any(list(found(word, text)) for word in ("last_word", "last_words", "parking_lot", "story", "desk"))


@pytest.mark.parametrize(
    "text", ["desktop", "wishful", "Kind::gauge", "blastwords", "histories", "storied", "storyboard"]
)
def test_parts_of_other_words_are_not(text: str) -> None:
    assert not any(list(found(word, text)) for word in ("desk", "wish", "gauge", "last_words", "story"))


def test_a_row_of_the_table_is_a_word_and_what_is_said_instead() -> None:
    assert retired("Retired words\n\n| retired | say |\n|---|---|\n| `desk` | orders |\n\n## Next\n| `x` | y |\n") == {
        "desk": "orders"
    }
