"""Public options are filled in by designated initializers, and g++ and clang do not warn of the members left out."""

import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = """
#include <thalweg/checkpoint/restore.h>
#include <thalweg/checkpoint/save.h>
#include <thalweg/thalweg.h>

using namespace thalweg;

namespace program {

model::Field by_name{.name = "x"};
model::Field first{"x", model::Kind::scalar};
model::Table table{.name = "t", .fields = {by_name, first}};
model::Schema schema{.tables = {table}};
model::Attribute attribute{.name = "x"};
model::TableGroup group{"x"};
model::LayoutOptions layout{.cluster_bytes = 1 << 20};
tuning::Tuning tuning{.write = {.queue_depth = 2}};
dataset::CreateOptions create{{.write = {}}, true};
dataset::NodesOptions nodes{.nodes = 2};
dataset::ReadOptions read{.threads = 2};
dataset::MergeOptions merge{.force = true};
dataset::SnapshotOptions snapshot{.force = true};
dataset::RecoverOptions recover{.all_nodes_are_down = true};
checkpoint::Array array{.name = "psi", .shape = {2}};
checkpoint::Block block{.data = nullptr};
checkpoint::SaveOptions save{.keep = 3};
checkpoint::RestoreOptions restore{.verify = false};

} // namespace program
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_options_are_filled_in_without_warnings(repository: Path, tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "options.cc").write_text(PROGRAM)
    folders = [f"-I{repository}", f"-I{repository / 'include'}"]
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", *folders]
    done = subprocess.run(
        [*command, str(tmp_path / "options.cc")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
