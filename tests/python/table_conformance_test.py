"""Every public method and property of tables, columns and runs, on every kind of them: it works, or says why it cannot.

A method that is added, and has no case here, fails `test_every_*_has_a_case`.
"""

import os
import pickle
import signal
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from table_kinds import KINDS, ROWS, SCHEMA, WHOLE, Kind, V, X

import thalweg as tw


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the files of all kinds, among them that of a run which is being written."""
    path = tmp_path_factory.mktemp("kinds")
    with tw.create(path / "open.h5", SCHEMA, tuning={"flush_interval": "0.01 s"}) as out:
        producer = out.producer("t")
        producer.append(x=X, v=V)
        run = tw.open(path / "open.h5")
        while len(run["t"]) < ROWS:
            run.refresh()
        yield path


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, folder: Path) -> Iterator[Kind]:
    yield from KINDS[request.param](folder)


@pytest.fixture(params=WHOLE)
def whole(request: pytest.FixtureRequest, folder: Path) -> Iterator[Kind]:
    yield from WHOLE[request.param](folder)


def refused(words: str, function: Callable[[], Any]) -> None:
    with pytest.raises(tw.UsageError, match=words):
        function()


def is_same(rows: tw.Rows, kind: Kind) -> bool:
    return rows["x"].tolist() == kind.x and rows.to_awkward()["v"].to_list() == kind.v


def read_in_fork(kind: Kind) -> None:
    if not kind.table.survives_fork:
        assert kind.table.stored_in() is None
        return
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # ends a child that waits for a lock of the parent
        try:
            os._exit(0 if is_same(kind.table.read(), kind) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0


def follow_table(kind: Kind) -> None:
    if kind.is_part:
        refused("cannot be followed", lambda: kind.table.follow(timeout=5))
    else:
        follow(kind, lambda: kind.table.follow("x", timeout=5))


def follow(kind: Kind, begin: Callable[[], Iterator[tw.NewRows]]) -> None:
    if not (kind.is_ours and kind.is_file):
        refused("cannot be followed", begin)
        return
    found: list[int] = []
    for new in begin():
        found += new.rows["x"].tolist()
        if len(found) == len(kind.rows):
            break
    assert sorted(found) == sorted(kind.x)


def page_ends(kind: Kind) -> None:
    ends = list(kind.table.page_ends(1))
    assert len(ends) <= 1
    assert all(each[-1] == len(kind.table) for each in ends)
    assert bool(ends) != kind.is_part


def stored_in(kind: Kind) -> None:
    assert (kind.table.stored_in() is not None) == kind.by_core


def pickled(kind: Kind, thing: Any) -> Any:
    if kind.is_file:
        return pickle.loads(pickle.dumps(thing))
    refused("cannot be pickled", lambda: pickle.dumps(thing))
    return thing


def closed_table(kind: Kind) -> None:
    kind.table.close()
    refused("was closed by close", kind.table.read)


def read_table(kind: Kind) -> None:
    assert is_same(kind.table.read(), kind)
    assert list(kind.table.read("x")) == ["x"]
    assert kind.table.read("x", rows=[1, 0])["x"].tolist() == [kind.x[1], kind.x[0]]
    into = np.empty(len(kind.rows), np.int64)
    if kind.by_core:
        kind.table.read("x", out={"x": into})
        assert into.tolist() == kind.x


def table_items(kind: Kind) -> None:
    assert kind.table["x"][:].tolist() == kind.x
    assert kind.table[1]["x"] == kind.x[1]
    assert kind.table[1:3].read("x")["x"].tolist() == kind.x[1:3]
    refused("no column 'nothing'", lambda: kind.table["nothing"])
    with pytest.raises(tw.OutOfRangeError):
        kind.table[99]


TABLE: dict[str, Callable[[Kind], Any]] = {
    "__array__": lambda kind: refused("is not an array", lambda: np.asarray(kind.table)),
    "__arrow_c_stream__": lambda kind: assert_(pa.table(kind.table).column("x").to_pylist() == kind.x),
    "__contains__": lambda kind: [assert_(name in kind.table) for name in ("x", "v")],
    "__getitem__": table_items,
    "__iter__": lambda kind: assert_({"v", "x"} <= set(kind.table)),
    "__len__": lambda kind: assert_(len(kind.table) == len(kind.rows)),
    "__reduce__": lambda kind: assert_(is_same(pickled(kind, kind.table).read(), kind)),
    "__repr__": lambda kind: assert_(f"{len(kind.rows)} rows" in repr(kind.table)),
    "arrays": lambda kind: assert_(kind.table.arrays(["x"])["x"].to_list() == kind.x),
    "attrs": lambda kind: assert_(isinstance(kind.table.attrs, tw.Attributes)),
    "batches": lambda kind: assert_([x for each in kind.table.batches(rows=3) for x in each["x"].tolist()] == kind.x),
    "by_h5py": lambda kind: assert_(set(kind.table.by_h5py) <= {"v"}),
    "by_uproot": lambda kind: assert_(set(kind.table.by_uproot) <= {"v", "nv", "x"}),
    "close": closed_table,
    "columns": lambda kind: assert_({"v", "x"} <= set(kind.table.columns)),
    "follow": follow_table,
    "iterate": lambda kind: assert_(
        [x for each in kind.table.iterate("x", step_size=4) for x in each["x"].to_list()] == kind.x
    ),
    "keys": lambda kind: assert_({"v", "x"} <= set(kind.table.keys())),
    "name": lambda kind: assert_(kind.table.name == "t"),
    "num_entries": lambda kind: assert_(kind.table.num_entries == len(kind.rows)),
    "origin": lambda kind: assert_(kind.table.origin.path == kind.run.path),
    "page_ends": page_ends,
    "read": read_table,
    "scan_polars": lambda kind: assert_(kind.table.scan_polars().select("x").collect()["x"].to_list() == kind.x),
    "schema": lambda kind: assert_(str(kind.table.schema["x"]) == "int64"),
    "storage": lambda kind: assert_(sum(size for size, _ in kind.table.storage()) > 0),
    "stored_in": stored_in,
    "survives_fork": read_in_fork,
    "to_numpy": lambda kind: assert_(kind.table.to_numpy()["x"].tolist() == kind.x),
    "to_pandas": lambda kind: assert_(kind.table.to_pandas()["x"].to_list() == kind.x),
}


def column(kind: Kind, name: str = "x") -> tw.Column:
    return kind.table[name]


def column_items(kind: Kind) -> None:
    assert column(kind)[2:4].tolist() == kind.x[2:4]
    assert column(kind)[-1] == kind.x[-1]
    assert column(kind, "v")[1].tolist() == kind.v[1]
    with pytest.raises(tw.OutOfRangeError):
        column(kind)[99]


COLUMN: dict[str, Callable[[Kind], Any]] = {
    "__array__": lambda kind: assert_(np.asarray(column(kind)).tolist() == kind.x),
    "__dlpack__": lambda kind: assert_(np.from_dlpack(column(kind)).tolist() == kind.x),
    "__dlpack_device__": lambda kind: assert_(column(kind).__dlpack_device__() == (1, 0)),
    "__getitem__": column_items,
    "__iter__": lambda kind: assert_(list(column(kind)) == kind.x),
    "__len__": lambda kind: assert_(len(column(kind)) == len(kind.rows)),
    "__reduce__": lambda kind: assert_(pickled(kind, column(kind))[:].tolist() == kind.x),
    "__repr__": lambda kind: assert_("'x'" in repr(column(kind))),
    "attrs": lambda kind: assert_(isinstance(column(kind).attrs, tw.Attributes)),
    "dtype": lambda kind: assert_((column(kind).dtype, column(kind, "v").dtype) == (np.dtype("int64"), np.dtype("O"))),
    "is_ragged": lambda kind: assert_((column(kind).is_ragged, column(kind, "v").is_ragged) == (False, True)),
    "name": lambda kind: assert_(column(kind).name == "x"),
    "ndim": lambda kind: assert_(column(kind).ndim == 1),
    "read": lambda kind: assert_([each.tolist() for each in column(kind, "v").read()] == kind.v),
    "shape": lambda kind: assert_(column(kind).shape == (len(kind.rows),)),
    "size": lambda kind: assert_(column(kind).size == len(kind.rows)),
    "to_numpy": lambda kind: assert_(column(kind).to_numpy().tolist() == kind.x),
    "to_pandas": lambda kind: assert_(column(kind).to_pandas().to_list() == kind.x),
    "type": lambda kind: assert_(str(column(kind).type) == "int64"),
}


def closed_run(kind: Kind) -> None:
    kind.run.close()
    assert "closed by close()" in repr(kind.run)
    refused("was closed by close", lambda: kind.run["t"])
    refused("was closed by close", kind.table.read)


def run_items(kind: Kind) -> None:
    assert is_same(kind.run["t"].read(), kind)
    assert kind.run["t/x"][:].tolist() == kind.x
    refused("nothing", lambda: kind.run["nothing"])


def shown_as_file(kind: Kind) -> None:
    if not kind.is_one_file:
        refused("cannot be shown as one file", kind.run.as_file)
    elif kind.is_file and kind.by_core:
        assert is_same(tw.open(kind.run.as_file())["t"].read(), kind)
    elif kind.is_file:
        assert kind.run.as_file().read() == Path(kind.run.path).read_bytes()
    else:
        refused("cannot be shown as a file", kind.run.as_file)


def in_with(kind: Kind) -> None:
    with kind.run as run:
        assert run is kind.run
    refused("was closed by close", lambda: kind.run["t"])


def has_a_status(kind: Kind) -> bool:
    """Whether it has one, or says that it is no run of Thalweg, in an error that names the file."""
    try:
        return kind.run.status().rows is None or kind.run.status().rows >= 0
    except tw.Error as error:
        return str(kind.run.path) in str(error)


RUN: dict[str, Callable[[Kind], Any]] = {
    "__contains__": lambda kind: assert_("t" in kind.run and "nothing" not in kind.run),
    "__enter__": in_with,
    "__exit__": in_with,
    "__getitem__": run_items,
    "__iter__": lambda kind: assert_(list(kind.run) == ["t"]),
    "__len__": lambda kind: assert_(len(kind.run) == 1),
    "__reduce__": lambda kind: assert_(is_same(pickled(kind, kind.run)["t"].read(), kind)),
    "__repr__": lambda kind: assert_("'t'" in repr(kind.run)),
    "as_file": shown_as_file,
    "attrs": lambda kind: assert_(isinstance(kind.run.attrs, tw.Attributes)),
    "close": closed_run,
    "column": lambda kind: assert_(kind.run.column("t/x")[:].tolist() == kind.x),
    "follow": lambda kind: follow(kind, lambda: kind.run.follow(timeout=5)),
    "get": lambda kind: assert_(kind.run.get("nothing") is None),
    "group_attrs": lambda kind: assert_(isinstance(kind.run.group_attrs, dict)),
    "id": lambda kind: assert_(bool(kind.run.id) == kind.is_ours),
    "is_open": lambda kind: assert_(kind.run.is_open == kind.run.origin.is_open),
    "items": lambda kind: assert_([name for name, _ in kind.run.items()] == ["t"]),
    "keys": lambda kind: assert_(list(kind.run.keys()) == ["t"]),
    "keys_per_group": lambda kind: assert_(kind.run.keys_per_group == 0),
    "knobs": lambda kind: assert_(kind.is_ours or kind.run.knobs == {}),
    "metadata": lambda kind: assert_(isinstance(kind.run.metadata, dict)),
    "notes": lambda kind: assert_(kind.run.notes == ()),
    "origin": lambda kind: assert_(kind.run.origin.path == kind.run.path),
    "parts": lambda kind: assert_(sum(len(part["t"]) for part in kind.run.parts) == len(kind.rows)),
    "path": lambda kind: assert_(kind.run.path != ""),
    "problems": lambda kind: assert_(kind.run.problems == ()),
    "refresh": lambda kind: assert_(is_same(kind.run.refresh()["t"].read(), kind)),
    "schema": lambda kind: assert_(list(kind.run.schema) == ["t"]),
    "status": lambda kind: assert_(has_a_status(kind)),
    "units": lambda kind: assert_(kind.run.units == ()),
    "values": lambda kind: assert_([len(each) for each in kind.run.values()] == [len(kind.rows)]),
}


def assert_(is_true: bool) -> None:
    assert is_true


SPECIAL = {
    *("__array__", "__contains__", "__enter__", "__exit__", "__getitem__", "__iter__", "__len__"),
    *("__arrow_c_stream__", "__dlpack__", "__dlpack_device__", "__reduce__", "__repr__"),
}


def members(thing: object) -> set[str]:
    """What users may call: the public names, and special methods that are not those of any object."""
    names = set(dir(thing))
    special = {name for name in names & SPECIAL if getattr(type(thing), name) is not getattr(object, name, None)}
    return special | {name for name in names if not name.startswith("_")}


def test_every_member_of_a_table_has_a_case(kind: Kind) -> None:
    assert members(kind.table) == TABLE.keys()


def test_every_member_of_a_column_has_a_case(kind: Kind) -> None:
    assert members(column(kind)) == COLUMN.keys()


def test_every_member_of_a_run_has_a_case(whole: Kind) -> None:
    assert members(whole.run) == RUN.keys()


@pytest.mark.parametrize("name", TABLE)
def test_tables(kind: Kind, name: str) -> None:
    TABLE[name](kind)


@pytest.mark.parametrize("name", COLUMN)
def test_columns(kind: Kind, name: str) -> None:
    COLUMN[name](kind)


@pytest.mark.parametrize("name", RUN)
def test_runs(whole: Kind, name: str) -> None:
    RUN[name](whole)


@pytest.mark.parametrize("of", ["table", "column", "run"])
def test_after_close_each_works_or_says_that_it_was_closed(whole: Kind, of: str) -> None:
    given = {"table": whole.table, "column": column(whole), "run": whole.run}[of]
    whole.run.close()
    of_items = {"table": "x", "column": slice(None), "run": "t"}[of]
    needed = {"page_ends": (1,), "get": ("t",), "column": ("t/x",), "__getitem__": (of_items,), "__contains__": ("x",)}
    for name in sorted(members(given) - {"__exit__", "__enter__", "__array__"}):
        try:
            found = getattr(given, name)
            found = found(*needed.get(name, ())) if callable(found) else found
            if isinstance(found, Iterator):
                list(islice(found, 3))
        except tw.UsageError as error:
            said = str(error)
        else:
            continue
        assert "was closed by close" in said or "a file object reads it" in said, name


def test_a_run_is_equal_to_itself_alone(whole: Kind) -> None:
    assert whole.run == whole.run
    assert len({whole.run, whole.run}) == 1
