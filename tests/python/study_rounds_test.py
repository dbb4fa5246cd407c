"""In which order a study measures, and what it keeps of earlier results."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest


@pytest.fixture
def run(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("matplotlib", reason="the studies need matplotlib")
    monkeypatch.syspath_prepend(str(repository / "studies"))
    sys.modules.pop("run", None)
    return importlib.import_module("run")


def test_what_is_wanted_most_is_measured_first_in_all_its_rounds(run: ModuleType) -> None:
    study = SimpleNamespace(first=((("b", "c"), 3), (("not chosen",), 9)))
    order = [(index, sorted(group)) for index, group in run.in_passes(study, ["a", "b", "c"], 4)]
    assert order[:3] == [(0, ["b", "c"]), (1, ["b", "c"]), (2, ["b", "c"])]
    assert order[3:] == [(index, ["a", "b", "c"]) for index in range(4)]


def test_no_more_rounds_than_are_asked_for(run: ModuleType) -> None:
    study = SimpleNamespace(first=((("a",), 30),))
    assert [index for index, _ in run.in_passes(study, ["a"], 2)] == [0, 1, 0, 1]


def test_of_earlier_results_only_what_others_did_seldom_is_kept(run: ModuleType, tmp_path: Path) -> None:
    names = ("once: theirs", "once: ours", "theirs", "once: gone")
    earlier = [{name: {"seconds": 1.0} for name in names}, {"theirs": {"seconds": 2.0}}]
    (tmp_path / "rounds.json").write_text(json.dumps(earlier))
    study = SimpleNamespace(folder=tmp_path, ours=("ours",), seldom={"once:": 3}, variants=dict.fromkeys(names[:3]))
    options = argparse.Namespace(study=study, keep_others=True, raw=tmp_path)
    assert run.earlier_rounds(options) == [{"once: theirs": {"seconds": 1.0}}]
    assert run.earlier_rounds(argparse.Namespace(study=study, keep_others=False)) == []


def test_words_of_names_are_found_also_where_names_have_commas(run: ModuleType) -> None:
    names = ["save", "extents, save", "extents, restore", "none, threads", "none"]
    assert run.with_words("extents, restore", names) == ["extents, restore"]
    assert run.with_words("none,restore", names) == ["extents, restore", "none, threads", "none"]
    assert run.with_words("", names) == []


def test_a_word_that_is_in_no_name_ends_the_program(run: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no variant has 'nona' in its name"):
        run.with_words("save,nona", ["save", "none"])


@pytest.mark.parametrize("name", ["record", "readout", "checkpoint", "aggregators"])
def test_what_is_kept_makes_the_tables_of_the_readme_and_the_picture(
    run: ModuleType, repository: Path, name: str, tmp_path: Path
) -> None:
    study = run.load(name)
    kept = run.Kept.read(repository / "studies" / name / "results" / "summary.json")
    readme = (repository / "studies" / name / "README.md").read_text().splitlines()
    for table in (run.report.as_table(kept.answers), run.report.rate_table(kept, study.measure)):
        rows = table.splitlines()[2:]
        assert rows
        assert set(rows) <= set(readme)
    run.plot.draw(tmp_path / "picture.png", kept, study)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_kept_results_are_read_as_they_were_written(run: ModuleType, tmp_path: Path) -> None:
    answer = run.figures.Answer("rate", "≥ 2 GB/s", "3", run.figures.Spread.of([1.0, 4.0, 2.5]))
    rounds = [{"ours": {"GB_per_s": 1.0, "how": "text"}}, {"ours": {"GB_per_s": 3.0}}]
    kept = run.Kept.of({"machine": {"cpu": "x"}}, [answer], rounds, ("GB_per_s", "how"))
    kept.write(tmp_path / "summary.json")
    read = run.Kept.read(tmp_path / "summary.json")
    assert read == kept
    assert read.of_measure("GB_per_s") == {"ours": run.figures.Spread(2.0, 1.0, 3.0, 2)}
    assert (answer.is_met, answer.verdict) == (True, "met")
