"""write.py DICTIONARIES KIND FILE: files as ROOT writes them (write.h); prints null."""

import sys
from pathlib import Path

import ROOT


def main(dictionaries: str, kind: str, path: str) -> None:
    ROOT.gSystem.Load(dictionaries)
    for header in ("write.h", "write_growth.h", "write_trees.h"):
        assert ROOT.gInterpreter.Declare(f'#include "{Path(__file__).with_name(header)}"')
    getattr(ROOT.thalweg_test, f"write_{kind}")(path)
    print("null")


if __name__ == "__main__":
    main(*sys.argv[1:])
