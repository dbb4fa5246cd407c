"""Files of a chain may have different columns: the report names them, or values that are given stand for them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import thalweg as tw


@pytest.fixture
def chain(tmp_path: Path) -> list[Path]:
    columns = {"a.root": ["HLT_A"], "b.root": ["HLT_A", "HLT_B"], "c.root": []}
    for number, (name, triggers) in enumerate(columns.items()):
        row = {"event": tw.uint64, **dict.fromkeys(triggers, tw.bool_)}
        with tw.create(tmp_path / name, {"E": row}) as out, out.producer("E") as producer:
            events = np.arange(10 * number, 10 * number + 10, dtype=np.uint64)
            producer.append(event=events, **dict.fromkeys(triggers, events % 2 == 0))
    return [tmp_path / name for name in columns]


def read(path: Path) -> Any:
    with uproot.open(path) as file:
        found = file["E"].arrays()
    return found[np.argsort(found.event)]


def test_columns_that_a_file_lacks_are_named(chain: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.root"
    report = tw.derive(chain, [tw.Derivation(out, lambda of: {"event": of.event})], workers=1).run()
    notes = "\n".join(report.notes)
    assert "a.root lacks columns that other files have (HLT_B)" in notes
    assert "c.root lacks columns that other files have (HLT_A, HLT_B)" in notes
    assert "b.root lacks" not in notes
    for pattern in ("HLT_A", "HLT_A*"):
        with pytest.raises(tw.UsageError, match=r"'HLT_A' cannot be kept \(.*c\.root does not have it\)"):
            tw.derive(chain, [tw.Derivation(out, keep=pattern)])


def test_missing_columns_are_filled(chain: list[Path], tmp_path: Path) -> None:
    train = [
        tw.Derivation(tmp_path / "kept.root", keep="*"),
        tw.Derivation(tmp_path / "made.root", lambda of: {"event": of.event, "both": of.HLT_A & ~of.HLT_B}),
    ]
    tw.derive(chain, train, workers=2, missing={"HLT_B": True, "HLT_*": False}).run()
    event = np.arange(30)
    first, second = (event % 2 == 0) & (event < 20), (event % 2 == 0) & (event < 20) | (event < 10) | (event >= 20)
    found = read(tmp_path / "kept.root")
    np.testing.assert_array_equal(found.HLT_A, first)
    np.testing.assert_array_equal(found.HLT_B, second)
    np.testing.assert_array_equal(read(tmp_path / "made.root").both, first & ~second)
    with pytest.raises(tw.UsageError, match="missing: 7 is no value of column 'HLT_"):
        tw.derive(chain, train, missing={"HLT_*": 7})


def test_functions_see_where_events_are_from(chain: list[Path], tmp_path: Path) -> None:
    def function(of: Any) -> dict[str, Any]:
        number = "abc".index(Path(of.attrs["file"]).stem)
        first = 10 * number + of.attrs["first_event"]
        assert of.attrs["dataset"] == "E"
        return {"event": of.event, "first": np.full(len(of), first)}

    one = tw.Derivation(tmp_path / "out.root", function, select=lambda of: of.event % 2 == 0)
    tw.derive(chain, [one], workers=2, range_bytes=1).run()
    found = read(tmp_path / "out.root")
    assert len(found) == 15
    assert np.all(found.first // 10 == found.event // 10)
