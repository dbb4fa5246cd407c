"""build_dictionaries.py HEADER FOLDER: compiles dictionaries of the classes; the last line says where."""

import sys
from pathlib import Path

import ROOT


def main(header: str, folder: str) -> int:
    built = ROOT.gSystem.CompileMacro(header, "kO", "libclasses", folder)
    (library,) = Path(folder).rglob("libclasses.so")
    print(library)
    return 0 if built == 1 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
