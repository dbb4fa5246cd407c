"""Each assertion that ARCHITECTURE.md names under "Invariants" stands in the file that it names."""

import re
from pathlib import Path

ASSERTION = re.compile(r"^ +- `([\w/]+\.(?:cc|h))`:\s+\"([^\"]+)\"", re.MULTILINE)


def asserts(path: Path, text: str) -> bool:
    """Says whether the file has an assertion with this text, which may be written as several literals."""
    assertions = path.read_text().split("THALWEG_ASSERT")[1:]
    return any(f'"{text}");' in re.sub(r'"\s*\n\s*"', "", each) for each in assertions)


def test_assertions_of_the_invariants_are_there(repository: Path) -> None:
    section = (repository / "ARCHITECTURE.md").read_text().split("\n## Invariants\n")[1].split("\n## ")[0]
    named = ASSERTION.findall(section)
    assert len(named) >= 20, "the invariants name their assertions no more"
    assert section.count('"\n') == len(named), "a line of the list has another form"
    missing = [
        f'thalweg/{name}: "{text}"'
        for name, text in named
        if not (repository / "thalweg" / name).is_file() or not asserts(repository / "thalweg" / name, text)
    ]
    assert not missing, "\n".join(missing)
