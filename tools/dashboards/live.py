"""Runs a card, a handler, a host of handlers and a recorder for a moment, and reads what their `/metrics` have."""

import contextlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from dashboards.metrics import Metric, metrics_of

_WAIT_S = 60.0
_READY = {
    "readout": "thalweg_readout_link_live{",
    "host": "thalweg_host_handler_up{",
    "record": "thalweg_triggers_total{",
}
_THALWEG = Path(sys.executable).with_name("thalweg")


def look() -> dict[str, list[Metric]]:
    """Returns the table of metrics. Raises RuntimeError if a program does not serve them within a minute."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as started:
        folder = Path(name)
        card = folder.name.replace("_", "-")
        (folder / "readout.toml").write_text(_configuration(card))
        (folder / "host.toml").write_text(_configuration(f"{card}-none"))
        words = {
            "card": ["readout", "emulate", "--name", card, "--elinks", 6, "--rate", "4kHz"],
            "readout": ["readout", "serve", "--config", folder / "readout.toml"],
            "host": ["readout", "host", folder / "host.toml", "--metrics", "127.0.0.1:0"],
            "record": ["record", "--out", folder / "run.h5", "--channels", 2, "--rate", "1kHz", "--metrics", 0],
        }
        for program, each in words.items():
            said = (folder / program).open("w")
            process = subprocess.Popen([_THALWEG, *map(str, each)], stdout=said, stderr=said)
            started.callback(process.wait)
            started.callback(process.terminate)
        return {program: metrics_of(_page(folder / program, sign), program) for program, sign in _READY.items()}


def _configuration(card: str) -> str:
    words = [_THALWEG, "readout", "serve", "--dump-config", "--elinks", "6", "--groups", "2"]
    text = subprocess.run([*map(str, words)], capture_output=True, text=True, check=True).stdout
    return re.sub(r'127\.0\.0\.1:\d+"', '127.0.0.1:0"', text).replace("felix0", card)


def _page(said: Path, sign: str) -> str:
    end_s = time.monotonic() + _WAIT_S
    while time.monotonic() < end_s:
        found = re.search(r"http://[\d.]+:\d+", said.read_text())
        if found:
            with urllib.request.urlopen(f"{found[0]}/metrics") as answer:
                page = answer.read().decode()
            if sign in page:
                return str(page)
        time.sleep(0.1)
    raise RuntimeError(f"{said.name} serves no metrics after {_WAIT_S:g} s (it said: {said.read_text()})")
