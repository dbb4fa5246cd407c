"""read.py DICTIONARIES FILE [STEP]: what ROOT reads of every STEPth row of all RNTuples of a file, as JSON: by path of
the table."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ROOT


def tables(folder: Any, path: str = "") -> Iterator[str]:
    for key in folder.GetListOfKeys():
        name = f"{path}/{key.GetName()}" if path else key.GetName()
        if key.GetClassName() == "ROOT::RNTuple":
            yield name
        elif key.IsFolder():
            yield from tables(folder.Get(key.GetName()), name)


def main(dictionaries: str, path: str, step: str = "1") -> None:
    ROOT.gSystem.Load(dictionaries)
    assert ROOT.gInterpreter.Declare(f'#include "{Path(__file__).with_name("values.h")}"')
    file = ROOT.TFile.Open(path)
    names = sorted(set(tables(file)))
    file.Close()
    json.dump({name: json.loads(str(ROOT.thalweg_test.values_of(path, name, int(step)))) for name in names}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
