"""The file system of `thalweg mount`: each run of a folder as a complete file.

An inode of a file is an image, whose bytes never change: the kernel may keep them for ever, and programs that have
opened different images of a run do not disturb each other. A name is looked up anew whenever it is opened, and leads to
the newest image.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyfuse3
import trio

from thalweg import _core
from thalweg._base.errors import Error, UsageError
from thalweg._serving.folder import NotThereError, ShownFolder

_FOR_EVER_S = 1e6
_FIRST_IMAGE = 1 << 32  # the inode of image 0; smaller ones are of folders, and of files that cannot be shown

_T = TypeVar("_T")


@dataclass
class _Node:
    inode: int
    path: str  # in the folder that is shown
    mode: int
    size_bytes: int = 0
    time_ns: int = 0
    number: int = 0  # of the image
    lookups: int = 0  # that the kernel has not forgotten

    def attributes(self) -> pyfuse3.EntryAttributes:
        given = pyfuse3.EntryAttributes()
        given.st_ino, given.st_mode, given.st_size = self.inode, self.mode, self.size_bytes
        given.st_nlink, given.st_uid, given.st_gid = 1, os.getuid(), os.getgid()
        given.st_blksize, given.st_blocks = 1 << 20, -(-self.size_bytes // 512)
        given.st_atime_ns = given.st_mtime_ns = given.st_ctime_ns = self.time_ns
        given.entry_timeout, given.attr_timeout = 0, _FOR_EVER_S if self.number else 0
        return given


class MountedFolder(pyfuse3.Operations):
    def __init__(self, folder: ShownFolder) -> None:
        super().__init__()
        self._folder = folder
        root = _Node(pyfuse3.ROOT_INODE, "", stat.S_IFDIR | 0o555)
        self._nodes = {root.inode: root}
        self._inodes = {"": root.inode}  # of folders, and of files that cannot be shown: they are kept
        self._images: dict[int, _core.FileImage] = {}  # by handles
        self._lists: dict[int, list[tuple[str, bool]]] = {}  # by handles
        self._handles = 0
        self._readers, self._lookers = trio.CapacityLimiter(8), trio.CapacityLimiter(2)

    async def lookup(self, parent_inode: int, name: bytes, ctx: Any) -> pyfuse3.EntryAttributes:  # noqa: ARG002
        path = os.path.join(self._nodes[parent_inode].path, os.fsdecode(name))
        is_folder = await self._done(lambda: self._folder.has_folder(path), self._readers)
        node = self._of_folder(path) if is_folder else await self._newest(path)
        node.lookups += 1
        return node.attributes()

    async def forget(self, inode_list: Sequence[tuple[int, int]]) -> None:
        for inode, count in inode_list:
            node = self._nodes.get(inode)
            if node and node.number:
                node.lookups -= count
                if node.lookups <= 0:
                    del self._nodes[inode]

    async def getattr(self, inode: int, ctx: Any) -> pyfuse3.EntryAttributes:  # noqa: ARG002
        return self._node(inode).attributes()

    async def open(self, inode: int, flags: int, ctx: Any) -> pyfuse3.FileInfo:  # noqa: ARG002
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise pyfuse3.FUSEError(errno.EROFS)
        node = self._node(inode)
        # An image that is kept no more is ESTALE, and the kernel looks the name up again.
        image = await self._done(
            lambda: self._folder.numbered(node.number, node.path), self._readers, not_there=errno.ESTALE
        )
        return pyfuse3.FileInfo(fh=self._handle(self._images, image), keep_cache=True)

    async def read(self, fh: int, off: int, size: int) -> bytes:
        image = self._images[fh]
        bytes_ = bytearray(max(0, min(size, image.size - off)))
        await self._done(lambda: image.read_into(off, bytes_), self._readers)
        return bytes(bytes_)

    async def release(self, fh: int) -> None:
        del self._images[fh]

    async def opendir(self, inode: int, ctx: Any) -> int:  # noqa: ARG002
        path = self._node(inode).path
        entries = await self._done(lambda: self._folder.entries(path), self._lookers)
        return self._handle(self._lists, entries)

    async def readdir(self, fh: int, start_id: int, token: Any) -> None:
        for place, (path, is_folder) in enumerate(self._lists[fh][start_id:], start_id + 1):
            try:
                node = self._of_folder(path) if is_folder else await self._newest(path)
            except pyfuse3.FUSEError:  # opening it says why
                node = self._kept(path, stat.S_IFREG)
            if not pyfuse3.readdir_reply(token, os.fsencode(os.path.basename(path)), node.attributes(), place):
                return
            node.lookups += 1

    async def releasedir(self, fh: int) -> None:
        del self._lists[fh]

    async def access(self, inode: int, mode: int, ctx: Any) -> bool:  # noqa: ARG002
        return not mode & os.W_OK

    async def statfs(self, ctx: Any) -> pyfuse3.StatvfsData:  # noqa: ARG002
        status = pyfuse3.StatvfsData()
        status.f_bsize = status.f_frsize = 4096
        status.f_namemax = 255
        return status

    def _node(self, inode: int) -> _Node:
        if inode not in self._nodes:
            raise pyfuse3.FUSEError(errno.ESTALE)
        return self._nodes[inode]

    def _of_folder(self, path: str) -> _Node:
        return self._kept(path, stat.S_IFDIR | 0o555)

    def _kept(self, path: str, mode: int) -> _Node:
        inode = self._inodes.setdefault(path, len(self._inodes) + 2)
        node = self._nodes.setdefault(inode, _Node(inode, path, mode))
        node.mode = mode
        return node

    async def _newest(self, path: str) -> _Node:
        newest, time_ns = await self._done(lambda: self._folder.newest_at(path), self._lookers)
        inode = _FIRST_IMAGE + newest.number
        mode = stat.S_IFREG | 0o444
        return self._nodes.setdefault(inode, _Node(inode, path, mode, newest.size_bytes, time_ns, newest.number))

    def _handle(self, opened: dict[int, _T], what: _T) -> int:
        self._handles += 1
        opened[self._handles] = what
        return self._handles

    async def _done(self, work: Callable[[], _T], threads: trio.CapacityLimiter, not_there: int = errno.ENOENT) -> _T:
        """Lets a thread do what may wait for a disk. Errors become those of the system."""
        try:
            done: _T = await trio.to_thread.run_sync(work, limiter=threads, abandon_on_cancel=True)
            return done
        except NotThereError:
            code = not_there
        except UsageError:  # nothing is recorded yet
            code = errno.EAGAIN
        except OSError as error:  # ours, too
            code = error.errno or errno.EIO
        except Error:
            code = errno.EIO
        raise pyfuse3.FUSEError(code)
