"""Schemas: how they are written, what is refused, and that they survive JSON."""

import json

import numpy as np
import pytest

import thalweg as tw


def nested() -> tw.Schema:
    return tw.schema(
        {
            "ch0/raw": {
                "timestamp": tw.uint64(unit="ns", description="of the trigger"),
                "waveform": tw.waveform(tw.uint16, 100),
                "hits": tw.list_({"energy": tw.float32(unit="keV"), "label": tw.string}),
                "matrix": tw.array(tw.complex64, 2, 3),
            },
            "ch1": {"flags": tw.array(tw.bool_, 8)},
        }
    )


def test_a_schema_survives_json() -> None:
    assert tw.Schema.from_json(nested().to_json()) == nested()


def test_a_schema_is_a_mapping_that_prints_as_an_outline() -> None:
    schema = nested()
    assert list(schema) == ["ch0/raw", "ch1"]
    assert list(schema["ch1"]) == ["flags"]
    assert schema["ch0/raw"]["timestamp"].unit == "ns"
    assert "  timestamp: uint64 (ns)" in str(schema).splitlines()
    assert "matrix: complex64[2, 3]" in str(schema)


def test_a_type_may_have_a_name_in_cpp() -> None:
    hit = tw.struct({"energy": tw.float32}, type_name="Hit")
    schema = tw.schema({"t": {"hits": tw.list_(hit, type_name="std::vector<Hit>"), "x": tw.int32(type_name="Bits")}})
    assert tw.Schema.from_json(schema.to_json()) == schema
    assert str(schema["t"]["hits"]) == "list({energy: float32} as Hit) as std::vector<Hit>"
    assert str(schema["t"]["x"]) == "int32"


def test_complex_numbers_stored_in_two_columns_are_complex_numbers() -> None:
    parts = [{"name": part, "type": "float32"} for part in ("real", "imag")]
    stored = {"name": "z", "type": "struct", "fields": parts, "shape": [3], "unit": "V", "type_name": "complex64"}
    schema = tw.Schema.from_json(json.dumps({"tables": [{"name": "t", "fields": [stored]}]}))
    assert schema == tw.schema({"t": {"z": tw.array(tw.complex64, 3, unit="V")}})
    assert tw.Schema.from_json(schema.to_json()) == schema


def test_numpy_types_and_dictionaries_are_types() -> None:
    pair = np.dtype([("x", "f4"), ("y", "i2", (3,))])
    written = tw.schema({"t": {"a": np.uint16, "b": "f8", "pair": pair, "s": str}})
    meant = {"a": tw.uint16, "b": tw.float64, "pair": {"x": tw.float32, "y": tw.array(tw.int16, 3)}, "s": tw.string}
    assert written == tw.schema({"t": meant})


def test_an_array_of_arrays_has_both_shapes() -> None:
    assert tw.array(tw.array(tw.int8, 3), 2) == tw.array(tw.int8, 2, 3)


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({}, "the schema has no tables"),
        ({"t": {}}, "table 't'.*no fields"),
        ({"t": {"": tw.int8}}, "its name is empty"),
        ({"t": {"a/b": tw.int8}}, "its name holds '/'"),
        ({"t": {"a*": tw.int8}}, r"its name holds '\*'"),
        ({"t": {"..": tw.int8}}, "a meaning of its own"),
        ({"t": {"a\0": tw.int8}}, r"the name of a field cannot be 'a.x00' .it holds a NUL"),
        ({"t": {"a": tw.array(tw.int8, 0)}}, "field 'a'.*zero"),
        ({"t": {"a": tw.array(tw.int8, 2**33)}}, "larger than 4 GiB"),
        ({"t": {"a": {}}}, "field 'a'.*no fields"),
        ({"t": {"a": tw.int8}, "t/u": {"a": tw.int8}}, "'t' is a table, too"),
        ({"thalweg": {"a": tw.int8}}, "own records"),
    ],
)
def test_what_no_file_can_hold_is_refused(tables: dict[str, dict[str, tw.Type]], reason: str) -> None:
    with pytest.raises(tw.UsageError, match=reason):
        tw.schema(tables)


@pytest.mark.parametrize("like", ["nonsense", "datetime64", "float16", object(), "U5"])
def test_types_that_cannot_be_stored_are_refused(like: object) -> None:
    with pytest.raises(tw.UsageError):
        tw.list_(like)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "{}", '{"tables": 3}', '{"tables": [{"name": "t", "fields": [{"name": "a"}]}]}'])
def test_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(tw.UsageError, match="cannot be read"):
        tw.Schema.from_json(text)


@pytest.mark.parametrize("name", ["with blank", "dot.ted", "µ-strip", "日本", "'quoted'", "a-b_c", "x" * 200])
def test_unusual_names_work(name: str, tmp_path) -> None:
    with tw.create(tmp_path / "run.h5", tw.schema({f"{name}/inner": {name: tw.int16}})) as out:
        out.producer(f"{name}/inner").append({name: [1, 2, 3]})
    assert tw.open(tmp_path / "run.h5")[f"{name}/inner"].read([name])[name].tolist() == [1, 2, 3]
