"""The calls of each rank of a program on some files, as strace sees them."""

import re
from collections import Counter
from pathlib import Path

CALLS = "openat,read,write,readv,writev,pread64,pwrite64,preadv,pwritev,fcntl,flock,ftruncate,fsync,fdatasync,fallocate"
# The rank by MPICH, by Open MPI, or of a program without MPI.
_RANK = "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}"
Signature = dict[str, Counter[str]]


def under_strace(logs: Path, before: str = "") -> list[str]:
    """Returns the words that come before a program. `before`: what a shell runs it with."""
    # A log for each thread: in one for all, a call of a program with several threads may stand in two lines.
    return ["sh", "-c", f'exec strace -ff -y -s 0 -e trace={CALLS} -o {logs}/{_RANK} {before} "$@"', "sh"]


def calls_of_ranks(logs: Path, of: str) -> Signature:
    """Returns the calls of each rank with `of` in their line, without addresses and numbers of descriptors. Places and
    sizes are in them."""
    found: Signature = {}
    for log in logs.iterdir():
        calls = found.setdefault(log.name.partition(".")[0], Counter())
        for line in log.read_text(errors="replace").splitlines():
            if of in line:
                calls[re.sub(r"\d+<", "<", line.partition(" = ")[0])] += 1
    return found
