"""A package that is not installed is named, with the extra that installs it."""

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import thalweg as tw
from thalweg._base import packages
from thalweg._readout.network.ethtool import KernelEthtool
from thalweg.cli import mount, serve, watch

Use = Callable[[Path], Any]


def table(path: Path) -> tw.Table:
    return tw.open(path)["t"]


class Stream:
    """What offers itself through Arrow's interface, and is of no library."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pyarrow.table({"x": [1]}).__arrow_c_stream__(requested_schema)


def append(path: Path) -> None:
    with tw.create(path.with_name("other.h5"), {"t": {"x": tw.int64}}, force=True) as out:
        out.producer("t").append(Stream())


USES: dict[str, tuple[str, str, Use]] = {
    "to_pandas": ("pandas", "pandas", lambda path: table(path).to_pandas()),
    "to_pandas, Arrow": ("pyarrow", "pandas", lambda path: table(path).to_pandas()),
    "column to_pandas": ("pandas", "pandas", lambda path: table(path)["x"].to_pandas()),
    "library pd": ("pandas", "pandas", lambda path: table(path).arrays(library="pd")),
    "to_awkward": ("awkward", "arrow", lambda path: table(path).read().to_awkward()),
    "arrays": ("awkward", "arrow", lambda path: table(path).arrays()),
    "to_arrow": ("pyarrow", "arrow", lambda path: table(path).read().to_arrow()),
    "stream": ("pyarrow", "arrow", lambda path: table(path).__arrow_c_stream__()),
    "scan": ("polars", "polars", lambda path: table(path).scan_polars()),
    "scan, Arrow": ("pyarrow", "polars", lambda path: table(path).scan_polars()),
    "append": ("pyarrow", "arrow", append),
    "url": ("fsspec", "remote", lambda path: tw.open(f"file://{path}")),
    "derive": ("awkward", "derive", lambda path: tw.derive(path, [tw.Derivation(path.with_name("d.h5"), dict)])),
    "serve": ("aiohttp", "serve", lambda path: serve.serve(path.parent)),
    "watch": ("starlette", "watch", lambda path: watch.watch(str(path))),
    "network": ("pyroute2", "network", lambda _: KernelEthtool()),
    "mount": ("pyfuse3", "mount", lambda path: mount.mount(path.parent, path.parent / "shown")),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("missing") / "run.h5"
    with tw.create(path, {"t": {"x": tw.int64}}) as out:
        out.producer("t").append(x=np.arange(3))
    return path


@pytest.mark.parametrize("name", USES)
def test_it_is_named_with_its_extra(name: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, extra, use = USES[name]
    for module in [package, *(each for each in sys.modules if each.startswith((f"{package}.", "thalweg._serving")))]:
        monkeypatch.setitem(sys.modules, module, None if module.startswith(package) else sys.modules[module])
        if module.startswith("thalweg."):
            monkeypatch.delitem(sys.modules, module)
    with pytest.raises(tw.UsageError, match=rf"\({package} is not installed\): pip install 'thalweg\[{extra}\]'(\n|$)"):
        use(path)


def test_every_extra_that_is_named_exists(repository: Path) -> None:
    extras = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in packages._EXTRAS.items():
        asked = " ".join(extras[extra])
        assert extra in extras
        assert package in re.sub("pyfuse3", "pyfuse3 trio", asked), (package, asked)  # pyfuse3 asks for trio
    assert {"pandas", "polars", "derive"} <= extras.keys()


def test_an_error_inside_of_a_package_stays_what_it_is() -> None:
    with pytest.raises(ModuleNotFoundError), packages.needed("nothing"):
        raise ModuleNotFoundError("no module", name="inside_of_a_package")
