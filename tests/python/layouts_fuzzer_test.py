"""Any documents as models of events: a few of those that `make fuzz` makes."""

import time
from pathlib import Path

import layouts_fuzzer
import pytest

import thalweg as tw
from thalweg.layouts import load_model

SECONDS = 10
DOCUMENTS = 1500


def test_a_document_makes_a_model_or_its_fault_is_told(tmp_path: Path) -> None:
    end = time.monotonic() + SECONDS
    tried = 0
    for seed in range(DOCUMENTS):
        assert layouts_fuzzer.fault(layouts_fuzzer.document(seed), tmp_path / "events.toml") == "", f"seed {seed}"
        tried += 1
        if time.monotonic() > end:
            break
    assert tried > 20


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"products = 3", r"events.toml: products: 3 is not a table: begin it with \[products\]"),
        (b"[products]\nx = 'uint8'\n[[groups]]", r"groups: \[{}\] is not a table: begin it with \[groups\]"),
        (b"[products]\nx = 'uint8'\n[groups]\na = 'x'", "group 'a' is 'x': give a list of paths"),
        (b"[products]\nx = 'uint8'\n[groups]\na = [{}]", r"group 'a' is \[{}\]: give a list of paths"),
        (b"[products]\nx = { type = 'uint8', shape = 3 }", "x: the shape is 3: give the sizes"),
        (b"[products]\nx = { type = 'uint8', shape = [0] }", r"x: the shape is \[0\]: give the sizes"),
        (b"[products]\nx = { type = 'uint8', unit = 3 }", "x: the unit is 3: give a text"),
        (b"[products]\nx = { struct = 'uint8' }", "x: struct: 'uint8' is not a table"),
        (b"[products]\nx = '(2,'", "x: '\\(2,' is not a type"),
        (b"[products]\nx = '\xff'", "is not TOML"),
        (b"x = " + 3000 * b"[", "nested too deeply"),
        (b"[products]\nx = 'uint8'\n[groups]\na = ['y']", "events.toml: group 'a' names 'y'"),
    ],
)
def test_what_the_fuzzer_found(document: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "events.toml"
    path.write_bytes(document)
    with pytest.raises(tw.UsageError, match=message):
        load_model(path)
