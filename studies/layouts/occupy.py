"""The memory of a producer: a process of its own, with one batch, that attaches and appends this batch many times.

A program, so that nothing of the study's data is in its memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from layouts.children import in_child
from layouts.generate import make_batch
from layouts.memory import pss_bytes
from layouts.settings import Settings
from layouts.write import create_file, plan_of

from thalweg._base.errors import Error
from thalweg._writing.attached import attach

RAW_BYTES = 256 << 20  # enough to fill all buffers that a producer has
DATA = "uniform"  # what does not shrink needs the most


def measure(path: Path, layout: str, settings: Settings) -> dict[str, Any]:
    return dict(in_child(lambda: _with_file(path, layout, settings)))


def _with_file(path: Path, layout: str, settings: Settings) -> dict[str, Any]:
    out = create_file(path, plan_of(layout, settings), settings)
    try:
        words = [out.handle, layout, settings.to_json()]
        command = [sys.executable, "-m", "layouts.occupy", *words]
        studies = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        done = subprocess.run(command, env=studies, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Error(done.stderr.strip())
        out.close()
        return dict(json.loads(done.stdout))
    finally:
        out.abandon()


def main(handle: str, layout: str, settings_json: str) -> None:
    settings = Settings.from_json(settings_json)
    plan = plan_of(layout, settings)
    batch, raw_bytes = make_batch(settings, DATA, 0)
    batches = -(-settings.events // settings.batch_events)
    times = min(2 * batches, max(2, RAW_BYTES // raw_bytes["everything"]))  # small studies are small in this, too
    before = pss_bytes()
    with attach(handle) as out, plan.writer(out) as writer:
        for number in range(times):
            writer.append(batch, number * settings.batch_events)
        after = pss_bytes()
    measured = {"pss_MiB": after / 2**20, "memory_MiB": (after - before) / 2**20}
    print(json.dumps({**measured, "raw_bytes": times * raw_bytes["everything"]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
