"""What this study runs beside Thalweg, and where on this machine."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import programs
from harness.programs import STUDIES, WORK, Measurement, MissingError, call

GIB = 1 << 30
NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
CPU = Path("/sys/devices/system/cpu")


def cores_by_complex() -> list[list[int]]:
    """A processor of every core that this process may use; those that share a last-level cache are together."""
    complexes: dict[str, dict[str, int]] = {}
    for number in sorted(os.sched_getaffinity(0)):
        folder = CPU / f"cpu{number}"
        caches = sorted((folder / "cache").glob("index*/shared_cpu_list"))
        shared = caches[-1].read_text().strip() if caches else ""
        core = (folder / "topology" / "thread_siblings_list").read_text().strip()
        complexes.setdefault(shared, {}).setdefault(core, number)
    return [list(cores.values()) for cores in complexes.values()]


@dataclass
class Programs(programs.Programs):
    driver: Path = WORK / "studies" / "readout" / "driver" / "readout_study"
    drivers: tuple[str, ...] = ("readout_study",)

    @property
    def milliseconds(self) -> int:
        """Returns how long a measurement lasts: at 46 million packets of 24 bytes per second, a GiB is one second."""
        return max(100, 1000 * self.total_bytes // GIB)

    def finders(self) -> dict[str, Callable[[], None]]:
        return {"namespaces": self.find_namespaces, "other complex": self.find_other_complex}

    def find_namespaces(self) -> None:
        for program in ("unshare", "ip", "tc"):
            if shutil.which(program) is None:
                raise MissingError(f"{program} is not installed")
        try:
            call([*NAMESPACES, "true"])
        except RuntimeError as error:
            raise MissingError(f"no network namespaces without privilege: {error}") from error

    def find_other_complex(self) -> None:
        if len(cores_by_complex()) < 2:
            raise MissingError("all cores of this machine share one last-level cache")

    def two_cores(self, other_complex: bool) -> tuple[int, int]:
        if other_complex:
            self.require("other complex")
            first, second, *_ = cores_by_complex()
            return first[0], second[0]
        cores = max(cores_by_complex(), key=len)
        if len(cores) < 2:
            raise MissingError("no two cores of this machine share a last-level cache")
        return cores[0], cores[1]

    def incast(self, **options: object) -> Measurement:
        self.require("namespaces")
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        command = [*NAMESPACES, sys.executable, "-m", "readout.incast.measure", *words]
        found = json.loads(call(command, {"PYTHONPATH": str(STUDIES)}, timeout=120))
        if "missing" in found:
            raise MissingError(found["missing"])
        return {**options, **found}
