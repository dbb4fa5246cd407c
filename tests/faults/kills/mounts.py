"""Gives a process a small /dev/shm of its own."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000


def call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def mount_small_memory(size: str) -> None:
    """Mounts it for this process and its children, from now on. Raises OSError if this user may not mount."""
    user, group = os.geteuid(), os.getegid()
    call("unshare", CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER)
    if user != 0:
        for name, text in {"setgroups": "deny", "uid_map": f"0 {user} 1", "gid_map": f"0 {group} 1"}.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", b"tmpfs", b"/dev/shm", b"tmpfs", 0, f"size={size}".encode())


def why_not() -> str:
    """Returns why it cannot be done here, or an empty text if it can."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            mount_small_memory("64k")
        except OSError as error:
            os.write(writing, str(error).encode() or b"?")
        os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    with open(reading, "rb") as file:
        return file.read().decode()
