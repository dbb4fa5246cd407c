"""tidy.py [FILE...]: the house rules that no other tool checks. Without files: everything that git would commit."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from first_sentences import beginnings

MAX_COLUMNS = 120
MAX_LINES = 400
# Files that may be longer, each with its reason.
LONG_FILES: dict[str, str] = {}

CODE = {".cc", ".h", ".py", ".cmake"}
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
PRINTING = re.compile(r"std::(cout|puts|printf)\b|\b(printf|puts|putchar)\(|fmt::print\((?!stderr)|\bstdout\b")
MUTEX = re.compile(r"std::(\w*mutex|lock_guard|scoped_lock)\b")
# Files that may use them, each with its reason.
BARE_MUTEXES = {
    "thalweg/base/thread.h": "base::Mutex itself",
    "thalweg/base/stop.cc": "it guards nothing: one waits with it",
    "thalweg/format/hdf5/library_lock.h": "it guards libhdf5, and a thread may take it twice: clang knows none such",
    "thalweg/format/hdf5/library_lock.cc": "as its header",
}

FRAGMENT = re.compile(r"[*_`]*(Of|Where|But for|Not where|Who)\b(?![`*_]* ?[(:])")
# Lines of Markdown that may be wider: tables, headings, single words (links), indented code.
UNBREAKABLE = re.compile(r"\s*([|#<]|\S+$)|\s{4}")

Finding = tuple[int, str]


def line_length(path: Path, lines: list[str]) -> Iterator[Finding]:
    if path.suffix in CODE:
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                yield number, f"{len(line)} columns; {MAX_COLUMNS} are allowed"


def prose_width(path: Path, lines: list[str]) -> Iterator[Finding]:
    """Markdown is wrapped as code is, so that a change of one sentence is a change of few lines."""
    left_alone = False  # code, and what a program writes between two marks
    for number, line in enumerate(lines if path.suffix == ".md" else [], 1):
        if line.lstrip().startswith(("```", "~~~")):
            left_alone = not left_alone
        elif line.startswith("<!-- "):
            left_alone = not line.startswith("<!-- end")
        elif len(line) > MAX_COLUMNS and not left_alone and not UNBREAKABLE.match(line):
            yield number, f"{len(line)} columns; {MAX_COLUMNS} are allowed: wrap the paragraph"


def file_length(path: Path, lines: list[str]) -> Iterator[Finding]:
    if path.suffix in CODE and len(lines) > MAX_LINES and str(path) not in LONG_FILES:
        yield MAX_LINES + 1, f"{len(lines)} lines; {MAX_LINES} are allowed: split the file by what it does"


def unfinished(_: Path, lines: list[str]) -> Iterator[Finding]:
    for number, line in enumerate(lines, 1):
        if mark := UNFINISHED.search(line):
            yield number, f"{mark[0]}: finish it, or open an issue"


def white_space(path: Path, lines: list[str]) -> Iterator[Finding]:
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
        if "\t" in line and path.suffix in CODE:
            yield number, "a tab"
    if lines and not lines[-1]:
        yield len(lines), "an empty line at the end of the file"


def header_guard(path: Path, lines: list[str]) -> Iterator[Finding]:
    if path.suffix == ".h" and "#pragma once" not in lines:
        yield 1, "a header without #pragma once"


def using_namespace(path: Path, lines: list[str]) -> Iterator[Finding]:
    if path.suffix == ".h":
        for number, line in enumerate(lines, 1):
            if re.match(r"\s*using namespace\b", line):
                yield number, "using namespace in a header, which reaches every file that includes it"


def file_name(path: Path, _: list[str]) -> Iterator[Finding]:
    if path.suffix in {".cc", ".h", ".py"} and not re.fullmatch(r"[a-z0-9_.]+", path.name):
        yield 1, "file names are lower_case_with_underscores"


def own_header_first(path: Path, lines: list[str]) -> Iterator[Finding]:
    """NAME.cc implements NAME.h and includes it first, so that the compiler proves it complete; or, where there is no
    NAME.h, it implements a part of another header of its folder."""
    if path.suffix != ".cc" or path.parts[0] != "thalweg" or path.name.count(".") > 1:
        return
    includes = [line.split('"')[1] for line in lines if line.startswith('#include "')]
    own = str(path.with_suffix(".h"))
    if Path(own).exists():
        if next((line for line in lines if line.startswith("#include")), "") != f'#include "{own}"':
            yield 1, f"{own} comes first among the includes"
    elif not any(include.startswith(f"{path.parent}/") for include in includes):
        yield 1, "it implements no header of its folder"


def silent_library(path: Path, lines: list[str]) -> Iterator[Finding]:
    """Programs read stdout: the library says what it has to say in values and errors."""
    is_library = path.suffix in {".cc", ".h"} and path.parts[0] in {"thalweg", "python"}
    if is_library and not path.name.endswith((".test.cc", ".bench.cc")):
        for number, line in enumerate(lines, 1):
            if PRINTING.search(line.partition("//")[0]):
                yield number, "library code writes to stdout"


def bare_mutex(path: Path, lines: list[str]) -> Iterator[Finding]:
    """clang knows what a base::Mutex guards, and nothing of those of the standard library."""
    if path.suffix in {".cc", ".h"} and path.parts[0] == "thalweg" and str(path) not in BARE_MUTEXES:
        for number, line in enumerate(lines, 1):
            if mutex := MUTEX.search(line.partition("//")[0]):
                yield number, f"{mutex[0]}: use base::Mutex and base::Lock, and THALWEG_GUARDED_BY"


def first_sentence(path: Path, lines: list[str]) -> Iterator[Finding]:
    """A first sentence has a subject and a verb. The words of FRAGMENT begin one without, or hide the subject."""
    for number, text in beginnings(path, lines):
        if fragment := FRAGMENT.match(text):
            what = f'a first sentence begins with "{fragment[1]}"'
            yield (
                number,
                f"{what}: begin with its subject; a condition is an if, and a process has the name of its role",
            )


RULES = [line_length, file_length, unfinished, white_space, header_guard, using_namespace, file_name, own_header_first]
RULES += [silent_library, bare_mutex, prose_width, first_sentence]


def findings(path: Path) -> Iterator[str]:
    """`path` is relative to the root of the repository, which is the working directory."""
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        return  # a picture
    for rule in RULES:
        for number, message in rule(path, lines):
            yield f"{path}:{number}: {message} [{rule.__name__}]"


def files_of_the_project() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in map(Path, sorted(names)) if path.is_file() and path.name != "LICENSE"]


def main(names: list[str]) -> int:
    paths = [Path(name) for name in names] or files_of_the_project()
    found = [finding for path in paths for finding in findings(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
