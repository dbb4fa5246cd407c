"""A read that takes long is one of many pieces: Ctrl-C ends it, and what is read is the same."""

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from thalweg._reading import scan

ROWS = 60_000


@pytest.fixture(params=["run.h5", "run.root"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    fields = {"x": tw.int64, "w": tw.array(tw.uint16, 40), "l": tw.list_(tw.struct({"a": tw.int32, "b": tw.string}))}
    with tw.create(path, {"t": fields}, tuning={"narrow_page_bytes": "4 KiB"}) as out:
        producer = out.producer("t")
        numbers = np.arange(ROWS)
        waves = (numbers[:, None] + np.arange(40)).astype(np.uint16)
        lengths = numbers % 3
        content = {
            "a": np.repeat(numbers, lengths).astype(np.int32),
            "b": [f"{i}" for i in np.repeat(numbers, lengths)],
        }
        producer.append(x=numbers, w=waves, l={name: tw.Ragged.from_lengths(lengths, v) for name, v in content.items()})
    return path


@pytest.mark.parametrize("piece", [1, 1000, 100_000])
def test_pieces_are_put_together(path: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tw.open(path)["t"]
    whole = table.read(rows=slice(7, ROWS - 5)).to_awkward()
    monkeypatch.setattr(scan, "_PIECE_BYTES", piece)
    pieces = table.read(rows=slice(7, ROWS - 5)).to_awkward()
    assert pieces.tolist()[::101] == whole.tolist()[::101]
    assert (np.asarray(pieces.w) == np.asarray(whole.w)).all()
    into = np.empty(1000, np.int64)
    table.read("x", rows=slice(500, 1500), out={"x": into})
    assert into.tolist() == list(range(500, 1500))


class Interrupted:
    """A reader whose first read is interrupted by Ctrl-C."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self.items = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def read(self, table: int, column: int, first: int, count: int, *rest: Any) -> None:
        self._core.read(table, column, first, count, *rest)
        self.items += count
        signal.raise_signal(signal.SIGINT)


def test_control_c_ends_a_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    column = tw.open(path)["t"]["x"]
    monkeypatch.setattr(scan, "_PIECE_BYTES", 80_000)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    reader = Interrupted(column._table._core)
    monkeypatch.setattr(column._table, "_core", reader)
    try:
        with pytest.raises(KeyboardInterrupt):
            column[:]
    finally:
        signal.signal(signal.SIGINT, before)
        monkeypatch.undo()
    assert 10_000 <= reader.items < ROWS / 2
    assert column[5:7].tolist() == [5, 6]
