"""`thalweg mount` as a child process."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from recording import THALWEG

WHY_NOT = (
    (os.geteuid() != 0 and "only root may use /dev/fuse")
    or (not os.access("/dev/fuse", os.R_OK | os.W_OK) and "there is no /dev/fuse")
    or (not find_spec("pyfuse3") and "pyfuse3 is not installed; as root, `make test` does it")
    or (not shutil.which("fusermount3") and "fuse3 is not installed")
    or ""
)


@dataclass
class Mount:
    place: Path
    process: subprocess.Popen[str]

    def end(self, how: signal.Signals = signal.SIGTERM) -> str:
        self.process.send_signal(how)
        return self.process.communicate(timeout=60)[1]


@contextlib.contextmanager
def mounted(folder: Path, place: Path) -> Iterator[Mount]:
    place.mkdir(exist_ok=True)
    words = [THALWEG, "mount", folder, place]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    mount = Mount(place, process)
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert "is shown in" in said, said + process.stderr.read()
        yield mount
        if process.poll() is None:
            errors = mount.end()
            assert (process.returncode, errors) == (0, "")
            assert list(place.iterdir()) == []
    finally:
        process.kill()
        process.communicate()
        subprocess.run(["fusermount3", "-u", "-q", place], capture_output=True, check=False)


class Held(io.FileIO):
    """One image of a run. uproot opens a name again for each piece that it reads, and would meet several."""

    def __copy__(self) -> "Held":
        return Held(os.dup(self.fileno()))
