"""Columns that are kept as they are: pages that are copied give the values that decoding and encoding gives.

uproot reads both, of our own files and of those that ROOT wrote.
"""

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
from derive_cases import EVENTS, ROW, events, two_muons
from rntuple_foreign_test import FILES

import thalweg as tw
from thalweg import _core
from thalweg._schema.schema import Schema, TableSchema

# Clusters of about 1500 events.
CLUSTERS = {"narrow_page_bytes": 2048, "cluster_bytes": "32 KiB", "memory_bytes": "256 KiB", "extent_bytes": "64 KiB"}
SHAPED = {**ROW, "matrix": tw.Type("float32", (2, 3)), "points": tw.list_(tw.Type("int16", (2,)))}


def shaped(first: int, count: int) -> dict[str, Any]:
    part = events(first, count)
    numbers = np.arange(first, first + count)
    lengths = numbers % 3
    inner = np.repeat(numbers, lengths)[:, np.newaxis] * np.array([1, -1])
    return {name: part[name] for name in ROW} | {
        "matrix": (numbers[:, np.newaxis, np.newaxis] + np.arange(6).reshape(2, 3)).astype(np.float32),
        "points": tw.Ragged.from_lengths(lengths, inner.astype(np.int16)),
    }


def write(path: Path, codec: str | None = None, count: int = EVENTS) -> Path:
    """By several producers, one behind the other, so that there are clusters of many sizes."""
    with tw.create(path, {"Events": SHAPED}, tuning=CLUSTERS, codec=codec) as out:
        for first in range(0, count, 1500):
            with out.producer("Events") as producer:
                for start in range(first, min(first + 1500, count), 500):
                    producer.append(shaped(start, min(500, count - start)))
    return path


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write(tmp_path_factory.mktemp("input") / "in.root")
    assert len(clusters_of(path)) > 3
    return path


def clusters_of(path: Path) -> list[int]:
    stored = next(iter(tw.open(path).values())).stored_in()
    assert stored
    clusters = _core.stored_clusters(*stored)
    assert clusters
    return clusters.ends


def of_uproot(path: Path, name: str = "Events") -> ak.Array:
    with uproot.open(path) as file:
        return file[name].arrays()


def slim(path: Path | str, out: Path, keep: Any, copy_pages: bool | None, **options: Any) -> tw.DerivationReport:
    of = {name: options.pop(name) for name in ("function", "select", "codec") if name in options}
    derivation = tw.Derivation(out, of.pop("function", None), keep=keep, copy_pages=copy_pages, **of)
    return tw.derive(path, [derivation], **{"workers": 2, **options}).run()


def assert_same(found: ak.Array, expected: ak.Array, by: str = "event") -> None:
    """Whatever the order of the rows."""
    found, expected = found[ak.argsort(found[by])], expected[ak.argsort(expected[by])]
    assert found.fields == expected.fields
    for name in expected.fields:
        assert ak.array_equal(found[name], expected[name], dtype_exact=True, equal_nan=True), name


@pytest.mark.parametrize("order", ["any", "input"])
def test_both_ways_give_the_rows_of_the_input(inputs: Path, tmp_path: Path, order: str) -> None:
    keep = ["event", "Jet", "label", "matrix", "points", "Muon_pt"]
    copied = slim(inputs, tmp_path / "copied.root", keep, True, order=order)
    decoded = slim(inputs, tmp_path / "decoded.root", keep, False, order=order)
    assert copied.copied_pages > 50
    assert decoded.copied_pages == 0
    assert copied.is_whole
    expected = of_uproot(inputs)[[name for name in SHAPED if name in keep]]
    for name in ("copied", "decoded"):
        found = of_uproot(tmp_path / f"{name}.root")
        assert_same(found, expected)
        if order == "input":
            assert ak.array_equal(found.event, expected.event)
        assert tw.verify(tmp_path / f"{name}.root").is_sound
    assert copied.columns == sorted(keep)


