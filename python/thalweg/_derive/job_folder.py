"""The folder in which the machines of a job find each other: beside its first output, while the job runs.

There are names with short texts in it, each made at once, so that who sees a name sees its text. All that is written of
the outputs themselves is in the folders of their runs.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass

JOB = "job"
"""What every node is told: as `Rules` has it."""
BEGUN = "begun"
"""All machines have come: each joins the outputs now."""
CLOSING = "closing"
"""All ranges are in the outputs, durably: each node closes these."""


@dataclass(frozen=True)
class JobFolder:
    path: str

    def make(self) -> None:
        os.mkdir(self.path)

    def is_there(self) -> bool:
        return os.path.isdir(self.path)

    def remove(self) -> None:
        """Who still looks for it takes the job for ended."""
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"

    def put(self, name: str, text: str) -> None:
        """In the place of what the name had before."""
        new = self.file(f".{uuid.uuid4().hex}")
        with open(new, "w") as file:
            file.write(text)
        os.replace(new, self.file(name))

    def text(self, name: str) -> str | None:
        """None where there is no such name."""
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
        """False where somebody has that name already. A link comes with its text, as a file does not."""
        try:
            os.symlink(owner, self.file(name))
        except FileExistsError:
            return False
        return True

    def say(self, name: str, owner: str) -> bool:
        """The same, in the place of what somebody has said before. False where the folder is gone."""
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
        """What follows the prefix, of each name that has it."""
        try:
            return [name.removeprefix(prefix) for name in os.listdir(self.path) if name.startswith(prefix)]
        except FileNotFoundError:
            return []


def joined(node: int) -> str:
    """That this node has joined all outputs: its host, and the handles of these."""
    return f"joined-{node}"


def owned(node: int) -> str:
    """Whose number that is: of a machine."""
    return f"node-{node}"


def durable(node: int) -> str:
    """For each output a time of that machine's own clock: what was committed until then is durable."""
    return f"durable-{node}"


def failed(node: int) -> str:
    """Why that node cannot go on."""
    return f"failed-{node}"


DOING = "doing-"
"""And the number of a piece of work: by which node it is done."""
