"""When devices have ended by themselves while the run went on: what they gave came in that time alone."""

from collections.abc import Sequence

from thalweg import _core


class Ends:
    """The tables all of whose producers have ended, and when, in seconds after the start of the run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def look(self, status: _core.CommitStatus, names: Sequence[str], elapsed_s: float) -> None:
        """Sees who has ended in the current file. Call it often: it cannot know more exactly when that was."""
        live = {producer.table for producer in status.producers}
        for table, (name, ended) in enumerate(zip(names, status.ended, strict=True)):
            if table in live:
                self.seconds.pop(name, None)  # its device was opened again
            elif ended.rows:
                self.seconds.setdefault(name, elapsed_s)
