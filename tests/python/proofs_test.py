"""A finding names the command that proves it, and that command does."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

from planted_programs import PLANTED
from tracing import THALWEG, trace

from thalweg._explain import proofs
from thalweg._explain.rules import RULES
from thalweg._explain.verdict import explain
from thalweg._tune.choice import choose


def test_the_command_of_a_finding_shows_what_its_setting_mends(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    source = PLANTED["a chunk cache that holds no chunk"].source
    traced = trace(tmp_path / "t.root", sys.executable, "-c", source, work / "out.h5", cwd=work)
    assert traced.done.returncode == 0, traced.said
    verdict = explain(str(traced.path))
    finding = next(each for each in verdict.findings if each.rule == "chunk cache too small")
    command = proofs.proof(finding, verdict.trace)
    assert f"  to prove it: {command}" in verdict.lines()
    (work / "out.h5").unlink()
    program, *words = shlex.split(command)
    assert program == "thalweg"
    words[1:1] = ["--pairs", "0", "--json"]
    done = subprocess.run([THALWEG, *words], cwd=work, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = json.loads(done.stdout)["io"]
    assert "bytes read" in line


def test_proofs_name_rules_and_settings_that_there_are() -> None:
    names = {rule.name for rule in RULES}
    for rule, (options, _) in proofs.TRIALS.items():
        assert rule in names
        words = options.split()
        assert choose(words[words.index("--try") + 1 :: 2], may_change_file="--may-change-file" in words)
