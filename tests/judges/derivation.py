"""What the recording `derive` derives, and from what."""

from pathlib import Path
from typing import Any

import expected

DERIVED_ROWS, DERIVED_RANGE_BYTES = 20_000, 64 << 10


def derivation(path: Path) -> tuple[Path, list[Any]]:
    """Returns the input, which lies beside the device, and the derivation of its even rows."""
    import thalweg as tw

    def even(events: Any) -> dict[str, Any]:
        return {name: events[name] for name in ("producer", "row", "x")}

    train = [tw.Derivation(path, even, select=lambda events: events["row"] % 2 == 0)]
    return path.parent.parent / "input.root", train


def make_input(path: Path) -> None:
    """Writes the input of the derivation with uproot."""
    import uproot

    columns = expected.rows(0, 0, DERIVED_ROWS)
    narrow = {name: columns[name] for name in ("producer", "row", "x")}
    with uproot.recreate(path) as file:
        tuple_ = file.mkrntuple("events", {name: column[:2000] for name, column in narrow.items()})
        for begin in range(2000, DERIVED_ROWS, 2000):
            tuple_.extend({name: column[begin : begin + 2000] for name, column in narrow.items()})
