"""Each rule finds what a small program does wrong on purpose, and nothing in the one beside it that does it right."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mpis import MPIS, Mpi
from rule_programs import END, FILES, H5PY, HDF5, PARALLEL_HDF5, RANKS, RANKS_OF_HDF5, START, STREAMS, Run
from tracing import compile_c, trace

import thalweg as tw
from thalweg._explain.findings import Finding
from thalweg._explain.rules import RULES
from thalweg._explain.verdict import Verdict, explain


def found_in(folder: Path, name: str, *command: object, **more: Any) -> list[Finding]:
    """What is said of one program, in which every query must show as many calls as the finding is about."""
    traced = trace(folder / f"{name}.root", *command, **more)
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path))
    for each in verdict.findings:
        check(verdict, each)
    out = str(folder / name)
    return [each for each in verdict.findings if each.file in ("", out) or each.file.startswith(f"{out}.")]


def check(verdict: Verdict, finding: Finding) -> None:
    assert 0 <= finding.gain_s <= finding.seconds + 1e-9, finding
    rows = tw.open(verdict.trace.path)[finding.table].read().to_pandas()
    shown = rows.query(finding.query, engine="python")  # which does not need numexpr
    if finding.calls:
        assert len(shown) >= finding.calls, finding
        unit = 10e-9
        assert shown.duration.sum() * unit >= finding.seconds - 1e-6, finding
    else:
        assert len(shown) >= 1, finding


def rules(findings: list[Finding]) -> list[str]:
    return [each.rule for each in findings]


def test_every_rule_has_its_programs_and_stands_in_the_document(repository: Path) -> None:
    tried = {*FILES, *STREAMS, *HDF5, *RANKS, *RANKS_OF_HDF5, "setting without effect"}  # the last: settings_test.py
    assert [rule.name for rule in RULES if rule.name not in tried] == []
    assert sorted(tried) == sorted(rule.name for rule in RULES)
    assert len(RULES) >= 25
    text = (repository / "docs" / "tracing.md").read_text()
    rows = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| ([^|]+?) \|$", text, re.MULTILINE)
    assert {(r.name, r.finds, ", ".join(r.needs) or "any") for r in RULES} <= set(rows)


@pytest.mark.parametrize("rule", FILES)
def test_of_files(tmp_path: Path, rule: str) -> None:
    wrong, right = FILES[rule]
    assert rule in rules(found_in(tmp_path, "wrong", sys.executable, "-c", START + wrong, tmp_path / "wrong"))
    assert rule not in rules(found_in(tmp_path, "right", sys.executable, "-c", START + right, tmp_path / "right"))


@pytest.mark.parametrize("rule", STREAMS)
def test_of_streams(tmp_path: Path, rule: str) -> None:
    wrong, right = (compile_c(tmp_path / "programs", source) for source in STREAMS[rule])
    assert rule in rules(found_in(tmp_path, "wrong", wrong, tmp_path / "wrong"))
    assert rule not in rules(found_in(tmp_path, "right", right, tmp_path / "right"))


@pytest.mark.parametrize("rule", HDF5)
def test_of_hdf5(tmp_path: Path, rule: str) -> None:
    wrong, right = HDF5[rule]
    assert rule in rules(found_in(tmp_path, "wrong", sys.executable, "-c", H5PY + wrong, tmp_path / "wrong"))
    assert rule not in rules(found_in(tmp_path, "right", sys.executable, "-c", H5PY + right, tmp_path / "right"))


def started(mpi: Mpi, run: Run, program: Path, out: Path) -> list[object]:
    return [*run.before, *mpi.command(run.ranks, program, out, *run.words, cores=run.cores)]


@pytest.mark.parametrize("mpi", MPIS, ids=str)
@pytest.mark.parametrize("rule", RANKS)
def test_of_ranks(tmp_path: Path, rule: str, mpi: Mpi) -> None:
    mpi.skip_if_missing()
    if "cores" in rule and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one core")
    wrong, right = RANKS[rule]
    for name, run in (("wrong", wrong), ("right", right)):
        assert run.source.endswith(END)
        program = compile_c(tmp_path / "programs", run.source, compiler=mpi.compiler)
        command = started(mpi, run, program, tmp_path / name)
        found = rules(found_in(tmp_path, name, *command, env=mpi.variables(gathers=run.gathers)))
        assert (rule in found) == (name == "wrong"), (name, found)


@pytest.mark.parametrize("mpi", MPIS, ids=str)
@pytest.mark.parametrize("rule", RANKS_OF_HDF5)
def test_of_hdf5_over_mpi(tmp_path: Path, rule: str, mpi: Mpi) -> None:
    mpi.skip_if_missing()
    program = compile_c(tmp_path / "programs", PARALLEL_HDF5, *mpi.flags_of_hdf5(), compiler=mpi.compiler)
    for name, words in zip(("wrong", "right"), RANKS_OF_HDF5[rule], strict=True):
        found = rules(found_in(tmp_path, name, *mpi.command(2, program, tmp_path / name, *words), env=mpi.variables()))
        assert (rule in found) == (name == "wrong"), (name, found)


def test_what_needs_a_level_that_was_not_traced_is_said(tmp_path: Path) -> None:
    wrong = HDF5["type conversion"][0]
    options = ("--level", "posix", "--level", "stdio")
    traced = trace(tmp_path / "t.root", sys.executable, "-c", H5PY + wrong, tmp_path / "out", options=options)
    verdict = explain(str(traced.path))
    assert "type conversion" not in rules(verdict.findings)
    assert verdict.not_looked_for["type conversion"] == ["hdf5"]
    assert verdict.not_looked_for["shared file pointer"] == ["mpi"]
    assert "small requests" not in verdict.not_looked_for
    assert any(
        line.startswith("rules not applied, since hdf5 and mpi calls were not traced: ") and "type conversion" in line
        for line in verdict.lines()
    )
    assert explain(str(trace(tmp_path / "all.root", "true").path)).not_looked_for == {}


def test_figures_of_a_finding_are_those_of_the_program(tmp_path: Path) -> None:
    program = START + FILES["redundant reads"][0]
    findings = found_in(tmp_path, "out", sys.executable, "-c", program, tmp_path / "out")
    (found,) = [each for each in findings if each.rule == "redundant reads"]
    assert (found.calls, found.bytes) == (4, 4 << 20)
    assert found.evidence == {"read_bytes": 4 << 20, "distinct_bytes": 1 << 20}
    assert found.gain_s == pytest.approx(0.75 * found.seconds)
