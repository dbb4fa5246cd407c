"""use.py DICTIONARIES WHAT PATH...: what people do with RNTuples in ROOT; prints what came of it, as JSON."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import ROOT


def sums(path: str) -> Any:
    """With RDataFrame: of columns, of lists, and how many rows there are."""
    frame = ROOT.RDataFrame("t", path)
    results = [frame.Sum("x"), frame.Define("sum", "Sum(xs)").Sum("sum"), frame.Count(), frame.Max("x")]
    return [result.GetValue() for result in results]


def snapshot(path: str, target: str, kind: str) -> Any:
    options = ROOT.RDF.RSnapshotOptions()
    options.fOutputFormat = getattr(ROOT.RDF.ESnapshotOutputFormat, kind)
    ROOT.RDataFrame("t", path).Filter("xs.size() > 0").Snapshot("t", target, ["x", "xs"], options)
    return sums(target)


def chain(*paths: str) -> Any:
    return [list(row) for row in ROOT.thalweg_test.rows_of_chain(list(paths))]


def update(path: str) -> Any:
    """Puts a histogram and a table of ROOT's own beside ours."""
    file = ROOT.TFile.Open(path, "UPDATE")
    histogram = ROOT.TH1D("energies", "energies", 10, 0, 10)
    histogram.Fill(3)
    histogram.Write()
    ROOT.thalweg_test.write_flat(file.mkdir("more"), 0, 10)
    file.Close()
    file = ROOT.TFile.Open(path)
    return [file["energies"].GetEntries(), sums(path)]


def hadd(target: str, *paths: str) -> Any:
    program = Path(ROOT.__file__).parent / "bin" / "hadd"
    done = subprocess.run([program, target, *paths], capture_output=True, text=True, check=False)
    return [done.returncode, done.stderr]


def write(path: str, kind: str, first: str, rows: str) -> None:
    getattr(ROOT.thalweg_test, f"write_flat_{kind}")(path, int(first), int(rows))


def view(path: str, table: str, field: str) -> Any:
    return ROOT.thalweg_test.sum_of_view(path, table, field)


def main(dictionaries: str, what: str, *arguments: str) -> None:
    ROOT.gSystem.Load(dictionaries)
    assert ROOT.gInterpreter.Declare(f'#include "{Path(__file__).with_name("use.h")}"')
    done = {each.__name__: each for each in (sums, snapshot, chain, update, hadd, write, view)}[what](*arguments)
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
