"""thalweg readout plan: which thread of which handler runs where, on this machine and on others."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from thalweg import _core, cli
from thalweg._base.errors import UsageError
from thalweg._readout import plan as plans

SERVER_OF_THE_PAPER = "pack:2 numa:1 l3:12(size=33554432) core:8 pu:2"

CONFIGURATION = """
[readout]
pinning = "{pinning}"
[server]
threads = 4
""" + "".join(
    f"""
[[handler]]
name = "{name}"
dma = {number}
listen = "127.0.0.1:{7700 + number}"
[[handler.group]]
source_id = {16 * number}
elinks = [{10 * number}]
[[handler.group]]
source_id = {16 * number + 1}
elinks = [{10 * number + 1}]
"""
    for number, name in enumerate(("left", "right"))
)


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    path = tmp_path / "readout.toml"
    path.write_text(CONFIGURATION.format(pinning="none"))
    return path


def test_the_server_of_the_paper_has_a_chiplet_for_every_handler_and_a_core_for_every_thread() -> None:
    topology = _core.discover(SERVER_OF_THE_PAPER)
    plan = plans.of_handlers(24, 3, 4, topology)
    assert plan.warnings == []
    assert len(plan.placements) == 24 * 7
    assert len({tuple(seat.processors) for seat in plan.placements}) == 24 * 7
    rows = list(plans.rows(topology, plan))
    assert rows[0] == plans.Row("dh0", "0", "0", "0", "0-1 2-3 4-5", "6-7 8-9 10-11 12-13")
    assert [row.package for row in rows] == ["0"] * 12 + ["1"] * 12


def test_threads_that_share_processors_are_shown_together() -> None:
    topology = _core.discover("l3:1 core:8 pu:1")
    plan = plans.of_handlers(1, 3, 4, topology, "serve=6,7")
    assert next(plans.rows(topology, plan)) == plans.Row(
        "dh0", "0", "0", "0", "anywhere (3 threads)", "6-7 (4 threads)"
    )
    assert plans.unpinned(plan) == []
    assert plans.unpinned(plans.of_handlers(2, 3, 4, topology, "none")) == ["dh0", "dh1"]


def test_a_configuration_says_how_many_threads_there_are_and_whether_they_are_pinned(configuration: Path) -> None:
    topology = _core.discover("l3:2 core:8 pu:1")
    assert plans.unpinned(plans.of_configuration(configuration, topology)) == ["left", "right"]
    rows = list(plans.rows(topology, plans.of_configuration(configuration, topology, "auto")))
    assert rows == [
        plans.Row("left", "0", "0", "0", "0 1", "2 3 4 5"),
        plans.Row("right", "1", "0", "0", "8 9", "10 11 12 13"),
    ]
    configuration.write_text(CONFIGURATION.format(pinning="build=0,1,serve=99"))
    with pytest.raises(UsageError, match=r"cannot pin left .*no processor 99"):
        plans.of_configuration(configuration, topology)


def test_people_get_a_table_and_warnings_beside_it(thalweg_command) -> None:
    done = thalweg_command("readout", "plan", "--topology", "pack:1 numa:1 l3:12 core:8 pu:2", "--handlers", 13)
    assert done.returncode == 0, done.stderr
    assert "12 chiplets" in done.stdout
    assert "96 cores, 192 processors" in done.stdout
    assert re.search(r"dh11 +11 +0 +0 +176-177 178-179 180-181 +182-183", done.stdout)
    assert "warning: dh12 shares chiplet 0 with dh0 (12 chiplets, 13 applications)\n" in done.stderr
    assert "warning" not in done.stdout


def test_programs_get_the_same_of_this_machine(thalweg_command) -> None:
    done = thalweg_command("readout", "plan", "--json")
    facts = json.loads(done.stdout)
    assert facts["topology"] == "this machine"
    ours = {number for chiplet in facts["chiplets"] for core in chiplet["cores"] for number in core}
    assert ours == os.sched_getaffinity(0)
    assert [thread["role"] for thread in facts["threads"][:7]] == ["build"] * 3 + ["serve"] * 4
    assert {number for thread in facts["threads"] for number in thread["processors"]} <= ours
    assert all(f"warning: {text}\n" in done.stderr for text in facts["warnings"])


def test_a_plan_of_a_configuration_says_what_is_not_pinned(configuration: Path, thalweg_command) -> None:
    done = thalweg_command("readout", "plan", "--config", configuration)
    assert re.search(r"left +anywhere \(\d threads\) +anywhere \(4 threads\)", done.stdout)
    assert "not pinned: left, right" in done.stdout
    told = thalweg_command("readout", "plan", "--config", configuration, "--pinning", "serve=0", "--json")
    assert json.loads(told.stdout)["threads"][-1]["processors"] == [0]


def test_a_plan_needs_no_token(configuration: Path, thalweg_command) -> None:
    text = configuration.read_text().replace("[server]", '[server]\ntoken_file = "/run/secrets/none"')
    configuration.write_text(text)
    done = thalweg_command("readout", "plan", "--config", configuration)
    assert (done.returncode, "left" in done.stdout) == (0, True), done.stderr


def test_a_text_without_quotes_is_said(configuration: Path, thalweg_command) -> None:
    configuration.write_text("[readout]\nexpected_rate = 1MHz\n")
    done = thalweg_command("readout", "plan", "--config", configuration)
    assert (done.returncode, "texts need quotes" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--topology", "nonsense"), "describes no machine"),
        (("--config", "missing.toml"), "cannot read missing.toml"),
        (("--pinning", "build=100000"), "no processor 100000"),
        (("--pinning", "fast"), "such as build=0-2,serve=3,4"),
        (("--handlers", "0"), "--handlers"),
        (("--config", "{configuration}", "--handlers", "2"), "--handlers cannot be given with --config"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    arguments: tuple[str, ...],
    said: str,
    configuration: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [word.format(configuration=configuration) for word in arguments]
    monkeypatch.setattr(sys, "argv", ["thalweg", "readout", "plan", *words])
    assert cli.run() == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""
