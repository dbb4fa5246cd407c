"""Models of events and layouts: as TOML, and what is refused."""

from pathlib import Path

import pytest
from event_document import TOML

import thalweg as tw
from thalweg.layouts import Layout, Plan, event_model, load_model, plan

PRODUCTS = {"hits": tw.list_({"channel": tw.uint32})}


def test_a_model_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "events.toml"
    path.write_text(TOML)
    position = tw.array(tw.float32, 3, unit="mm")
    box = tw.struct({"low": tw.int8, "high": tw.int8}, description="its corners")
    assert load_model(path) == event_model(
        {
            "trigger_time": tw.uint64(unit="ns"),
            "comment": tw.string,
            "hits": tw.list_({"channel": tw.uint32, "position": position, "type": tw.uint8}),
            "wires": tw.list_(
                {
                    "rois": tw.list_({"offset": tw.uint64, "data": tw.list_(tw.float32)}),
                    "box": box,
                    "times": tw.list_(tw.float64, unit="s"),
                }
            ),
        },
        {"rois": ["wires.rois"]},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "is not TOML"),
        ("[product]\nx = 'uint8'", "'product' is not known"),
        ("[products]\nx = 'uint9'", "x: 'uint9' is not a type"),
        ("[products.x]\ny = ['uint8', 'uint8']", r"x.y: \['uint8', 'uint8'\] is not a type"),
        ("[products]", "has no fields"),
    ],
)
def test_what_a_file_gets_wrong_is_said(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "events.toml").write_text(text)
    with pytest.raises(tw.UsageError, match=message):
        load_model(tmp_path / "events.toml")


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(tw.UsageError, match="cannot have one table"):
        Layout("element", "all")
    with pytest.raises(tw.UsageError, match="'row' is not a choice"):
        Layout("row", "all")  # type: ignore[arg-type]
    with pytest.raises(tw.UsageError, match="there is no layout 'aos_all'"):
        Layout.parse("aos_all")
    with pytest.raises(tw.UsageError, match=r"group 'a' names 'hits\.b'"):
        event_model(PRODUCTS, {"a": ["hits.b"]})
    with pytest.raises(tw.UsageError, match="'hits' is in two groups"):
        event_model(PRODUCTS, {"a": ["hits"], "b": ["hits"]})
    with pytest.raises(tw.UsageError, match="not written with a layout"):
        Plan.from_metadata({})


def test_names_may_hold_dots() -> None:
    model = event_model({"a.b": tw.list_({"c.d": tw.list_({"e": tw.uint8})})}, {"g": ["a.b.c.d"]})
    assert [table.name for table in plan(model, Layout("element", "per_group")).tables] == ["events", "a.b", "g"]
    assert [name for name, _ in event_model(dict(model.products)).groups] == ["a.b", "a.b_c.d"]
