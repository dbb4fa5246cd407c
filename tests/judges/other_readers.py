"""Lets readers of other authors look at some of the files that h5py and uproot have read: h5wasm, jhdf and JSROOT."""

import contextlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import reading
from readers.programs_of_others import REPOSITORY, Served, expected, reader_of
from recordings import Choices

SHARE_OF_RECORDINGS, SHARE_OF_CUTS = 0.3, 0.2
JSROOT = REPOSITORY / "build/jsroot/package.json"


class Others:
    def __init__(self, choices: Choices) -> None:
        """Starts the readers that can read such a recording. docs/readers.md says which do."""
        self.served: dict[str, Served] = {}
        self.asks_jsroot = choices.extension == ".root" and JSROOT.with_name("installed").exists()
        names = {"none": ["h5wasm", "jhdf"], "shuffle+deflate-1": ["h5wasm"]}.get(choices.codec, [])
        if choices.has_lists:
            names = [name for name in names if name != "jhdf"]  # it knows no virtual datasets
        for name in names if choices.extension == ".h5" else []:
            read, _ = reader_of(name)
            if isinstance(read, Served):
                self.served[name] = read

    def differences(self, path: Path, any_: random.Random) -> list[str]:
        """Returns what other readers show differently, for a share of the cuts."""
        if any_.random() > SHARE_OF_CUTS:
            return []
        # jhdf keeps files mapped for a while, and the file system is to be unmounted.
        copy = Path(shutil.copy(path, path.parent.parent / f"copy{path.suffix}"))
        wrong = by_jsroot(copy) if self.asks_jsroot else []
        for name, read in self.served.items():
            found = read(copy)
            for dataset, digest in expected(copy).items():
                if dataset.startswith("/events/") and found.get(dataset) != digest:
                    wrong.append(f"{name} shows {dataset} differently: {found.get(dataset, found.get(''))}")
        copy.unlink()
        return wrong

    def end(self) -> None:
        for read in self.served.values():
            read.end()


def by_jsroot(path: Path) -> list[str]:
    command = ["node", REPOSITORY / "tests/jsroot/dump.mjs", path]
    environment = {**os.environ, "THALWEG_JSROOT": str(JSROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        return [f"JSROOT: {done.stderr[-300:]}"]
    shown, right = json.loads(done.stdout).get("events", {}), reading.read(path)
    if "error" in shown:
        return [f"JSROOT: {shown['error']}"]
    columns = {"producer": right.producer, "row": right.row, "x": right.x}
    fields = shown.get("fields", {})
    return [
        f"JSROOT shows {name} differently" for name, values in columns.items() if fields.get(name) != values.tolist()
    ]


@contextlib.contextmanager
def others_for(choices: Choices, any_: random.Random) -> Iterator[Others | None]:
    """Yields other readers for a share of the recordings. Controls and checkpoints are read by h5py alone."""
    if choices.subject == "checkpoints" or any_.random() > SHARE_OF_RECORDINGS:
        yield None
        return
    others = Others(choices)
    try:
        yield others
    finally:
        others.end()