def test_the_order_of_the_input_does_not_depend_on_the_workers(inputs: Path, tmp_path: Path) -> None:
    def pages(path: Path) -> list[Any]:
        content = path.read_bytes()
        found = [
            (each.num_elements, each.locator) for cluster in stored(path) for column in cluster for each in column.pages
        ]
        return [(count, content[at.offset : at.offset + at.num_bytes]) for count, at in found]

    for workers in (1, 3):
        slim(inputs, tmp_path / f"{workers}.root", "*", True, workers=workers, order="input", ranges_per_group=2)
    assert pages(tmp_path / "1.root") == pages(tmp_path / "3.root")
    assert ak.array_equal(*(of_uproot(tmp_path / f"{workers}.root") for workers in (1, 3)))


def test_computed_columns_stand_beside_copied_ones(inputs: Path, tmp_path: Path) -> None:
    def more(of: ak.Array) -> dict[str, Any]:
        return {"good": of.Muon_pt[of.Muon_pt > 20], "met2": of.MET_pt**2, "text": of.label}

    report = slim(inputs, tmp_path / "a.root", ["Muon_pt", "event", "MET_*"], True, function=more, range_bytes=1)
    assert report.copied_pages > 20
    found, expected = of_uproot(tmp_path / "a.root"), of_uproot(inputs)
    found = found[ak.argsort(found.event)]
    assert ak.array_equal(found.good, expected.Muon_pt[expected.Muon_pt > 20])
    assert ak.array_equal(found.met2, expected.MET_pt**2)
    assert ak.array_equal(found.text, expected.label)
    assert ak.array_equal(found.MET_phi, expected.MET_phi)


def some(of: ak.Array) -> Any:
    """All events of the first clusters, few of others, and none of the last ones."""
    return (of.event < 4000) | ((of.event % 50 == 0) & (of.event < 9000))


@pytest.mark.parametrize("copy_pages", [True, None, False])
@pytest.mark.parametrize("ending", [".root", ".h5"])
def test_where_rows_are_dropped_masks_choose_the_others(
    inputs: Path, tmp_path: Path, copy_pages: bool | None, ending: str
) -> None:
    report = slim(inputs, tmp_path / f"a{ending}", list(SHAPED), copy_pages, select=some)
    assert (report.copied_pages > 0) == (ending == ".root" and copy_pages is True)
    of = of_uproot(inputs)
    expected = of[some(of)]
    found = tw.open(tmp_path / f"a{ending}")["Events"].read().to_awkward()
    assert_same(found, tw.open(inputs)["Events"].read().to_awkward()[some(of)])
    if ending == ".root":
        assert_same(of_uproot(tmp_path / "a.root"), expected)


def test_selections_that_keep_nothing_in_hdf5_inputs(tmp_path: Path) -> None:
    with tw.create(tmp_path / "in.h5", {"Events": SHAPED}) as out, out.producer("Events") as producer:
        producer.append(shaped(0, 3000))
    slim(tmp_path / "in.h5", tmp_path / "a.root", "*", None, select=two_muons)
    expected = tw.open(tmp_path / "in.h5")["Events"].read().to_awkward()
    assert_same(of_uproot(tmp_path / "a.root"), expected[two_muons(expected)])
    report = slim(tmp_path / "in.h5", tmp_path / "b.root", "event", True, select=lambda of: of.event < 0)
    assert (report.outputs[0].rows, report.copied_pages) == (0, 0)


@pytest.mark.parametrize("codec", ["zstd-5", "lz4", "deflate-3", "none", "plain+zstd-1"])
def test_the_output_takes_the_codec_of_the_input(tmp_path: Path, codec: str) -> None:
    path = write(tmp_path / "in.root", codec, 3000)
    report = slim(path, tmp_path / "a.root", "*", True)
    other = slim(path, tmp_path / "b.root", "*", True, codec="zstd-9")
    assert report.copied_pages > 20
    assert other.copied_pages == 0
    for name in ("a", "b"):
        assert_same(of_uproot(tmp_path / f"{name}.root"), of_uproot(path))
    assert settings_of(tmp_path / "a.root") == settings_of(path)
    assert settings_of(tmp_path / "b.root") == {509}


