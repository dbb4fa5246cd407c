"""Options of `thalweg record` that would be missed late are checked before there is a file."""

import subprocess
from pathlib import Path

import pytest
from recording import SMALL, THALWEG

DEVICE = '{source = "card:Card", deadline = "%s"}'
TOO_SHORT = "'deadline' of device 'card:Card' 0s is no deadline (it is 0): give for example 10s"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on-stop", "/none/after.sh -v"), "cannot be run (the shell finds no command '/none/after.sh')"),
        (("--on-start", "thalweg-of-no-path"), "--on-start thalweg-of-no-path cannot be run (the shell finds no"),
        (("--on-stop", "echo 'done"), "--on-stop echo 'done cannot be run (No closing quotation): close what it"),
        (("--node-timeout", "soon"), "--node-timeout: 'soon' is not a duration: write it like 10s"),
        (("--node-timeout", "0s"), "--node-timeout 0s is not a limit (it is 0)"),
        (("--device-deadline", "0s"), "--device-deadline 0s is no deadline (it is 0): give for example 10s"),
        (("--open-deadline", "1x"), "--open-deadline: '1x' is not a duration"),
        (("--device", DEVICE % "0s"), TOO_SHORT),
        (("--interval", "soon"), "--interval: 'soon' is not a duration"),
        (("--rate", "fast"), "--rate: 'fast' is no rate"),
        (("--onboard-memory", "much"), "--onboard-memory: 'much' is not a size"),
        (("--sample-rate", "quick"), "--sample-rate: 'quick' is not a frequency"),
    ],
)
def test_a_wrong_option_is_named_before_there_is_a_file(words: tuple[str, str], said: str, tmp_path: Path) -> None:
    of_source = () if words[0] == "--device" else SMALL
    command = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), *of_source, "--duration", "100ms", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_the_shell_makes_of_a_command_is_not_checked(tmp_path: Path) -> None:
    after = "NAME=1 true && (cd / ; [ -d tmp ]) && exit 0"
    command = [THALWEG, "record", "--out", str(tmp_path / "run.h5"), *SMALL, "--records", "10", "--on-stop", after]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
