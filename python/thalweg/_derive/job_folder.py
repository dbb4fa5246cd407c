"""The folder through which the machines of a job communicate. It lies beside the first output while the job runs.

It holds names with short texts. Each name is created together with its text, so that a reader that sees the name sees
the whole text. The outputs themselves keep their state in the folders of their runs.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass

from thalweg._base.paths import is_folder

JOB = "job"
"""The text is the `Rules` of the job."""
BEGUN = "begun"
"""It exists once all machines have joined the job: each node now joins the outputs."""
CLOSING = "closing"
"""It exists once all ranges are durable in the outputs: each node now closes them."""


@dataclass(frozen=True)
class JobFolder:
    path: str

    def make(self) -> None:
        os.mkdir(self.path)

    def is_there(self) -> bool:
        return is_folder(self.path)

    def remove(self) -> None:
        """Removes the folder, which tells all nodes that the job has ended."""
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"

    def put(self, name: str, text: str) -> None:
        """Sets the text of a name, replacing what it had before."""
        new = self.file(f".{uuid.uuid4().hex}")
        with open(new, "w") as file:
            file.write(text)
        os.replace(new, self.file(name))

    def text(self, name: str) -> str | None:
        """Returns the text of a name, or None if there is no such name."""
        while True:
            try:
                with open(self.file(name)) as file:
                    return file.read()
            except OSError as error:
                if error.errno == errno.ENOENT:
                    return None
                if error.errno != errno.ESTALE:  # it was replaced while it was read, as NFS says it
                    raise

    def take(self, name: str, owner: str) -> bool:
        """Takes a name for an owner. Returns False if it has an owner already.

        The name is a symbolic link, since a link, unlike a file, is created together with its text."""
        try:
            os.symlink(owner, self.file(name))
        except FileExistsError:
            return False
        return True

    def say(self, name: str, owner: str) -> bool:
        """Sets the owner of a name, replacing an earlier one. Returns False if the folder is gone."""
        new = self.file(f".{uuid.uuid4().hex}")
        try:
            os.symlink(owner, new)
            os.replace(new, self.file(name))
        except FileNotFoundError:
            return False
        return True

    def owner(self, name: str) -> str | None:
        try:
            return os.readlink(self.file(name))
        except FileNotFoundError:
            return None

    def drop(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(self.file(name))

    def names(self, prefix: str) -> list[str]:
        """Returns the rest of each name that begins with the prefix."""
        try:
            return [name.removeprefix(prefix) for name in os.listdir(self.path) if name.startswith(prefix)]
        except FileNotFoundError:
            return []


def joined_path(node: int) -> str:
    """Returns the name whose text is the host of a node and its handles, once it has joined all outputs."""
    return f"joined-{node}"


def owned(node: int) -> str:
    """Returns the name whose owner is the machine of a node."""
    return f"node-{node}"


def durable(node: int) -> str:
    """Returns the name whose text has one time for each output, by the clock of the machine of the node.

    What the node committed before that time is durable."""
    return f"durable-{node}"


def failed(node: int) -> str:
    """Returns the name whose text says why a node cannot go on."""
    return f"failed-{node}"


DOING = "doing-"
"""With the number of a call, this is the name whose owner is the node that does it."""
