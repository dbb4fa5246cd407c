"""What is said of words on the command line, and of files with options, that cannot be used."""

from pathlib import Path
from typing import Any

import pytest

import thalweg as tw


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("record", "--channels", "two"), "invalid value for '--channels': 'two' is no whole number; see --help"),
        (("record", "--records", "1.5"), "'1.5' is no whole number; see --help"),
        (("record", "--engine", "foo"), "invalid value for '--engine': 'foo' is not one of 'auto'"),
        (("convert", "run.h5"), "missing argument 'SOURCE...' (convert takes SOURCE... TARGET); see --help"),
        (("plot",), "missing argument 'FILE...'; see --help"),
    ],
)
def test_a_wrong_word_is_named_with_what_it_is_not(words: tuple[str, ...], said: str, thalweg_command: Any) -> None:
    done = thalweg_command(*words)
    assert said in done.stderr
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_an_option_that_is_a_list_is_shown_as_one(tmp_path: Path, thalweg_command: Any) -> None:
    (tmp_path / "run.toml").write_text('meta = "shift=night"\n')
    done = thalweg_command("record", "--config", tmp_path / "run.toml", "--out", tmp_path / "run.h5")
    assert done.returncode == 2
    assert """'meta' is not a list (it can be given several times): write meta = ["shift=night"]""" in done.stderr


def test_recover_of_a_run_that_is_written_names_its_process_and_leaves_it(tmp_path: Path) -> None:
    with tw.create(tmp_path / "run.h5", {"t": {"x": tw.int64}}) as out:
        out.producer("t").append(x=1)
        with pytest.raises(tw.UsageError, match=r"nothing to recover of .* \(it is still being written by process \d+"):
            tw.recover(tmp_path / "run.h5")
    assert len(tw.open(tmp_path / "run.h5")["t"]) == 1


def test_an_exception_that_leaves_the_block_of_a_writer_says_what_becomes_of_the_file(tmp_path: Path) -> None:
    with (  # noqa: PT012
        pytest.raises(ValueError, match="mine") as raised,
        tw.create(tmp_path / "run.h5", {"t": {"x": tw.int64}}) as out,
    ):
        out.producer("t").append(x=1)
        raise ValueError("mine")
    (note,) = raised.value.__notes__
    assert f"thalweg recover {tmp_path / 'run.h5'}" in note
    assert "not written any more: recover completes it" in repr(tw.open(tmp_path / "run.h5"))
    tw.recover(tmp_path / "run.h5")
    assert "recover" not in repr(tw.open(tmp_path / "run.h5"))


def test_the_column_in_which_files_differ_is_named(tmp_path: Path) -> None:
    for name, row in {"a": {"x": tw.int64}, "b": {"x": tw.int32}, "c": {"y": tw.int64}}.items():
        with tw.create(tmp_path / f"{name}.h5", {"t": row}) as out:
            out.producer("t").finish()
    for other, why in {"b": r"'x' is int32 in this file, and int64 in the first one", "c": "it has no 'x'"}.items():
        with pytest.raises(tw.UsageError, match=rf"has other columns than in .* \({why}\)"):
            tw.merge([tmp_path / "a.h5", tmp_path / f"{other}.h5"], tmp_path / "all.h5")
