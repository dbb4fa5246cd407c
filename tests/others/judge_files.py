"""Judges what Thalweg makes of the files of other programs in a folder: one line a file, and the sums at the end.

Each HDF5 or ROOT file is opened, inspected, verified, and converted to both containers; h5py and uproot say which
objects, attributes and values it has. Each must be shown, or named among what is left out. Values of attributes are not
compared: an attribute is shown if one of its name is.

    make foreign FOLDER=files
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import uproot
from hdf5_values import attributes, columns, datasets
from nothing_lost_test import lost_attributes, lost_objects
from same_values import alike, is_there, is_unreadable, same_ntuple, same_tree

import thalweg as tw
from thalweg import cli
from thalweg._files import others_check

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_MOST_SECONDS = 300  # of CPU
_MOST_MEMORY = 8 << 30  # bytes of addresses beyond those of the imports
_MOST_MESSAGES = 20


def container_of(path: Path) -> str:
    """Returns "hdf5", "root" or ""."""
    with path.open("rb") as file:
        begin = file.read(64 << 10)
    if begin.startswith(b"root"):
        return "root"
    offsets = [0, *(512 << power for power in range(7))]
    return "hdf5" if any(begin[offset:].startswith(_SIGNATURE) for offset in offsets) else ""


class Judge:
    """Collects the faults of one file."""

    def __init__(self, path: Path, container: str, scratch: Path) -> None:
        self.path = path
        self.container = container
        self.scratch = scratch
        self.faults: list[str] = []
        self.left_out = 0
        self.said = ""
        self.damage = ""

    def verdict(self) -> dict[str, Any]:
        """Returns "right", "left out" (and named), "refused", "not read" or "fault". What the judges
        cannot read either, or what has no room in memory, is not read."""
        try:
            run = tw.open(self.path)
        except tw.Error as error:
            self.said = str(error)
            return self._of("refused" if self._refusal_is_right() else "fault")
        self.left_out = len(run.problems)
        for check in (self._inspect, self._values, self._verify, self._attributes, self._convert):
            self._try(check, run)
        kind = "fault" if self.faults else "not read" if self.damage else "left out" if self.left_out else "right"
        return self._of(kind)

    def _of(self, kind: str) -> dict[str, Any]:
        said = self.said or self.damage
        return {"verdict": kind, "left_out": self.left_out, "said": said, "faults": self.faults[:_MOST_MESSAGES]}

    def _try(self, check: Callable[[tw.Run], None], run: tw.Run) -> None:
        if self.damage and (self.container == "hdf5" or "allocate" in self.damage):
            return
        try:
            check(run)
        except MemoryError as error:
            self.damage = str(error)
        except RuntimeError as error:  # h5py cannot visit all objects
            self.damage = str(error)
            if "Object visitation failed" not in str(error):
                self.faults.append(f"{check.__name__[1:]}: {traceback.format_exc(limit=-4)}")
        except Exception:
            self.faults.append(f"{check.__name__[1:]}: {traceback.format_exc(limit=-4)}")

    def _refusal_is_right(self) -> bool:
        """Returns whether what the judges find is named, or they find no object with rows, or cannot open the file."""
        try:
            names = self._objects()
        except Exception:
            return True
        missing = [name for name in names if name not in self.said]
        if not missing or re.search(r"and \d+ more", self.said):
            return True
        self.faults.append(f"refused ({self.said}), which does not name {missing[:_MOST_MESSAGES]}")
        return False

    def _objects(self) -> list[str]:
        if self.container == "root":
            with uproot.open({self.path: None}) as file:
                return [name for name, kind in file.classnames(cycle=False).items() if "Directory" not in kind]
        with h5py.File(self.path, locking=False) as file:
            return [name for name, each in datasets(file) if each.shape]

    def _inspect(self, run: tw.Run) -> None:
        code, out, told = command("inspect", self.path, "--json")
        if code != bool(run.problems):
            self.faults.append(f"inspect ends with {code}: {told}")
        shown = {table["name"]: table["rows"] for table in json.loads(out)["tables"]}
        if shown != {name: len(table) for name, table in run.items()}:
            self.faults.append(f"inspect shows {shown}")
        code, _, told = command("inspect", self.path)
        if code != bool(run.problems):
            self.faults.append(f"inspect without --json ends with {code}: {told}")

    def _verify(self, run: tw.Run) -> None:
        found = tw.verify(self.path)
        if not found.is_sound and not self.damage:
            self.faults.append(f"verify: {found}")
        if {each.path for each in found.problems} != {each.path for each in run.problems}:
            self.faults.append(f"verify and open leave out different parts: {found.problems}")

    def _values(self, run: tw.Run) -> None:
        if self.container == "root":
            self._values_of_root(run)
            return
        left_out = {problem.path for problem in run.problems}
        found, known = list(columns(run)), list(attributes(run))
        with h5py.File(self.path, locking=False) as file:
            for name, theirs in datasets(file):
                if name not in left_out and not is_there(name, theirs, left_out, found, known):
                    self.faults.append(f"{name} is dropped, or has other values ({theirs.shape}, {theirs.dtype})")

    def _values_of_root(self, run: tw.Run) -> None:
        left_out = {problem.path for problem in run.problems}
        with uproot.open({self.path: None}) as file:
            for name, kind in file.classnames(cycle=False).items():
                if name not in run:
                    continue
                try:
                    mine = run[name].read()
                except tw.DataError as error:
                    if not is_unreadable(file[name]):
                        raise
                    self.damage = str(error)
                    continue
                same = same_ntuple if kind == "ROOT::RNTuple" else same_tree
                self.faults += same(name, file[name], mine, left_out)

    def _attributes(self, run: tw.Run) -> None:
        lost = lost_attributes(self.path, run) if self.container == "hdf5" else lost_objects(self.path, run)
        if lost:
            self.faults.append(f"neither shown nor named: {lost[:_MOST_MESSAGES]}")

    def _convert(self, run: tw.Run) -> None:
        for ending in ("h5", "root"):
            target = self.scratch / f"copy.{ending}"
            try:
                report = tw.convert(self.path, target)
            except tw.Error as error:
                self.said = str(error)
                if not self.damage and "nothing that can be copied" not in str(error):
                    self.faults.append(f"convert to .{ending}: {error}")
                continue
            if {each.path for each in run.problems} - {each.path for each in report.problems}:
                self.faults.append(f"convert to .{ending} does not name what is left out")
            self._compare(run, tw.open(target), ending)
            target.unlink()

    def _compare(self, run: tw.Run, copy: tw.Run, ending: str) -> None:
        schema = run.schema.without_zero_width()
        if len(schema) != len(copy.schema):
            self.faults.append(f"the .{ending} has {len(copy.schema)} tables, not {len(schema)}")
            return
        for mine, theirs in zip(schema, copy, strict=True):
            if not alike(run[mine].read(list(schema[mine])), copy[theirs].read()):
                self.faults.append(f"table {mine} has other values in the .{ending}")


class ForkedCheck:
    """Stands for the module `subprocess` in `verify`, since a fork has the imports already, which take longer than all
    the rest."""

    DEVNULL = PIPE = None

    def run(self, words: list[str], **_: Any) -> Any:
        begin, end = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(end, 1)
            code = 1
            try:
                others_check.main(*words[3:])
                code = 0
            finally:
                os._exit(code)
        os.close(end)
        with open(begin, "rb") as file:
            out = file.read()
        return SimpleNamespace(stdout=out, returncode=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def command(*words: object) -> tuple[int, str, str]:
    """Runs a command in this process. Returns its exit code, and what it says."""
    out, told = StringIO(), StringIO()
    before, sys.argv = sys.argv, ["thalweg", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(told):
            code = cli.run()
    finally:
        sys.argv = before
    return code, out.getvalue(), told.getvalue()


def judged_in_a_child(path: Path, container: str) -> dict[str, Any]:
    """Returns the verdict about a file; a child judges, which may crash, or take too long."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="judge-") as scratch:
        answer = Path(scratch) / "answer.json"
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(20 * _MOST_SECONDS)  # on a busy machine
                resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
                pages = int(Path("/proc/self/statm").read_text().split()[0])
                most = _MOST_MEMORY + pages * os.sysconf("SC_PAGE_SIZE")
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
                answer.write_text(json.dumps(Judge(path, container, Path(scratch)).verdict()))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found = {"verdict": "fault", "left_out": 0, "said": "", "faults": [f"its judge ended with {code}"]}
        if code == 0:
            found = json.loads(answer.read_text())
        return {**found, "seconds": round(time.monotonic() - began, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="folders and files")
    parser.add_argument("--json", type=Path, help="write all verdicts to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cli.register()  # here once, and not in each child
    sys.modules["thalweg._files.verify"].subprocess = ForkedCheck()  # type: ignore[attr-defined]
    verdicts: dict[str, Any] = {}
    for given in options.paths:
        for path in sorted(given.rglob("*")) if given.is_dir() else [given]:
            if not path.is_file() or not (container := container_of(path)):
                continue
            found = verdicts[str(path)] = judged_in_a_child(path, container)
            print(f"{found['verdict']:9} {path}", flush=True)
            for fault in found["faults"]:
                print("          " + fault.rstrip().replace("\n", "\n          "), flush=True)
    counts = Counter(each["verdict"] for each in verdicts.values())
    print(f"{len(verdicts)} files: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    if options.json:
        options.json.write_text(json.dumps(verdicts, indent=1))
    return 1 if counts["fault"] or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
