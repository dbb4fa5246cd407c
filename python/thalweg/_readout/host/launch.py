"""launch.py PARENT SETTINGS COMMAND...: becomes a command that ends with its parent, in the groups of its handler.

It is a program of its own, without any library, so that no Python code runs between fork and exec of a process that has
threads. SETTINGS is JSON: the files `cgroup.procs` to join, the processors, and the memory nodes. What is refused is
said on stderr, and the command runs without it.
"""

import ctypes
import json
import os
import platform
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_MPOL_BIND = 2
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}


def end_with_parent(parent: int) -> None:
    """Lets the kernel kill this process if its parent ends, however it ends. A parent that has ended is seen, too."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise _last_error()
    if os.getppid() != parent:
        sys.exit(1)


def join(procs: str) -> None:
    with open(procs, "w") as file:
        file.write("0")  # the process that writes


def use_processors(processors: list[int]) -> None:
    if processors:
        os.sched_setaffinity(0, processors)


def use_memory_of(nodes: list[int]) -> None:
    """Binds the memory of this process to these nodes; it stays bound when the process becomes another program."""
    if not nodes:
        return
    number = _SET_MEMPOLICY.get(platform.machine())
    if number is None:
        raise OSError(0, f"the number of set_mempolicy is not known for {platform.machine()}")
    width = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (max(nodes) // width + 1))()
    for node in nodes:
        mask[node // width] |= 1 << node % width
    bits = ctypes.c_ulong(width * len(mask) + 1)
    if ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), _MPOL_BIND, mask, bits) != 0:
        raise _last_error()


def _last_error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))


def _try(what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except OSError as error:
        sys.stderr.write(f"{what} is not granted ({error.strerror}): it goes on without\n")


def main(words: list[str]) -> None:
    parent, settings, *command = words
    end_with_parent(int(parent))
    wanted = json.loads(settings)
    for procs in wanted["join"]:
        _try(f"the control group {os.path.dirname(procs)}", lambda procs=procs: join(procs))  # type: ignore[misc]
    processors, nodes = wanted["processors"], wanted["memory_nodes"]
    _try(f"the use of processors {processors} alone", lambda: use_processors(processors))
    _try(f"memory of the nodes {nodes} alone", lambda: use_memory_of(nodes))
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
