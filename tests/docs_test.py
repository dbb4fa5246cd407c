"""The code blocks of the tutorial and of the README run, in their order, in one empty folder for each document."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401 - lets h5py read bitshuffle
import numpy as np
import pytest
from c_sources import AQMD3, FELIB, compiled
from readout_programs import free_ports

import thalweg
from thalweg import readout

BLOCK = re.compile(r"^```(console|python|cpp)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text())


ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def run(words: list[str], folder: Path, timeout_s: float = 500) -> str:
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_python(code: str, folder: Path, number: int) -> str:
    script = folder / f"block{number}.py"
    script.write_text(code)
    return run([sys.executable, script.name], folder)


def run_console(text: str, folder: Path) -> str:
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    assert commands, f"a console block without a command: {text}"
    return "".join(run(["bash", "-c", command], folder) for command in commands)


def run_terminals(text: str, folder: Path) -> None:
    """The readout: each command in a terminal of its own, the last one until it has enough; then the others are ended.

    Card and ports get other names, because this machine may have a readout that is in use.
    """
    card = f"docs{os.getpid()}"
    config = folder / "readout.toml"
    port, metrics_port = free_ports(2)
    toml = config.read_text().replace('"felix0"', f'"{card}"').replace(":7700", f":{port}")
    config.write_text(toml.replace(":7800", f":{metrics_port}"))
    added = {"emulate": f"--name {card} --duration 300s", "serve": "--drain 100ms", "collect": "--events 5000"}
    terminals = []
    for line in text.splitlines():
        command = re.sub(r"readout (\w+)", lambda found: f"{found[0]} {added[found[1]]}", line.removeprefix("$ "))
        command = command.replace("card felix0", f"card {card}")
        words = ["bash", "-c", f"exec {command}"]
        terminals.append(
            subprocess.Popen(
                words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT
            )
        )
    try:
        *others, collector = terminals
        said = collector.communicate(timeout=300)[0]
        assert collector.returncode == 0, said
        assert "The file has the requested number of events" in said
        for terminal in others:
            terminal.terminate()
            said = terminal.communicate(timeout=300)[0]
            # What no collector has fetched when the run ends is discarded, which is said, and is a failure of the run.
            assert terminal.returncode == (1 if "are discarded" in said else 0), said
        assert "the books balance" in said
    finally:
        for terminal in terminals:
            terminal.kill()


def test_the_tutorial_runs(repository: Path, tmp_path: Path) -> None:
    printed = []
    for number, (kind, text) in enumerate(blocks(repository / "docs" / "tutorial.md")):
        printed.append(run_python(text, tmp_path, number) if kind == "python" else run_console(text, tmp_path))
    everything = "".join(printed)
    assert "(100, 1000) uint16" in everything
    assert "[0.0, 1.0, 2.0] event 3" in everything
    assert "[1. 2. 3.]" in everything
    assert "the same pulses: True" in everything
    assert len(list(tmp_path.glob("long*.h5"))) >= 2
    assert not list(tmp_path.glob("*.journal"))


PAGES = {
    "index": ["'energy'", "1.0"],
    "gallery/record": ["peak at sample", "0 True"],
    "gallery/pandas": ["5000 500", "hits above 400 keV"],
    "gallery/awkward": ["10000 events", "True True"],
    "gallery/coffea": ["5 systematics are equal; 11"],
}


@pytest.mark.parametrize("page", PAGES)
def test_the_first_page_and_the_gallery_run(page: str, repository: Path, tmp_path: Path) -> None:
    printed = [
        run_python(text, tmp_path, number) if kind == "python" else run_console(text, tmp_path)
        for number, (kind, text) in enumerate(blocks(repository / "docs" / f"{page}.md"))
    ]
    assert [each for each in PAGES[page] if each not in "".join(printed)] == []
    assert not list(tmp_path.glob("*.journal"))


def test_the_gallery_has_all_its_pages_run(repository: Path) -> None:
    """Those with ROOT by tests/root/gallery_test.py, and the notebook by tests/site_test.py."""
    pages = {f"gallery/{page.stem}" for page in (repository / "docs" / "gallery").glob("*.*")}
    assert pages - PAGES.keys() == {"gallery/index", "gallery/notebook", "gallery/rdataframe"}


def test_a_source_in_c_is_compiled_and_recorded(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "pulser.c").write_text((repository / "examples/source/pulser.c").read_text())
    (_, commands), (_, tests) = blocks(repository / "docs" / "plug-ins.md")
    run_console(commands, tmp_path)
    (tmp_path / "pulser_test.py").write_text(tests)
    run([sys.executable, "-m", "pytest", "-q", "pulser_test.py"], tmp_path)


def test_every_way_to_connect_a_digitizer_ends_in_a_plot(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drivers = tmp_path / "drivers"
    drivers.mkdir()
    for source, name in [(FELIB, "libCAEN_FELib.so"), (AQMD3, "libAqMD3.so")]:
        compiled(source, drivers).rename(drivers / name)
    monkeypatch.setitem(ENVIRONMENT, "LD_LIBRARY_PATH", str(drivers))
    for kind, text in blocks(repository / "docs" / "connect.md"):
        if kind == "python":
            (tmp_path / text.split()[1]).write_text(text)
        else:
            run_console(text, tmp_path)
    for name, table in [("pipe", "events"), ("card", "ch0"), ("caen", "ch1"), ("acqiris", "ch1")]:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        with h5py.File(tmp_path / f"{name}.h5") as file:
            stamps = file[table]["timestamp"][:].astype(np.int64)
        assert len(stamps) > 1000
        assert (np.diff(stamps) > 0).all()


def test_the_part_on_pipes_runs_and_its_row_is_one(repository: Path, tmp_path: Path) -> None:
    part = (repository / "docs" / "sources.md").read_text().partition("## A pipe, a socket, UDP")[2]
    (_, program), (_, commands) = BLOCK.findall(part)[:2]
    (tmp_path / "instrument.py").write_text(program)
    run_console(commands, tmp_path)
    (row,) = re.findall(r"^```toml\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    (tmp_path / "row.toml").write_text(row)
    sizes = (4, 4, 4, 2, 20, 2)  # of the fields before the list, whose length is 0
    (tmp_path / "hits.dat").write_bytes(100 * (bytes.fromhex("A5B6C7D8") + bytes(sum(sizes[1:]))))
    done = subprocess.run(
        ["thalweg", "record", "--source", "raw", "--input", "hits.dat", "--row", "row.toml", "--out", "hits.h5"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == 1, done.stderr  # all rows have the number 0
    assert "99 rows came out of order" in done.stderr
    assert "100 records" in done.stdout
    run([sys.executable, "-c", "import thalweg as tw; assert len(tw.open('pipe.h5')['events']) == 1000"], tmp_path)


def test_the_page_on_derived_data_runs(repository: Path, tmp_path: Path) -> None:
    printed = []
    for number, (kind, text) in enumerate(blocks(repository / "docs" / "derive.md")):
        if kind != "cpp":  # test_the_cpp_of_a_page_about_runs_compiles
            printed.append(run_python(text, tmp_path, number) if kind == "python" else run_console(text, tmp_path))
    everything = "".join(printed)
    assert "100,000 of 100,000 events" in everything
    assert "'selected'" in everything
    assert printed[-1] == "True\n"
    assert not list(tmp_path.glob("*.journal"))


def test_the_page_on_checkpoints_runs(repository: Path, tmp_path: Path) -> None:
    printed = [
        run_python(text, tmp_path, number)
        for number, (kind, text) in enumerate(blocks(repository / "docs" / "checkpoint.md"))
        if kind == "python"
    ]
    assert printed == ["", "2 (100, 300) 1.0\n", "(400, 300) complex128 2\n", "1920000\n"]
    assert sorted(each.name for each in tmp_path.glob("*psi*")) == [".psi.h5.saved", "psi.h5", "psi.h5.1"]


def test_the_first_program_of_the_page_on_nodes_runs(repository: Path, tmp_path: Path) -> None:
    (_, program), (_, commands) = blocks(repository / "docs" / "nodes.md")[:2]
    (tmp_path / "node.py").write_text(program)
    run_console(commands, tmp_path)
    look = "import thalweg as tw\nprint(tw.open('run.h5')['events']['node'][:])"
    assert run_python(look, tmp_path, 0) == "[1 1 1 2 2 2]\n"


@pytest.mark.parametrize("document", ["checkpoint.md", "nodes.md"])
def test_the_cpp_of_a_page_compiles(document: str, repository: Path, tmp_path: Path) -> None:
    (block,) = (text for kind, text in blocks(repository / "docs" / document) if kind == "cpp")
    if (compiler := shutil.which("mpicxx.mpich") or shutil.which("mpicxx")) is None:
        pytest.skip("there is no MPI to compile with")
    (tmp_path / "block.cc").write_text(f"#include <complex>\n#include <span>\n#include <vector>\n{block}")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    command = [compiler, *flags, f"-I{repository}", str(tmp_path / "block.cc")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_the_readme_runs(repository: Path, tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parent.parent)
    shortened = {"--channels 6 --duration 10s": "--channels 6 --duration 1s"}
    ran = 0
    for number, (kind, text) in enumerate(blocks(repository / "README.md")):
        if kind == "python":
            printed = run_python(text, tmp_path, number)
            assert ("waveform" if "attach" in text else "1173.2") in printed
        elif kind == "cpp":
            continue  # test_the_cpp_of_a_page_about_runs_compiles
        elif "thalweg" in text:
            text = re.sub(r" *#.*", "", text)
            for long, short in shortened.items():
                text = text.replace(long, f"{short} --force")
            run_console(text, tmp_path)
        else:
            continue
        ran += 1
    assert ran == 3


def test_the_page_on_the_readout_runs(repository: Path, tmp_path: Path) -> None:
    configure, terminals, look, observe, read = (text for _, text in blocks(repository / "docs" / "readout.md"))
    run_console(configure, tmp_path)
    run_terminals(terminals, tmp_path)
    compile(observe, "observe.py", "exec")  # tests of observers run beside a handler
    assert "14 packets" in run_python(look, tmp_path, 0)
    assert "complete events" in run_python(read, tmp_path, 1)


def test_the_page_on_cards_runs(repository: Path, tmp_path: Path) -> None:
    """What the page's blocks hold is in the file: the packets of each event, of three e-links."""
    prepare, make, terminals = (text for _, text in blocks(repository / "docs" / "readout-card.md"))
    (tmp_path / "examples").symlink_to(repository / "examples")
    run_console(prepare, tmp_path)
    run_python(make, tmp_path, 0)
    run_terminals(terminals, tmp_path)
    events = thalweg.open(tmp_path / "played.h5")["events"].read()
    assert sorted(event & 0xFFFFFFFF for event in events["event"]) == list(range(5000))
    assert set(events["state"]) == {0}
    (fragment,) = events.to_awkward()[7].fragments
    packets = readout.packets(bytes(fragment.data))
    number = int(events["l1id"][7])
    assert [struct.unpack("<IHH", bytes(packets[link])[:8]) for link in range(3)] == [
        (number, link, number * 40 % 3564) for link in range(3)
    ]


