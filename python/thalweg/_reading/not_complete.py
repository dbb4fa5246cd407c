"""What is to be said of a run that is read before it is complete."""

from __future__ import annotations

from thalweg._base.errors import Error
from thalweg._reading.run import Run


def not_complete(run: Run) -> str:
    """Returns a sentence about a run that is open: whether more rows come, and what to do. Empty if it is complete."""
    part = next((part for part in run.parts if part.is_open), None)
    if part is None:
        return ""
    try:
        status = run.status()
    except Error as error:
        return _unknown(part.path, str(error))
    if status.state in ("written", "closing"):
        return f"{part.path} is still being written: more rows follow than those that are shown here."
    if status.state == "closed":
        return f"{part.path} was completed meanwhile: it has more rows than those that are shown here; read it again."
    if status.state == "left":
        return (
            f"{part.path} is not complete, and no process writes it: it may have more rows than those that are shown "
            f"here. `thalweg recover {part.path}` completes it."
        )
    return _unknown(part.path, next((node.why for node in status.nodes if node.why), "its nodes do not say it"))


def _unknown(path: str, why: str) -> str:
    return (
        f"{path} is not complete, and it is not known whether it is still written ({why}): it may have more rows than "
        "those that are shown here."
    )