def settings_of(path: Path) -> set[int]:
    """Returns the settings of all columns in all clusters, as the page lists say."""
    return {int(column.compression_settings) for cluster in stored(path) for column in cluster}


def stored(path: Path) -> list[list[Any]]:
    """The pages of each column in each cluster, as uproot has them."""
    with uproot.open(path) as file:
        return [cluster for group in file["Events"].page_list_envelopes for cluster in group.pagelinklist]


@pytest.mark.parametrize("name", FILES, ids=lambda name: Path(name).name)
def test_files_of_others_give_the_same_both_ways(name: str, real_data: Path, tmp_path: Path) -> None:
    """Columns that were added late, or stored with few bits, of all column types: what cannot be copied is encoded."""
    source = real_data / name
    if not source.exists():
        pytest.skip(f"there is no {source}")
    reader = _core.Reader.open(str(source), True)  # without the TTrees beside them, which take long to open
    for index, table in enumerate(Schema.from_json(reader.schema).values()):
        if not table.fields:
            continue
        names = list(table)
        flat = TableSchema(table.name.rpartition("/")[2], table.fields)
        copied = {}
        for copy in (_core.CopyPages.always, _core.CopyPages.never):
            stored = _core.stored_clusters(reader, index)
            assert stored
            codec = stored.codec_of(names)
            out = tw.create(tmp_path / f"{copy.name}.root", Schema((flat,)), codec=codec, force=True)
            attached = tw.attach(out.handle)
            kept = _core.kept_columns(reader, index, stored, attached._core, flat.name, names, copy)
            assert kept is not None
            with attached, attached.work_unit(0) as unit:
                unit[flat.name].append_kept(kept, 0, reader.rows(index), None, [])
            out.close()
            copied[copy.name] = kept.copied[0]
        assert (copied["always"] > 0, copied["never"]) == (reader.rows(index) > 0, 0)
        assert tw.verify(tmp_path / "always.root").is_sound
        with uproot.open(source) as file:
            expected = file[table.name].arrays(filter_name=names)
        a, b = (of_uproot(tmp_path / f"{copy}.root", flat.name) for copy in ("always", "never"))
        for field in names:
            assert values_of(a[field]) == values_of(b[field]), field
            if field in expected.fields and "variant" not in field:  # those have a form of their own here
                assert values_of(a[field]) == values_of(expected[field]), field


def values_of(array: ak.Array) -> Any:
    """NaN is NaN, and 1 is 1 in a union, too."""
    return repr(array.to_list())


def test_a_damaged_page_is_named_and_its_events_can_be_left_out(inputs: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.root"
    content = bytearray(inputs.read_bytes())
    page = next(each for each in pages_of(inputs, "MET_pt") if each[0] <= 3000 < each[1])
    content[page[2] + 5] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(tw.DerivationError, match=r"damaged.root.*column 'MET_pt'.*cannot be copied.*checksum") as error:
        slim(path, tmp_path / "a.root", "MET_*", True, attempts=1)
    assert f"rows {page[0]} to {page[1]}" in str(error.value)
    report = slim(path, tmp_path / "b.root", "MET_*", True, attempts=1, on_error="skip", range_bytes=1)
    (left_out,) = report.skipped
    assert left_out.start <= 3000 < left_out.stop
    assert report.outputs[0].rows == EVENTS - (left_out.stop - left_out.start)
    others = slim(path, tmp_path / "c.root", ["event", "Jet"], True)  # it is of no column that is kept
    assert others.is_whole


def pages_of(path: Path, column: str) -> list[tuple[int, int, int]]:
    """First row, end and offset of each."""
    with uproot.open(path) as file:
        records, names = file["Events"].column_records, [each.field_name for each in file["Events"].field_records]
    number = next(index for index, each in enumerate(records) if names[each.field_id] == column)
    found, row = [], 0
    for cluster in stored(path):
        for page in cluster[number].pages:
            found.append((row, row + page.num_elements, page.locator.offset))
            row += page.num_elements
    return found