OF_DERIVE = """#include <vector>
#include <thalweg/thalweg.h>
using namespace thalweg;
struct Selected {
    std::uint64_t event;
    std::vector<float> pt;
};
auto selected_type() {
    return dataset::struct_type<Selected>().with("event", &Selected::event).with("pt", &Selected::pt);
}
"""


OF_README = "#include <thalweg/thalweg.h>\n"  # as the page says
OF_CPP = f"{OF_README}extern thalweg::model::Schema const schema;\nextern thalweg::dataset::Writer& run;\n"


@pytest.mark.parametrize(
    ("document", "before"),
    [("README.md", OF_README), ("docs/derive.md", OF_DERIVE), ("docs/reference/cpp.md", OF_CPP)],
)
def test_the_cpp_of_a_page_about_runs_compiles(document: str, before: str, repository: Path, tmp_path: Path) -> None:
    block = "\n".join(text for kind, text in blocks(repository / document) if kind == "cpp")
    (tmp_path / "block.cc").write_text(f"{before}int main() {{\n{block}}}\n")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-variable", "-fsyntax-only"]
    command = ["c++", *flags, f"-I{repository}", f"-I{repository}/include", str(tmp_path / "block.cc")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_the_promises_name_tests_that_exist(repository: Path) -> None:
    rows = re.findall(r"^\| [^|]+\| (`.*) \|$", (repository / "docs" / "promises.md").read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 40
    tests = [path for folder in ("tests", "thalweg") for path in (repository / folder).rglob("*test*")]
    tests = [path for path in tests if path.suffix in {".cc", ".py"} and path.name != "docs_test.py"]
    text = "\n".join(path.read_text() for path in tests)
    assert [name for name in sorted(named) if not re.search(rf"def {name}\(|\b{name}[,)]", text)] == []


def test_the_page_about_tracing_runs(repository: Path, tmp_path: Path) -> None:
    document = iter(text for _, text in blocks(repository / "docs" / "tracing.md"))
    assert int(run_console(next(document), tmp_path)) == len(Path("/etc/passwd").read_text())
    assert "read" in run_python(next(document), tmp_path, 0)
    assert run_console(next(document), tmp_path).startswith("the trace ha")
    run_python(next(document), tmp_path, 0)
    run_console(next(document), tmp_path)
    assert json.loads((tmp_path / "trace.json").read_text())
    assert next(document, None) is None


DOCUMENTS = [
    "README.md",
    "docs/readout-card.md",
    "docs/tutorial.md",
    "docs/derive.md",
    "docs/checkpoint.md",
    "docs/tracing.md",
]
DOCUMENTS += [f"docs/{page}.md" for page in [*PAGES, "gallery/rdataframe"]]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_block_is_passed_over(repository: Path, document: str) -> None:
    text = (repository / document).read_text()
    languages = set(re.findall(r"^```(\w+)", text, re.MULTILINE))  # a directive of the site has braces
    assert languages <= {"console", "python", "cmake", "cpp"}, (
        "a block of another kind is not run: teach docs_test about it"
    )
