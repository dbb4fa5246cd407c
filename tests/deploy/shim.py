"""shim.py BUNDLE NAME STATE CGROUP: runs a container as a shim of containerd does, and says how it ended.

The container is its child, though `runc` has made it; so its exit code is known, and its control group is still there
when it has ended, with the count of what the kernel killed for memory. The end is a line of JSON in BUNDLE/end.
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, SIGKILL = 1, 36, 9


def killed_for_memory(group: Path) -> int:
    lines = (group / "memory.oom_control").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def main(bundle: Path, name: str, state: str, group: str) -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    runc = ["runc", "--root", state]
    made = subprocess.run(
        [*runc, "run", "--detach", "--bundle", bundle, "--pid-file", bundle / "pid", name], check=False
    )
    if made.returncode != 0:
        (bundle / "end").write_text(json.dumps({"code": 128, "memory": 0}))
        return
    code = os.waitstatus_to_exitcode(os.waitpid(int((bundle / "pid").read_text()), 0)[1])
    memory = killed_for_memory(Path("/sys/fs/cgroup/memory") / group.lstrip("/"))
    subprocess.run([*runc, "delete", "--force", name], check=False)
    (bundle / "end.new").write_text(json.dumps({"code": 128 - code if code < 0 else code, "memory": memory}))
    (bundle / "end.new").rename(bundle / "end")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
