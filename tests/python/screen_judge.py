"""Judges a screen of `thalweg tune` by strace: each setting reaches the program another way, and the kernel's calls of
each rank on each file of the folder, with places and sizes, are compared with those without a setting."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import property_shim
from rank_calls import Signature, calls_of_ranks, under_strace
from screen_programs import Screened
from tracing import compile_c

THALWEG = str(Path(sys.executable).with_name("thalweg"))
RANKS = 4
LIMIT_S = 300


@dataclass(frozen=True)
class Verdict:
    setting: str
    said: str
    by_strace: str

    @property
    def is_right(self) -> bool:
        # The screen counts calls and bytes. The same writes at other places of the file are the default's for it.
        return self.said == self.by_strace or (self.said, self.by_strace) == ("inert", "moves")


class Judge:
    def __init__(self, program: Screened, folder: Path) -> None:
        self._program, self._folder = program, folder
        folder.mkdir()
        self._words = program.words(folder / "c")
        library = compile_c(folder / "c", property_shim.SOURCE, "-shared", "-fPIC", "-ldl")
        self._library = library.rename(library.with_suffix(".so"))

    def verdicts(self) -> list[Verdict]:
        """Screens all settings of the program's libraries, and returns what is said of each beside what strace says."""
        found = self._screen()
        assert found["is_io_steady"]
        assert found["lacks"] == []
        default = self._run("")
        assert default, "the program fails"
        assert self._run("") == default, "two runs without a setting differ"
        said = dict.fromkeys(found["inert"], "inert") | dict.fromkeys(found["failed"], "fails")
        said |= {each: "acts" for effect in found["effects"] for each in effect["settings"]}
        return [Verdict(each, how, self._by_strace(each, default)) for each, how in said.items()]

    def _by_strace(self, setting: str, default: Signature) -> str:
        calls = self._run(setting)
        if not calls or calls == default:
            return "inert" if calls else "fails"
        return "moves" if _without_places(calls) == _without_places(default) else "acts"

    def _command(self, *before: object) -> list[str]:
        mpi, words = self._program.mpi, [*before, *self._words]
        return [str(each) for each in (words if mpi is None else mpi.command(RANKS, *words))]

    def _environment(self) -> dict[str, str]:
        return dict(os.environ) if self._program.mpi is None else self._program.mpi.variables()

    def _screen(self) -> dict[str, Any]:
        work = self._folder / "screened"
        work.mkdir()
        line = [THALWEG, "tune", "--json", "--screen", "--always", "--may-change-file", "--limit", f"{LIMIT_S}s"]
        done = subprocess.run(
            [*line, "--k", "1MiB", "--", *self._command()],  # otherwise it is measured, for a minute or two
            capture_output=True,
            text=True,
            check=False,
            cwd=work,
            env=self._environment(),
            timeout=3600,
        )
        assert done.returncode in (0, 1), done.stderr
        return dict(json.loads(done.stdout)["screen"])

    def _run(self, setting: str) -> Signature:
        """Returns the calls of each rank on each file, and the sizes of the files; empty: the program fails."""
        work, logs = self._folder / "work", self._folder / "logs"
        for each in (work, logs):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        with_property = f"env ${{JUDGED_PROPERTY:+LD_PRELOAD={self._library}}}"
        command = self._command(*under_strace(logs, with_property))
        environment = self._environment() | self._variables(setting)
        try:
            done = subprocess.run(command, env=environment, cwd=work, check=False, timeout=LIMIT_S, capture_output=True)
        except subprocess.TimeoutExpired:
            return {}
        if done.returncode != 0:
            return {}
        found = {rank: _opens_counted(calls) for rank, calls in calls_of_ranks(logs, f"{work}/").items()}
        sizes = {path.name: path.stat().st_size for path in work.iterdir() if path.is_file()}
        return {**found, "sizes": Counter(sizes)}

    def _variables(self, setting: str) -> dict[str, str]:
        name, _, value = setting.partition("=")
        if not name:
            return {}
        if name.startswith(("io_ompio_", "fcoll")) or name == "io":
            return {f"OMPI_MCA_{name}": property_shim.bytes_of(value)}
        if name.startswith(("romio_", "cb_", "ind_")):
            hints = self._folder / "hints"
            hints.write_text(f"{name} {property_shim.bytes_of(value)}\n")
            return {"ROMIO_HINTS": str(hints)}
        if name == "file_locking":
            return {"HDF5_USE_FILE_LOCKING": value}
        return property_shim.variables(name, value)


def _without_places(signature: Signature) -> Signature:
    found: Signature = {}
    for rank, calls in signature.items():
        found[rank] = Counter()
        for call, count in calls.items():
            found[rank][re.sub(r"^(p(?:read|write)\w+\(.*), \d+\)$", r"\1", call)] += count
    return found


def _opens_counted(calls: Counter[str]) -> Counter[str]:
    """Opens are only counted, as the screen counts them: `romio_no_indep_rw` changes nothing but their flags."""
    found: Counter[str] = Counter()
    for call, count in calls.items():
        found["openat" if call.startswith("openat(") else call] += count
    return found
