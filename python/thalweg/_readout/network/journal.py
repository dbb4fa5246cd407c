"""Keeps what settings were before they were changed, so that they can be restored after the program was killed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg._base.errors import DataError, SystemError, UsageError  # noqa: A004
from thalweg._readout.network.settings import Kind, Setting

_VERSION = 1
_BESIDE = ".new"


@dataclass
class Entry:
    """One setting."""

    setting: Setting
    before: str
    after: str | None
    """None: it is not changed, but a change of the number of channels may lose it."""
    found: str | None = None
    """What was read back."""
    outcome: str = ""


@dataclass
class JournalContent:
    boot: str
    namespace: int
    cards: dict[str, int] = field(default_factory=dict)
    """The number of each interface. Another one that has the same name now is not meant."""
    entries: list[Entry] = field(default_factory=list)


class Journal:
    """A file that is replaced as a whole, and synced, before any setting of it is changed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Makes the folder of the journal if it is missing. Raises UsageError if another process works with it."""
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._failed("used", error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise UsageError(f"another process works with {self.path}: wait until it has ended") from None
        finally:
            os.close(lock)

    def load(self) -> JournalContent | None:
        """Returns the content, or None if there is no journal. Raises DataError if it is not one."""
        try:
            text = self.path.read_text()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise self._failed("read", error) from None
        try:
            facts = json.loads(text)
            if facts["version"] != _VERSION:
                raise DataError(
                    f"{self.path} is a journal of version {facts['version']}, and this program knows {_VERSION}"
                )
            entries = [_entry(each) for each in facts["entries"]]
            cards = {str(name): int(index) for name, index in facts["cards"].items()}
            return JournalContent(str(facts["boot"]), int(facts["namespace"]), cards, entries)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path} is no journal of network settings ({error})") from None

    def save(self, content: JournalContent) -> None:
        """Replaces the journal. When this returns, it is on the disk. Raises SystemError if that fails."""
        facts = {
            "version": _VERSION,
            "boot": content.boot,
            "namespace": content.namespace,
            "cards": content.cards,
            "entries": [_facts(entry) for entry in content.entries],
        }
        beside = self.path.with_name(f"{self.path.name}{_BESIDE}")
        try:
            with beside.open("w") as file:
                json.dump(facts, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
            self._sync_folder()
        except OSError as error:
            raise self._failed("written", error) from None

    def remove(self) -> None:
        """Removes the journal, when all is as it was before. Raises SystemError if that fails."""
        try:
            self.path.with_name(f"{self.path.name}{_BESIDE}").unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
            self._sync_folder()
        except OSError as error:
            raise self._failed("removed", error) from None

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _failed(self, verb: str, error: OSError | UnicodeDecodeError) -> SystemError:
        number = error.errno if isinstance(error, OSError) else errno.EIO
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        return SystemError(number or 0, f"the journal {self.path} cannot be {verb} ({reason}): give another --journal")


def _facts(entry: Entry) -> dict[str, Any]:
    setting = entry.setting
    return {
        "setting": [setting.kind, setting.card, setting.name],
        "before": entry.before,
        "after": entry.after,
        "found": entry.found,
        "outcome": entry.outcome,
    }


def _entry(facts: dict[str, Any]) -> Entry:
    kind, card, name = facts["setting"]
    setting = Setting(Kind(kind), str(card), str(name))
    return Entry(setting, str(facts["before"]), facts["after"], facts["found"], str(facts["outcome"]))
