"""The house rules hold for every file of the project, and each rule finds what it is there to find."""

from pathlib import Path

import pytest

import tidy


@pytest.fixture
def in_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)


@pytest.mark.usefixtures("in_repository")
def test_the_project_is_tidy() -> None:
    if not Path(".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    assert [finding for path in tidy.files_of_the_project() for finding in tidy.findings(path)] == []


@pytest.mark.usefixtures("in_repository")
def test_the_list_of_long_files_is_not_out_of_date() -> None:
    short = [name for name in tidy.LONG_FILES if len(Path(name).read_text().splitlines()) <= tidy.MAX_LINES]
    assert short == []


@pytest.mark.usefixtures("in_repository")
def test_the_list_of_bare_mutexes_is_not_out_of_date() -> None:
    assert [name for name in tidy.BARE_MUTEXES if not tidy.MUTEX.search(Path(name).read_text())] == []


@pytest.fixture
def rules_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes one file into an empty project and returns the names of the rules that it breaks."""
    monkeypatch.chdir(tmp_path)

    def check(name: str, text: str) -> list[str]:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return [finding.rpartition("[")[2].rstrip("]") for finding in tidy.findings(path)]

    return check


GOOD_HEADER = "#pragma once\n\nint answer();\n"
GOOD_SOURCE = '#include "thalweg/base/a.h"\n\n#include <cstdio>\n\nint answer() { return 42; }\n'


def test_tidy_files_pass(rules_broken) -> None:
    assert rules_broken("thalweg/base/a.h", GOOD_HEADER) == []
    assert rules_broken("thalweg/base/a.cc", GOOD_SOURCE) == []
    assert rules_broken("thalweg/base/part_of_a.cc", GOOD_SOURCE) == []
    assert rules_broken("thalweg/base/several_things.test.cc", GOOD_SOURCE) == []


@pytest.mark.parametrize(
    ("rule", "name", "text"),
    [
        ("line_length", "a.py", f"a = '{'x' * 120}'\n"),
        ("line_length", "cmake/a.cmake", "#" * 121 + "\n"),
        ("file_length", "a.h", "#pragma once\n" + "int a;\n" * 400),
        ("unfinished", "README.md", "To be done: TO" + "DO\n"),
        ("unfinished", "thalweg/base/a.test.cc", "// FIX" + "ME later\n"),
        ("white_space", "docs/a.md", "text \n"),
        ("white_space", "a.h", "#pragma once\n\tint a;\n"),
        ("white_space", "a.py", "a = 1\n\n"),
        ("header_guard", "a.h", "int answer();\n"),
        ("using_namespace", "a.h", "#pragma once\n  using namespace std;\n"),
        ("file_name", "thalweg/base/CamelCase.h", "#pragma once\n"),
        ("file_name", "tools/with-dash.py", ""),
        ("own_header_first", "thalweg/base/a.cc", '#include <cstdio>\n\n#include "thalweg/base/a.h"\n'),
        ("own_header_first", "thalweg/base/lonely.cc", "int a;\n"),
        ("own_header_first", "thalweg/base/part.cc", '#include "thalweg/model/a.h"\n'),
        ("silent_library", "thalweg/base/b.h", '#pragma once\ninline void f() { std::cout << "x"; }\n'),
        ("silent_library", "thalweg/base/b.h", '#pragma once\ninline void f() { fmt::print("x"); }\n'),
        ("silent_library", "python/bind/b.h", '#pragma once\ninline void f() { printf("x"); }\n'),
        ("bare_mutex", "thalweg/base/b.h", "#pragma once\nextern std::mutex mutex;\n"),
        ("bare_mutex", "thalweg/base/b.h", "#pragma once\nextern std::shared_mutex mutex;\n"),
        ("bare_mutex", "thalweg/base/a.cc", GOOD_SOURCE + "std::lock_guard const lock(mutex);\n"),
        ("prose_width", "README.md", "Many words" + " and more" * 13 + "\n"),
        ("first_sentence", "thalweg/base/b.h", "#pragma once\n// Of one of several nodes.\nint a;\n"),
        ("first_sentence", "thalweg/base/b.h", "#pragma once\nint a; // Who holds it.\n"),
        ("first_sentence", "thalweg/interpose/b.c", "/* Where nothing is traced, it is null. */\nint a;\n"),
        ("first_sentence", "a.py", "# But for its journal.\na = 1\n"),
        ("first_sentence", "a.py", 'def f():\n    """Not where the disk is full."""\n'),
        ("first_sentence", "docs/a.md", "# A page\n\nWhere it fails, it says so.\n"),
        ("first_sentence", "docs/a.md", "- *Of a run* all rows are kept.\n"),
    ],
)
def test_a_broken_rule_is_found(rules_broken, rule: str, name: str, text: str) -> None:
    rules_broken("thalweg/base/a.h", GOOD_HEADER)
    assert rules_broken(name, text) == [rule]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "| " + "x " * 150 + "|\n"),  # tables of text may be wide
        ("README.md", "```console\n$" + " x" * 150 + "\n```\n"),
        ("README.md", "## Where to go on\n\nThe readers are here.\n"),
        ("thalweg/base/b.h", "#pragma once\n// The nodes of a run.\n// Of these one completes it.\nint a;\n"),
        ("a.py", 'a = "# Of a text"\n'),
        ("thalweg/base/b.h", '#pragma once\ninline void f() { fmt::print(stderr, "x"); }\n'),
        ("thalweg/base/b.h", "#pragma once\nint snprintf_size(); // printf(3) counts alike\n"),
        ("tools/a.py", 'print("programs read this")\n'),
    ],
)
def test_what_only_looks_like_a_broken_rule_passes(rules_broken, name: str, text: str) -> None:
    assert rules_broken(name, text) == []


def test_pictures_are_left_alone(tmp_path: Path) -> None:
    picture = tmp_path / "pulses.png"
    picture.write_bytes(b"\x89PNG\xff\xfe \n")
    assert list(tidy.findings(picture)) == []
