"""Jobs that are gone on with: by the same functions, on the same input, and only for what lacks."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from derive_cases import EVENTS, check, muons, train, two_muons, write_input

import thalweg as tw
from thalweg._derive.function_identity import identity_of


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def noted(function: Callable[[Any], Any], mark: Path, fails_from: int = EVENTS) -> Callable[[Any], Any]:
    """Notes where its ranges begin; from some event on it raises."""

    def noting(of: Any) -> Any:
        if len(of) and of.event[0] >= fails_from:
            raise RuntimeError("not yet")
        with mark.open("a") as file:
            file.write(f"{of.event[0] if len(of) else -1}\n")
        return function(of)

    return noting


def stopped(inputs: Path, both: list[tw.Derivation], **options: Any) -> None:
    with pytest.raises(tw.DerivationError, match="not yet"):
        tw.derive(inputs, both, workers=2, attempts=1, **options).run()


def test_only_what_lacks_is_done(inputs: Path, tmp_path: Path) -> None:
    """Whether all of an output lacks, some of it, or nothing."""
    out = tmp_path / "out"
    out.mkdir()
    first, second = train(out)
    both = [replace(first, function=noted(muons, tmp_path / "calls")), second]
    job = tw.derive(inputs, both, workers=2, resume=True)  # there is nothing yet
    check(out, job.run())
    calls = (tmp_path / "calls").read_text()
    (out / "lite.root").unlink()
    report = tw.derive(inputs, both, workers=3, resume=True).run()
    check(out, report)
    assert report.outputs[0].file is None
    # The functions are tried on the first events, and not called again.
    assert (tmp_path / "calls").read_text().removeprefix(calls).splitlines() == calls.splitlines()[:1]
    assert report.events_done == EVENTS
    report = tw.derive(inputs, both, workers=1, resume=True).run()
    assert report.events_done == 0
    assert [output.rows for output in report.outputs] == [len(tw.open(each.path)["Events"]) for each in both]


@pytest.mark.parametrize("order", ["any", "input"])
def test_other_workers_go_on_with_the_same_ranges(inputs: Path, tmp_path: Path, order: str) -> None:
    (tmp_path / "out").mkdir()
    first, second = train(tmp_path / "out")
    may_fail = tmp_path / "fail"
    may_fail.touch()

    def function(of: Any) -> Any:
        if may_fail.exists() and len(of) and of.event[0] > EVENTS // 2:
            raise RuntimeError("not yet")
        return muons(of)

    both = [replace(first, function=function), second]
    options = {"order": order, "range_bytes": 20_000}
    stopped(inputs, both, **options)
    may_fail.unlink()
    report = tw.derive(inputs, both, workers=4, resume=True, order=order).run()
    check(tmp_path / "out", report)
    assert 0 < report.events_done < EVENTS


def test_another_job_does_not_go_on(inputs: Path, tmp_path: Path) -> None:
    one = tw.Derivation(
        tmp_path / "a.root", noted(muons, tmp_path / "calls", EVENTS // 2), select=two_muons, keep="label"
    )
    stopped(inputs, [one])
    other_input = write_input(tmp_path / "in.root", 5, EVENTS)
    cut = {"two muons": two_muons}
    for wrong, said in [
        ({"train": [replace(one, function=muons)]}, "its functions have changed"),
        ({"train": [replace(one, keep="MET_pt")]}, r"keep was \['label'\]"),
        ({"train": [replace(one, select=cut)]}, r"cuts was \['selected'\]"),
        ({"train": [replace(one, table="other")]}, "table was 'Events'"),
        ({"inputs": other_input}, "in.root has changed"),
        ({"inputs": [inputs, other_input]}, "2 input files are given instead of 1"),
        ({"order": "input"}, "begun with order='any'"),
    ]:
        with pytest.raises(tw.UsageError, match=said):
            tw.derive(**{"inputs": inputs, "train": [one], **wrong}, workers=2, resume=True).run()
    with pytest.raises(tw.UsageError, match=r"a\.root"):
        tw.derive(inputs, [one], workers=2).run()  # it is there
    report = tw.derive(inputs, [replace(one, function=muons)], workers=2, force=True).run()
    assert report.is_whole


def test_a_file_that_no_job_has_written_is_left_alone(inputs: Path, tmp_path: Path) -> None:
    path = write_input(tmp_path / "mine.root", count=10)
    content = path.read_bytes()
    with pytest.raises(tw.UsageError, match="no derivation job has written it"):
        tw.derive(inputs, [tw.Derivation(path, muons)], resume=True).run()
    assert path.read_bytes() == content


def test_outputs_say_how_they_were_made(inputs: Path, tmp_path: Path) -> None:
    tw.derive(inputs, train(tmp_path), workers=2).run()
    metadata = tw.open(tmp_path / "lite.root").metadata
    plan, options, result = (json.loads(metadata[f"derive.{name}"]) for name in ("plan", "options", "result"))
    assert [(each["path"], each["rows"], each["table"]) for each in plan["inputs"]] == [(str(inputs), EVENTS, "Events")]
    assert plan["ranges"]["files"][0][-1] == EVENTS
    assert options["cuts"] == ["two muons", "met"]
    assert options["keep"] == ["event", "MET_pt", "MET_phi", "label", "Muon_pt"]
    assert options["functions"][2:] == ["two_muons", "train.<locals>.<lambda>"]
    assert result["cuts"].keys() == {"two muons", "met"}
    assert result["skipped"] == []


def test_functions_are_told_apart_by_what_they_do() -> None:
    def made(factor: float) -> Callable[[float], float]:
        return lambda x: x * factor

    def helper(x: float, power: int = 2) -> float:
        return x**power

    assert identity_of(made(2.0)) == identity_of(made(2.0))
    assert identity_of(made(2.0)) != identity_of(made(3.0))
    assert identity_of(lambda x: x + 1) != identity_of(lambda x: x + 2)
    assert identity_of(lambda x: helper(x)) != identity_of(lambda x: helper(x, 3))
    before = identity_of(calls_another)
    globals()["another"] = lambda x: x - 2
    assert identity_of(calls_another) != before


def another(x: float) -> float:
    return x - 1


def calls_another(x: float) -> float:
    return another(x)


def test_a_job_that_was_killed_before_a_journal_was_removed(inputs: Path, tmp_path: Path) -> None:
    """The file is complete then; its journal, as it was when the last range was done, is put back."""
    both = train(tmp_path)
    journal = tmp_path / "lite.root.journal"
    kept: list[bytes] = []
    report = tw.derive(inputs, both, workers=2).run(lambda _: kept.append(journal.read_bytes()))
    rows = [output.rows for output in report.outputs]
    journal.write_bytes(kept[-1])
    report = tw.derive(inputs, both, workers=2, resume=True).run()
    assert [output.rows for output in report.outputs] == rows
    assert not journal.exists()
    check(tmp_path, report)


@pytest.mark.parametrize("left", [b"", bytes(4096)])
def test_a_job_that_was_killed_in_a_creation(inputs: Path, tmp_path: Path, left: bytes) -> None:
    """Nothing was recorded: that output is begun anew, and the other one gone on with."""
    out = tmp_path / "out"
    out.mkdir()
    both = train(out)
    tw.derive(inputs, both, workers=2).run()
    (out / "lite.root").write_bytes(b"")
    (out / "lite.root.journal").write_bytes(left)
    check(out, tw.derive(inputs, both, workers=2, resume=True).run())
    assert not (out / "lite.root.journal").exists()
