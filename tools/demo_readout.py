"""demo_readout.py THALWEG: a card, a handler and a collector as three processes; then verifies and draws the file."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

FOLDER = Path("demo/readout")
CONFIG, FILE, PLOT = FOLDER / "readout.toml", FOLDER / "run.root", FOLDER / "run.png"
LINKS = ["--elinks", "42", "--packet-bytes"]
CARD = ["emulate", *LINKS, "8-40", "--rate", "50kHz", "--duration", "5s"]
HANDLER = ["serve", "--config", str(CONFIG), "--drain", "5s"]
COLLECTOR = ["collect", "--config", str(CONFIG), "--out", str(FILE), "--force"]
NEXT = """
What you saw: an emulated FELIX card sent packets over 42 links; a handler put the packets of every event together into
3 fragments; a collector asked for the fragments, and wrote whole events into one ordinary file:
    {file}    uproot, ROOT and thalweg.open() read it
    {plot}     sizes of fragments, and how long everything took
    {config}

The same with your own hands, in three terminals, each ended by Ctrl-C, in any order:
    {thalweg} readout emulate --elinks 42 --packet-bytes 8-40 --rate 50kHz
    {thalweg} readout serve --config {config}
    {thalweg} readout collect --config {config} --out {folder}/mine.root
Then let the card misbehave (--faults all=1e-5), kill one of them, or start a second collector.
docs/readout.md says what happens then."""


class Program:
    """Starts it in a session of its own, so that only this program passes a Ctrl-C on. Its lines are shown with its
    name."""

    def __init__(self, name: str, command: list[str]) -> None:
        self._name = name
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        self._reader = threading.Thread(target=self._show, daemon=True)
        self._reader.start()

    def _show(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            print(f"{self._name:>9} │ {line}", end="", file=sys.stderr, flush=True)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> bool:
        """Asks it to end, as Ctrl-C does."""
        self._process.terminate()
        return self.wait()

    def wait(self) -> bool:
        """Returns whether it succeeded."""
        code = self._process.wait()
        self._reader.join()
        return code == 0

    def kill(self) -> None:
        """Kills what is left after a second Ctrl-C."""
        self._process.kill()


def take_data(thalweg: str) -> bool:
    """The card decides how long it runs, or Ctrl-C: then it ends first, the handler drains, and that ends the
    collector."""
    handler = Program("handler", [thalweg, "readout", *HANDLER])
    collector = Program("collector", [thalweg, "readout", *COLLECTOR])
    card = Program("card", [thalweg, "readout", *CARD])
    programs = [card, handler, collector]
    was_interrupted = False
    try:
        while not any(program.has_ended for program in programs):
            time.sleep(0.1)
    except KeyboardInterrupt:
        was_interrupted = True
    try:
        went_well = card.end() and not handler.has_ended
        went_well = handler.end() and went_well
        went_well = (collector.wait() if went_well else collector.end()) and went_well
    finally:
        for program in programs:
            program.kill()
    if was_interrupted:
        raise KeyboardInterrupt
    return went_well


def main(thalweg: str) -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    config = subprocess.run(
        [thalweg, "readout", "serve", "--dump-config", *LINKS, "40"], capture_output=True, text=True, check=True
    )
    CONFIG.write_text(config.stdout)
    try:
        if not take_data(thalweg):
            return 1
        print(file=sys.stderr)
        for command in (f"verify {FILE}", f"inspect {FILE}", f"plot {FILE} --out {PLOT}"):
            subprocess.run([thalweg, *command.split()], check=True)
    except KeyboardInterrupt:
        return 130
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    print(NEXT.format(thalweg=thalweg, folder=FOLDER, file=FILE, plot=PLOT, config=CONFIG))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
