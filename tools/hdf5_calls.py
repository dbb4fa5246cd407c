"""hdf5_calls.py FOLDER...: finds the public calls of HDF5 that the tracer records, in the headers of these folders.

It writes thalweg/interpose/hdf5_calls.h. A call is recorded if it can do I/O: if it takes a file, group, dataset,
attribute, link, object or reference, closes an identifier of any kind (data are flushed there), or is one of the few
properties of transfers. Give the headers of several versions: the tracer serves all of them.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

OUT = Path("thalweg/interpose/hdf5_calls.h")
RECORDED = re.compile(
    r"H5(?:[ADFGLORM]|DO)[a-z]\w*|H5close|H5flush|H5garbage_collect"
    r"|H5I(?:dec_ref|get_name|get_file_id|clear_type|dec_type_ref|destroy_type)"
    r"|H5T(?:commit|open|close|flush|refresh|get_create_plist|convert|reclaim)\w*"
    r"|H5ES(?:wait|close|cancel)|H5P(?:set_dxpl_mpio|set_fapl_mpio|set_alignment|set_coll_metadata_write|close)"
)
# These only read memory, or are not for programs.
NOT_RECORDED = re.compile(r"H5(?:FD|Drw|Rget_region_type|MM)\w*|H5[ADFGLORM]\w*_t")
DECLARATION = re.compile(r"H5_\w*DLL\s+([\w\s*]+?)\b(H5\w+)\s*\(([^;]*?)\)\s*;", re.DOTALL)
# A type that is not one machine word.
NO_WORD = re.compile(r"(const )?(double|float|H5O_token_t)\b[^*]*$|\.\.\.$")
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Call:
    name: str
    arguments: int
    location: int
    """Returns the index of the first identifier: what is opened in it belongs to the same file."""
    path: int
    """Returns, for H5F, the index of the file's name."""
    gives_id: int


def calls_of(folders: list[Path]) -> dict[str, Call]:
    """Returns the calls by name. If versions differ, the one with the most arguments counts: extra words do no harm."""
    found: dict[str, Call] = {}
    for folder in folders:
        for header in sorted(folder.glob("H5*.h")):
            text = COMMENTS.sub(" ", header.read_text(errors="replace"))
            for returned, name, parameters in DECLARATION.findall(text):
                call = _call(returned.split(), name, parameters)
                if call and call.arguments >= found.get(name, call).arguments:
                    found[name] = call
    return found


def _call(returned: list[str], name: str, parameters: str) -> Call | None:
    if not RECORDED.fullmatch(name) or NOT_RECORDED.fullmatch(name):
        return None
    words = [" ".join(each.split()) for each in _split(parameters)]
    if words == ["void"]:
        words = []
    if any(NO_WORD.match(each) for each in words):
        return None
    location = next((i for i, each in enumerate(words) if re.match(r"hid_t\b[^*]*$", each)), -1)
    path = -1
    if name.startswith("H5F"):
        named = (i for i, each in enumerate(words) if re.match(r"const char ?\*", each) and "app_" not in each)
        path = next(named, -1)
    return Call(name, len(words), location, path, int("hid_t" in returned))


def _split(parameters: str) -> list[str]:
    """Splits at commas that are not inside the parentheses of a function pointer."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def table(calls: dict[str, Call]) -> str:
    lines = [
        "// Written by tools/hdf5_calls.py from the headers of HDF5. Name, number of arguments, and the places of an",
        "// identifier and of a file's name among them (-1: none); whether it returns an identifier.",
        "#pragma once",
        "",
        "// clang-format off",
        "#define HDF5_OPERATIONS(X) \\",
    ]
    items = [f"X({c.name}, {c.arguments}, {c.location}, {c.path}, {c.gives_id})" for _, c in sorted(calls.items())]
    row = "   "
    for item in items:
        if len(row) + len(item) + 3 > 118:
            lines.append(f"{row} \\")
            row = "   "
        row += f" {item}"
    return "\n".join([*lines, row, "// clang-format on", ""])


def main(names: list[str]) -> int:
    calls = calls_of([Path(name) for name in names])
    if not calls:
        print("no calls were found: give folders that have H5Dpublic.h", file=sys.stderr)
        return 2
    OUT.write_text(table(calls))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
