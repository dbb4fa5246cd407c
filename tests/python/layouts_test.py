"""Layouts: every one of the 20 gives back the events that went in, whatever they consist of."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from round_trip_test import TYPES, as_read, values_of

import thalweg as tw
from thalweg._append.columns import columns_of
from thalweg._reading.asked import selected_row
from thalweg.layouts import ALL, Batch, EventModel, Layout, Plan, event_model, plan, read
from thalweg.layouts.rows import rows_of, selected

LAYOUTS = pytest.mark.parametrize("layout", ALL, ids=lambda layout: layout.name)
ROI = {"offset": tw.uint64, "data": tw.list_(tw.float32)}
DUNE = event_model(
    {
        "hits": tw.list_({"channel": tw.uint32, "amplitude": tw.float32(unit="adc")}),
        "wires": tw.list_({"channel": tw.uint32, "view": tw.int32, "rois": tw.list_(ROI)}),
    },
    {"hits": ["hits"], "wires": ["wires"], "rois": ["wires.rois"]},
)


def roi(offset: int, *data: float) -> dict[str, Any]:
    return {"offset": offset, "data": list(data)}


EVENTS = [
    {
        "hits": [{"channel": 1, "amplitude": 0.5}, {"channel": 2, "amplitude": 1.5}],
        "wires": [
            {"channel": 10, "view": -1, "rois": [roi(7, 1.0, 2.0), roi(8)]},
            {"channel": 11, "view": -2, "rois": []},
            {"channel": 12, "view": -3, "rois": [roi(9, 3.0)]},
        ],
    },
    {"hits": [], "wires": []},
    {"hits": [{"channel": 3, "amplitude": 2.5}], "wires": [{"channel": 13, "view": -4, "rois": []}]},
    {"hits": [], "wires": []},
]


def columns(events: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: [event[name] for event in events] for name in events[0]}


class MemoryRun:
    """Tables as several producers leave them: each batch is appended where it likes, but its rows keep their order."""

    def __init__(self, plan: Plan, batches: list[tuple[Any, int]], order: st.DataObject | None = None) -> None:
        self.metadata = plan.metadata()
        self._tables = {}
        scattered = [plan.scatter(batch, first) for batch, first in batches]
        for table in plan.tables:
            parts = [tables[table.name] for tables in scattered]
            parts = order.draw(st.permutations(parts)) if order else parts
            flat = [np.concatenate(each) for each in zip(*(part[1] for part in parts), strict=True)]
            self._tables[table.name] = MemoryTable(table, sum(part[0] for part in parts), flat)

    def __getitem__(self, name: str) -> "MemoryTable":
        return self._tables[name]


class MemoryTable:
    def __init__(self, table: Any, rows: int, flat: list[Any]) -> None:
        self.table, self.rows, self.flat = table, rows, flat

    def read(self, paths: Any, **_: int) -> tw.Rows:
        chosen: Iterator[Any] = (self.flat[i] for i in selected(self.table.columns, paths))
        return rows_of(selected_row(self.table.schema, paths), self.rows, chosen)


# Random events: products of any type, among them lists of structs that hold lists of structs, and any grouping.

MEMBERS = st.sampled_from(["a", "b", "c d"])
VALUES = st.sampled_from([tw.uint8, tw.string, tw.list_(tw.int16), tw.array(tw.list_(tw.int8), 2)]) | TYPES


def objects(depth: int) -> st.SearchStrategy[tw.Type]:
    """Lists of structs, in which there may be lists of structs."""
    members = VALUES if depth == 0 else st.one_of(objects(depth - 1), VALUES)
    structs = st.builds(tw.struct, st.dictionaries(MEMBERS, members, min_size=1, max_size=3))
    return st.builds(tw.list_, structs) | st.builds(tw.list_, structs) | structs


PRODUCTS = objects(2) | TYPES


@st.composite
def models(draw: st.DrawFn) -> EventModel:
    fields = draw(st.dictionaries(st.sampled_from(["x", "y", "events"]), PRODUCTS, min_size=1, max_size=3))
    if draw(st.booleans()):
        return event_model(fields)
    paths = sorted({".".join(node.path) for node in event_model(fields).nodes()})
    named = draw(st.dictionaries(st.sampled_from(paths), st.sampled_from(["x", "g", "h"]), max_size=4))
    groups = {group: [path for path in named if named[path] == group] for group in named.values()}
    return event_model(fields, groups)


@st.composite
def runs(draw: st.DrawFn) -> tuple[EventModel, list[dict[str, Any]], list[int]]:
    model = draw(models())
    event = st.fixed_dictionaries({name: values_of(type_) for name, type_ in model.products})
    events = draw(st.lists(event, max_size=7))
    return model, events, sorted(draw(st.lists(st.integers(0, len(events)), max_size=2)))


def batches_of(model: EventModel, events: list[dict[str, Any]], cuts: list[int]) -> list[tuple[Batch, int]]:
    """With event numbers that begin at 5; a marker says how many rows there are where all values are empty."""
    marked = tw.schema({"events": {**dict(model.products), "marker": tw.uint8}})["events"]
    batches = []
    for start, stop in zip([0, *cuts], [*cuts, len(events)], strict=True):
        rows = [{**event, "marker": 0} for event in events[start:stop]]
        given = columns(rows) if rows else {name: [] for name in marked}
        count, flat = columns_of(marked, given, {})
        batches.append((Batch(count, flat[:-1]), start + 5))
    return batches


@settings(max_examples=30)
@given(run=runs(), data=st.data())
def test_any_events_in_any_layout(run, data: st.DataObject) -> None:
    model, events, cuts = run
    batches = batches_of(model, events, cuts)
    expected = repr(as_read(dict(model.products), events))
    for layout in ALL:
        spill_events = data.draw(st.integers(1, 3))
        made = plan(model, Layout(layout.granularity, layout.split, layout.arrangement, spill_events))
        assert Plan.from_metadata(made.metadata()) == made
        found = read(MemoryRun(made, batches, data))
        assert repr(found.to_awkward().to_list()) == expected, made.layout


@settings(max_examples=25)
@given(run=runs(), data=st.data())
def test_any_projection_of_any_events(run, data: st.DataObject) -> None:
    model, events, cuts = run
    paths = sorted({".".join(node.path) for node in model.nodes()})
    fields = data.draw(st.lists(st.sampled_from(paths), min_size=1, max_size=2))
    batches = batches_of(model, events, cuts)
    expected = read(MemoryRun(plan(model, Layout("event", "all")), batches), fields).to_awkward().to_list()
    for layout in ALL:
        found = read(MemoryRun(plan(model, layout), batches, data), fields)
        assert repr(found.to_awkward().to_list()) == repr(expected), layout


@settings(max_examples=3)
@given(run=runs(), suffix=st.sampled_from([".h5", ".root"]))
def test_any_events_in_files(tmp_path_factory, run, suffix: str) -> None:
    model, events, cuts = run
    assume(suffix != ".root" or "c d" not in repr(model))  # ROOT's names have no spaces
    expected = repr(as_read(dict(model.products), events))
    for layout in ALL:
        path = tmp_path_factory.mktemp("run") / f"run{suffix}"
        made = plan(model, layout)
        with tw.create(path, made.schema, metadata=made.metadata(), tuning={"engine": "posix"}) as out:
            writers = [made.writer(out) for _ in range(len(cuts) + 1)]
            for writer, (batch, first) in zip(reversed(writers), batches_of(model, events, cuts), strict=True):
                assert writer.append(batch, first) == batch.events
        assert repr(read(tw.open(path)).to_awkward().to_list()) == expected


@LAYOUTS
def test_the_events_of_the_study(layout: Layout, tmp_path: Path) -> None:
    made = plan(DUNE, layout)
    with tw.create(tmp_path / "run.h5", made.schema, metadata=made.metadata()) as out, made.writer(out) as writer:
        assert writer.append(columns(EVENTS[:3])) == 3
        assert writer.append(columns(EVENTS[3:])) == 1
    run = tw.open(tmp_path / "run.h5")
    assert read(run).to_awkward().to_list() == EVENTS
    amplitudes = made.read(run, ["hits.amplitude"]).to_awkward()["hits"]["amplitude"].to_list()
    assert amplitudes == [[0.5, 1.5], [], [2.5], []]
    (table, (column,)) = made.where(["wires.rois.data"]).popitem()
    assert np.sum(run[table].read([column]).to_awkward()[tuple(column.split("/"))], axis=None) == 6.0


NUMBERS = event_model({"a": tw.list_({"x": tw.uint64, "b": tw.list_({"y": tw.uint64})})})
NUMBERS_PER_WRITER = 500


def numbers(first: int, count: int) -> dict[str, Any]:
    """Values that say where they belong: event, and position in it."""
    events = range(first, first + count)
    a = [
        [{"x": 100 * e + i, "b": [{"y": 1000 * e + 10 * i + j} for j in range((e + i) % 4)]} for i in range(e % 5)]
        for e in events
    ]
    return {"a": a}


def write_numbers(handle: str, layout: Layout, first: int) -> None:
    with tw.attach(handle) as run, plan(NUMBERS, layout).writer(run) as writer:
        for start in range(first, first + NUMBERS_PER_WRITER, 37):
            writer.append(numbers(start, min(37, first + NUMBERS_PER_WRITER - start)), first_event=start)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("suffix", [".h5", ".root"])
@pytest.mark.parametrize("name", ["aos_event_per_group", "aos_element_per_product", "soa_element_per_group"])
def test_processes_write_events_together(name: str, suffix: str, tmp_path: Path) -> None:
    """In pages so small that the rows of a producer are far apart."""
    layout, context = Layout.parse(name), multiprocessing.get_context("fork")
    made = plan(NUMBERS, layout)
    pages = {"wide_page_bytes": 4096, "narrow_page_bytes": 256, "block_bytes": 4096}
    with tw.create(tmp_path / f"run{suffix}", made.schema, metadata=made.metadata(), tuning=pages) as out:
        firsts = [NUMBERS_PER_WRITER * i for i in (1, 0, 2)]
        children = [context.Process(target=write_numbers, args=(out.handle, layout, first)) for first in firsts]
        for child in children:
            child.start()
        for child in children:
            child.join(60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert read(tw.open(tmp_path / f"run{suffix}")).to_awkward().to_list() == [
        {"a": event} for event in numbers(0, 3 * NUMBERS_PER_WRITER)["a"]
    ]


def rows_by_table(granularity: Any, split: Any) -> dict[str, int]:
    scattered = plan(DUNE, Layout(granularity, split, spill_events=3)).scatter(columns(EVENTS))
    return {table: rows for table, (rows, _) in scattered.items()}


def test_the_tables_of_the_matrix() -> None:
    assert rows_by_table("event", "all") == {"events": 4}
    assert rows_by_table("event", "per_product") == {"hits": 4, "wires": 4}
    assert rows_by_table("event", "per_group") == {"hits": 4, "wires": 4, "rois": 4}
    assert rows_by_table("spill", "all") == {"spills": 2}
    assert rows_by_table("spill", "per_product") == {"hits": 2, "wires": 2}
    assert rows_by_table("spill", "per_group") == {"hits": 2, "wires": 2, "rois": 2}
    assert rows_by_table("top_object", "per_product") == {"events": 4, "hits": 3, "wires": 4}
    assert rows_by_table("top_object", "per_group") == {"events": 4, "hits": 3, "wires": 4, "rois": 4}
    assert rows_by_table("element", "per_product") == {"events": 4, "hits": 3, "wires": 5}
    assert rows_by_table("element", "per_group") == {"events": 4, "hits": 3, "wires": 4, "rois": 3}


def as_written(layout: Layout, table: str) -> list[dict[str, Any]]:
    made = plan(DUNE, layout)
    stored = MemoryRun(made, [(columns(EVENTS), 100)])[table]
    return stored.read(list(stored.table.schema)).to_awkward().to_list()


def test_elements_of_a_product_stand_with_their_object() -> None:
    rows = as_written(Layout("element", "per_product"), "wires")
    ids = [(row["event_number"], row["wires_index"]) for row in rows]
    assert ids == [(100, 0), (100, 0), (100, 1), (100, 2), (102, 0)]
    wires = [row["wires"] for row in rows]
    assert [wire["channel"] for wire in wires] == [10, 10, 11, 12, 13]
    assert [wire["rois_count"] for wire in wires] == [2, 2, 0, 1, 0]
    assert [wire["rois"]["offset"] for wire in wires] == [7, 8, 0, 9, 0]


def test_elements_of_a_group_stand_alone() -> None:
    layout = Layout("element", "per_group")
    assert as_written(layout, "rois")[-1] == {
        "event_number": 100,
        "wires_index": 2,
        "wires": {"rois": {"offset": 9, "data": [3.0]}},
    }
    assert as_written(layout, "wires")[1] == {
        "event_number": 100,
        "wires": {"channel": 11, "view": -2, "rois_count": 0},
    }
    assert as_written(layout, "events")[0] == {"event_number": 100, "hits_count": 2, "wires_count": 3}


def test_lists_of_upper_objects_stand_once() -> None:
    model = event_model({"wires": tw.list_({"adc": tw.list_(tw.int16), "rois": tw.list_(ROI)})})
    events = {"wires": [[{"adc": [1, 2, 3], "rois": [roi(1), roi(2)]}, {"adc": [4], "rois": []}]]}
    made = plan(model, Layout("element", "per_product"))
    run = MemoryRun(made, [(events, 0)])
    assert run["wires"].read(["wires/adc"]).to_awkward()["wires"]["adc"].to_list() == [[1, 2, 3], [], [4]]
    assert read(run).to_awkward()["wires"].to_list() == events["wires"]


def test_a_struct_of_lists_has_lengths_for_each_member() -> None:
    lists = {
        arrangement: [
            column.path
            for column in plan(DUNE, Layout("event", "all", arrangement)).tables[0].columns
            if column.is_lengths
        ]
        for arrangement in ("aos", "soa")
    }
    assert lists["aos"] == ["hits", "wires", "wires/*/rois", "wires/*/rois/*/data"]
    assert lists["soa"] == [
        "hits/channel",
        "hits/amplitude",
        "wires/channel",
        "wires/view",
        *("wires/rois/offset", "wires/rois/offset/*"),
        *("wires/rois/data", "wires/rois/data/*", "wires/rois/data/*/*"),
    ]


def test_values_that_are_not_repeated_are_not_copied() -> None:
    batch = dune_batch()
    for layout in ALL:
        for _, flat in plan(DUNE, layout).scatter(batch).values():
            assert sum(column is batch.columns[-1] for column in flat) <= 1
        flat = [column for _, table in plan(DUNE, layout).scatter(batch).values() for column in table]
        assert any(column is batch.columns[-1] for column in flat), layout
        assert any(column is batch.columns[2] for column in flat), layout


def dune_batch() -> Batch:
    return plan(DUNE, ALL[0]).flatten(columns(EVENTS))


def test_units_stay_with_their_values() -> None:
    for layout in ALL:
        units = [
            column.unit
            for table in plan(DUNE, layout).schema.values()
            for column in leaves(tw.struct(dict(table)))
            if column.unit
        ]
        assert units == ["adc"], layout


def leaves(type_: tw.Type) -> Iterator[tw.Type]:
    inner = [member for _, member in type_.members] + ([type_.element] if type_.element else [])
    for each in inner:
        yield from leaves(each)
    if not inner:
        yield type_


@LAYOUTS
def test_lost_rows_are_noticed(layout: Layout) -> None:
    """Any table may lack the rows of one event, as if a producer died between two appends."""
    made = plan(DUNE, layout)
    whole = [(columns([event]), number) for number, event in enumerate(EVENTS)]
    for table in made.tables:
        run = MemoryRun(made, whole)
        rows = run[table.name].rows
        run._tables[table.name] = MemoryRun(made, [whole[0], *whole[3:]])[table.name]
        if len(made.tables) == 1:
            assert len(read(run).to_awkward()) == 2  # whole events were lost
            continue
        if run[table.name].rows == rows:
            assert table.name == "rois"  # of which these events have none
            continue
        with pytest.raises(tw.DataError, match="rows of the run were lost"):
            read(run)


def test_event_numbers_are_unique() -> None:
    for layout in ALL:
        run = MemoryRun(plan(DUNE, layout), [(columns(EVENTS), 0), (columns(EVENTS), 3)])
        with pytest.raises(tw.DataError, match="event 3 twice: give each producer its own"):
            read(run)


def test_a_projection_reads_little(tmp_path: Path) -> None:
    model = event_model({"hits": tw.list_({f"x{i}": tw.float32 for i in range(20)})})
    values = {"hits": {f"x{i}": np.random.default_rng(i).random((100, 200), np.float32) for i in range(20)}}
    for layout in ALL:
        path = tmp_path / f"{layout.name}.h5"
        made = plan(model, layout)
        with tw.create(path, made.schema, metadata=made.metadata()) as out, made.writer(out) as writer:
            writer.append(values)
        everything, one = tw.open(path), tw.open(path)
        read(everything)
        read(one, ["hits.x7"])
        assert one._core.bytes_read() < 0.1 * everything._core.bytes_read(), layout


def test_flat_columns_that_do_not_fit_are_refused() -> None:
    made = plan(DUNE, ALL[0])
    batch = dune_batch()
    with pytest.raises(tw.UsageError, match="1 columns, but events have 10"):
        made.flatten(Batch(4, batch.columns[:1]))
    with pytest.raises(
        tw.UsageError, match=r"column 'hits' \(lengths\) of the batch has shape \(4,\), but \(5,\) is needed"
    ):
        made.flatten(Batch(5, batch.columns))
    with pytest.raises(tw.UsageError, match="column 'wires/\\*/channel' of the batch has type float64"):
        made.flatten(Batch(4, [each.astype(float) if i == 4 else each for i, each in enumerate(batch.columns)]))


def test_there_are_twenty() -> None:
    assert len({layout.name for layout in ALL}) == 20
    assert Layout.parse("soa_element_per_group") in ALL
