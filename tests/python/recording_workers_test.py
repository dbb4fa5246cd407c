"""The recording process listens to its producers, whatever a library prints in them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from thalweg._recording.workers import WorkerProcess

# Takes the place of the interpreter that runs a producer.
PROGRAM = """#!/bin/sh
read configuration
printf '%s\\n' 'a library speaks' 5 '[1]' '"ready"' null '{"ready": true}'
read start
printf '%s\\n' '{"rows": {"ch0": 7}}'
"""


def test_lines_of_libraries_do_not_end_the_listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "producer"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    process = WorkerProcess({}, ["ch0"])
    try:
        assert process.ready.wait(30)
        assert process.is_running()
        process.say("start 0")
        process.close()
        assert process.problem() == ""
    finally:
        process.kill()
