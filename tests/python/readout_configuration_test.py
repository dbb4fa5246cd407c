"""The configuration of a readout, from TOML to what the handlers take."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracing import THALWEG

import thalweg as tw
from thalweg import _core
from thalweg._readout.collect import read_token
from thalweg._readout.configuration import dump_default, load_configuration
from thalweg._readout.toml import dumps

SMALL = '[[handler]]\nname = "a"\n[[handler.group]]\nsource_id = 0x11\nelinks = ["0-3"]\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "readout.toml"
    path.write_text(text)
    return path


def test_a_file_is_read_and_kept_as_it_was_understood(tmp_path: Path) -> None:
    configuration = load_configuration(write(tmp_path, SMALL + "[[handler]]\n"))
    assert configuration.handlers == ["a", "dh1"]
    assert tomllib.loads(configuration.text) == tomllib.loads(SMALL + "[[handler]]\n")
    assert json.loads(configuration.json)["handler"][0]["group"] == [{"source_id": 17, "elinks": ["0-3"]}]


@pytest.mark.parametrize("token", ["sesame", 'a"b', "a\\tb", "'", "\u00e4"])
def test_tokens_are_not_kept(tmp_path: Path, token: str) -> None:
    written = json.dumps(token)
    text = f"# it was {token}, then {written}\n[server]\ntoken = {written} # {token}\nallow = []\n" + SMALL
    configuration = load_configuration(write(tmp_path, text + f"[handler.server]\ntoken = {written}\n"))
    assert json.loads(configuration.json)["server"]["token"] == token
    assert tomllib.loads(configuration.text)["server"] == {"allow": []}
    assert tomllib.loads(configuration.text)["handler"][0]["server"] == {}
    if len(token) > 1:
        assert token not in configuration.text
        assert token not in repr(configuration)


def test_files_are_found_beside_the_configuration(tmp_path: Path) -> None:
    hook = '[hook]\nlibrary = "hook.so"\n'
    inner = '[handler.server]\ntoken_file = "secret"\n'
    configuration = load_configuration(
        write(tmp_path, hook + SMALL.replace("name", 'control_socket = "a.sock"\nname') + inner)
    )
    assert tomllib.loads(configuration.text)["hook"] == {"library": "hook.so"}, "as it was written"
    tables = json.loads(configuration.json)
    assert tables["hook"]["library"] == str(tmp_path / "hook.so")
    assert tables["handler"][0]["server"]["token_file"] == str(tmp_path / "secret")
    assert tables["handler"][0]["control_socket"] == str(tmp_path / "a.sock")


texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_any_tables_are_read_back_as_they_were(tables: dict[str, Any]) -> None:
    assert tomllib.loads(dumps(tables)) == tables


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[index\n", "is not TOML .*at line 1"),
        ("handler = 5\n", "is not a list of tables"),
        ("[handler]\n", "is not a list of tables"),
        ("[index]\n", "has no handlers"),
        ("[index]\nevents = 2026-11-20\n" + SMALL, "contains a date or time"),
        ("[readout]\nexpected_rate = inf\n" + SMALL, "contains inf or nan"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, why: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(tw.UsageError, match=f"{path}.*{why}"):
        load_configuration(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(tw.UsageError, match=r"cannot read .*none\.toml"):
        load_configuration(tmp_path / "none.toml")


@pytest.mark.parametrize("mode", ["build", "relay", "triggerless"])
def test_the_default_shares_all_links_out(tmp_path: Path, mode: str) -> None:
    configuration = load_configuration(
        write(tmp_path, dump_default(43, buffers=2, groups=3, first_elink=64, mode=mode))
    )
    handlers = json.loads(configuration.json)["handler"]
    assert configuration.handlers == ["dh0", "dh1"]
    links: list[int] = []
    sources: list[int] = []
    for group in (group for handler in handlers for group in handler["group"]):
        first, last = (int(number) for number in group["elinks"][0].split("-"))
        links += range(first, last + 1)
        sources += range(group["source_id"], group["source_id"] + (last + 1 - first if mode == "relay" else 1))
    assert links == list(range(64, 64 + 43))
    assert len(sources) == len(set(sources))
    assert len({handler["listen"] for handler in handlers} | {handler["metrics"] for handler in handlers}) == 4


def test_the_default_has_room_for_a_packet_of_every_stream(tmp_path: Path) -> None:
    configuration = load_configuration(write(tmp_path, dump_default(14, groups=1, packet_bytes=25)))
    assert json.loads(configuration.json)["handler"][0]["group"][0]["fragment_bytes"] >= 64 + 14 * 4 + 14 * 28


def defaults_of_the_page(repository: Path) -> dict[str, str]:
    """The defaults in the table of docs/readout.md, by section and key."""
    section, found = "", {}
    for line in (repository / "docs/readout.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if heading := re.match(r"\| \*\*`\[+([\w.]+)\]+`\*\*", line):
            section = heading[1]
        elif section and len(cells) >= 3 and cells[0].startswith("| `"):
            found |= {f"{section}.{key}": cells[1].strip("`") for key in re.findall(r"`(\w+)`", cells[0])}
        elif section and not line.startswith("|"):
            break
    return found


def test_lines_that_are_commented_out_show_the_defaults(repository: Path, tmp_path: Path) -> None:
    page = defaults_of_the_page(repository)
    page["server.allow"] = '["127.0.0.0/8", "::1/128"]'  # "this machine", and its meaning says these
    page["server.host_names"] = "[]"  # "none"
    text, section, shown, examples = dump_default(), "", [], []
    for line in text.splitlines():
        if heading := re.match(r"\[+([\w.]+)\]+", line):
            section = heading[1]
        elif given := re.match(r"# (for example: )?(\w+) = (.+?)(?: +#.*)?$", line):
            key = f"{section}.{given[2]}"
            (examples if given[1] else shown).append(key)
            expected = "none" if given[1] else given[3]
            assert page[key] == ("listen" if key == "handler.address" else expected), key
        else:
            assert not re.match(r"# *\[?\w+\]?( =|$)", line), line
    assert examples == ["server.token_file", "hook.library", "handler.address", "handler.control_socket"]
    assert len(shown) >= 20
    whole = re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE)
    configuration = load_configuration(write(tmp_path, whole))
    assert json.loads(configuration.json)["index"]["window_events"] == 4096
    _core.handlers_of(configuration.json)  # which raises if the handlers would not take a value


def test_more_groups_than_links_are_refused() -> None:
    with pytest.raises(tw.UsageError, match="2 e-links cannot be distributed over 1 buffers with 3 groups each"):
        dump_default(2)


def test_a_token_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b"open sesame\r\nand not this\n")
    assert read_token(path) == "open sesame"
    for content, why in [(b"\n", "its first line is empty"), (b"", "its first line is empty"), (b"\xff", "not text")]:
        path.write_bytes(content)
        with pytest.raises(tw.UsageError, match=why):
            read_token(path)


@pytest.mark.parametrize(
    "words",
    [
        "serve --config",
        "host",
        "collect --out run.h5 --config",
        "plan --config",
        "network --plan --interface lo --config",
    ],
)
def test_what_handlers_refuse_is_said_with_the_file(tmp_path: Path, words: str) -> None:
    wrong = SMALL + '[index]\nclose_after = "5 bananas"\n'
    done = subprocess.run(
        [THALWEG, "readout", *words.split(), write(tmp_path, wrong)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f"{tmp_path}/readout.toml: " in done.stderr
    assert "[index]: close_after is no duration" in done.stderr
