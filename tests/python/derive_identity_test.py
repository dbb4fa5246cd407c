"""A job is resumed with functions and options that are the same by value, or with trust that is asked for."""

import importlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from derive_cases import EVENTS, muons, write_input

import thalweg as tw
from thalweg._derive.function_identity import identity_of

# Each program defines f. Another value of A changes what f does.
CHANGED = {
    "constant of the code": "def f(x): return x * A",
    "global number": "k = A\ndef f(x): return x * k",
    "default": "def f(x, k=A): return x * k",
    "default by name": "def f(x, *, k=A): return x * k",
    "attribute of a bound method": """
class P:
    def __init__(self, k): self.k = k
    def process(self, x): return x * self.k
f = P(A).process""",
    "code of a bound method": "class P:\n    def process(self, x): return x * A\nf = P().process",
    "code of an inherited method": """
class Base:
    def process(self, x): return x * A
class P(Base): pass
f = P().process""",
    "attribute of a callable": """
class P:
    def __init__(self, k): self.k = k
    def __call__(self, x): return x * self.k
f = P(A)""",
    "slots": """
class P:
    __slots__ = ("k",)
    def __init__(self, k): self.k = k
    def __call__(self, x): return x * self.k
f = P(A)""",
    "class constant": "class C:\n    k = A\ndef f(x): return x * C.k",
    "static method": "class C:\n    @staticmethod\n    def k(): return A\ndef f(x): return x * C.k()",
    "class method": "class C:\n    @classmethod\n    def k(cls): return A\ndef f(x): return x * C.k()",
    "property": "class C:\n    @property\n    def k(self): return A\nc = C()\ndef f(x): return x * c.k",
    "cached property": """
import functools
class C:
    @functools.cached_property
    def k(self): return A
c = C()
def f(x): return x * c.k""",
    "frozen dataclass": """
import dataclasses
@dataclasses.dataclass(frozen=True)
class C: k: float = 1
c = C(A)
def f(x): return x * c.k""",
    "default of a dataclass": """
import dataclasses
@dataclasses.dataclass
class C: k: float = A
def f(x): return x * C().k""",
    "named tuple": """
import collections
C = collections.namedtuple("C", "k")
c = C(A)
def f(x): return x * c.k""",
    "closure over an object": """
import types
def made(c):
    def f(x): return x * c.k
    return f
f = made(types.SimpleNamespace(k=A))""",
    "enumeration": """
import enum
class S(enum.Enum):
    one = 1.0
    two = 2.0
s = S(A)
def f(x): return x * s.value""",
    "values of an enumeration": """
import enum
class S(enum.IntEnum):
    one = int(A)
def f(x): return x * S.one""",
    "path": "import pathlib\np = pathlib.Path('A')\ndef f(x): return x * float(p.name)",
    "pattern": "import re\np = re.compile('A')\ndef f(x): return p.match(x)",
    "decimal": "import decimal\np = decimal.Decimal('A')\ndef f(x): return x * p",
    "array": "import numpy as np\nt = np.array([A, 1.0])\ndef f(x): return x * t[0]",
    "array of objects": "import numpy as np\nt = np.array([A, 'a'], object)\ndef f(x): return x * t[0]",
    "number of NumPy": "import numpy as np\nt = np.float32(A)\ndef f(x): return x * t",
    "random generator": "import numpy as np\ng = np.random.default_rng(int(A))\ndef f(x): return g.random()",
    "polynomial": "import numpy as np\np = np.polynomial.Polynomial([A, 1])\ndef f(x): return p(x)",
    "np.vectorize": "import numpy as np\n@np.vectorize\ndef g(x): return x * A\ndef f(x): return g(x)",
    "Awkward array": "import awkward as ak\nt = ak.Array([[A], []])\ndef f(x): return x * t[0, 0]",
    "dictionary of lists": "t = {'a': [1, {'b': (A,)}]}\ndef f(x): return x * t['a'][1]['b'][0]",
    "set": "t = {'a', 'A'}\ndef f(x): return x in t",
    "counter": "import collections\nt = collections.Counter(a=A)\ndef f(x): return t['a']",
    "class of a dictionary": "class D(dict): pass\nt = D(a=A)\ndef f(x): return t['a']",
    "class of an array": """
import numpy as np
class M(np.ndarray): pass
t = np.array([A]).view(M)
def f(x): return x * t""",
    "method of a global object": "class I:\n    def g(self, x): return x * A\ni = I()\ndef f(x): return i.g(x)",
    "lru_cache": "import functools\n@functools.lru_cache\ndef k(): return A\ndef f(x): return x * k()",
    "partial": "import functools\ndef g(x, k): return x * k\nf = functools.partial(g, k=A)",
    "wraps": """
import functools
def deco(g):
    @functools.wraps(g)
    def w(x): return g(x)
    return w
@deco
def f(x): return x * A""",
    "context manager": """
import contextlib
@contextlib.contextmanager
def g(): yield A
def f(x):
    with g() as k: return x * k""",
    "inner function": "def f(x):\n    def g(y): return y * A\n    return g(x)",
    "comprehension": "def f(x): return [y * A for y in x]",
    "Numba": "import numba\n@numba.njit\ndef g(x): return x * A\ndef f(x): return g(x)",
    "ufunc of Numba": "import numba\n@numba.vectorize\ndef g(x): return x * A\ndef f(x): return g(x)",
    "ufunc of NumPy": "import numpy as np\ng = np.add if A > 1.5 else np.subtract\ndef f(x): return g(x, 1)",
    "histogram": """
import hist
h = hist.Hist.new.Reg(2, 0, A).Double()
def f(x): return h.project(0)""",
    "second function of one helper": """
import types
class C:
    a, b = 1, A
def g(x): return x * C.a
def f(x): return g(x) + C.b""",
}


def made(source: str, value: str) -> Any:
    module = ModuleType("analysis_of_test")
    sys.modules[module.__name__] = module
    exec(compile(re.sub(r"\bA\b", value, source), "analysis_of_test.py", "exec"), vars(module))
    return module.f


@pytest.mark.parametrize("source", CHANGED.values(), ids=CHANGED)
def test_functions_are_compared_by_value(source: str) -> None:
    first, same, other = (identity_of(made(source, value)) for value in ("1.0", "1.0", "2.0"))
    assert first == same
    assert first.not_compared == ()
    assert first.digest != other.digest


def test_a_module_of_the_user_counts_by_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for modules that it imports, for packages, and for imports inside functions."""
    package = tmp_path / "of_user"
    package.mkdir()
    (package / "__init__.py").write_text("")
    texts = {"a": "from . import b\ndef g(x): return b.h(x)\n", "b": "k = 1\ndef h(x): return x * k\n"}
    monkeypatch.syspath_prepend(tmp_path)

    def identity(program: str, **changed: str) -> str:
        for name, text in (texts | changed).items():
            (package / f"{name}.py").write_text(text)
        for name in [each for each in sys.modules if each.partition(".")[0] == "of_user"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return identity_of(made(program, "1")).digest

    for program in (
        "import of_user.a\ndef f(x): return of_user.a.g(x)",
        "from of_user import a\ndef f(x): return a.g(x)",
        "from of_user.a import g\ndef f(x): return g(x)",
        "def f(x):\n    from of_user import a\n    return a.g(x)",
        "def f(x):\n    import of_user.a\n    return of_user.a.g(x)",
    ):
        before = identity(program)
        assert identity(program) == before
        assert identity(program, b="k = 22\ndef h(x): return x * k\n") != before, program
        assert identity(program, a=texts["a"].replace("h(x)", "h(x) + 11")) != before, program


def test_a_value_that_a_program_sets_in_a_module_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "settings_of_test.py").write_text("k = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = made("import settings_of_test\ndef f(x): return x * settings_of_test.k", "1")
    before = identity_of(function)
    monkeypatch.setattr(sys.modules["settings_of_test"], "k", 2)
    assert identity_of(function).digest != before.digest


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_input(tmp_path_factory.mktemp("input") / "in.root")


def stopped(inputs: Path, one: tw.Derivation, mark: Path, **options: Any) -> None:
    mark.touch()
    with pytest.raises(tw.DerivationError, match="not yet"):
        tw.derive(inputs, [one], workers=1, attempts=1, range_bytes=20_000, **options).run()
    mark.unlink()


def stops_at(mark: Path, lock: Any = None) -> Callable[[Any], Any]:
    def function(of: Any) -> Any:
        if mark.exists() and len(of) and of.event[0] > EVENTS // 2:
            raise RuntimeError("not yet", lock)
        return muons(of)

    return function


def test_what_cannot_be_compared_needs_trust(inputs: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    one = tw.Derivation(tmp_path / "a.root", stops_at(mark, threading.Lock()))
    stopped(inputs, one, mark)
    with pytest.raises(tw.UsageError, match=r"a\.root cannot be resumed .*lock .*_thread\.lock.*resume='trust'"):
        tw.derive(inputs, [one], workers=1, resume=True).run()
    with pytest.raises(tw.UsageError, match="resume cannot be 'yes': give one of True, False, 'trust'"):
        tw.derive(inputs, [one], resume="yes")  # type: ignore[arg-type]
    report = tw.derive(inputs, [one], workers=1, resume="trust").run()
    assert report.outputs[0].rows == EVENTS
    assert any("_thread.lock" in note and "trust" in note for note in report.notes)


def test_trust_is_asked_for_on_the_command_line(inputs: Path, tmp_path: Path) -> None:
    program = """import os, thalweg as tw
def f(of):
    if k == 1 and len(of) and of.event[0] > 6000: raise RuntimeError("not yet")
    return {"event": of.event}
k = 1
train = [tw.Derivation("a.root", f)]
"""

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "thalweg", "derive", "job.py", "--input", str(inputs), "--workers", "1"]
        return subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    (tmp_path / "job.py").write_text(program)
    assert run("--attempts", "1").returncode == 1
    (tmp_path / "job.py").write_text(program.replace("k = 1", "k = 2"))
    refused = run("--resume")
    assert refused.returncode == 2
    assert "its functions have changed" in refused.stderr
    assert "--resume trust" in refused.stderr
    assert run("--resume", "always").returncode == 2
    done = run("--resume", "trust")
    assert (done.returncode, len(tw.open(tmp_path / "a.root")["Events"])) == (0, EVENTS), done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": {"sum_pt": tw.float32(unit="MeV")}}, "schema was"),
        ({"schema": {"sum_pt": tw.float64}}, "schema was"),
        ({"codec": "none"}, "codec was None"),
        ({"one_row_an_event": False}, "one_row_an_event was True"),
        ({"tuning": {"narrow_page_bytes": 4096}}, "tuning was {}"),
    ],
)
def test_options_are_compared(inputs: Path, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    mark = tmp_path / "mark"
    one = tw.Derivation(tmp_path / "a.root", stops_at(mark), schema={"sum_pt": tw.float32(unit="GeV")})
    stopped(inputs, one, mark)
    with pytest.raises(tw.UsageError, match=said):
        tw.derive(inputs, [replace(one, **change)], workers=1, resume="trust").run()


def test_the_size_of_groups_is_compared(inputs: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    one = tw.Derivation(tmp_path / "a.root", stops_at(mark))
    stopped(inputs, one, mark, order="input", ranges_per_group=2)
    with pytest.raises(tw.UsageError, match="begun with ranges_per_group=2"):
        tw.derive(inputs, [one], order="input", ranges_per_group=5, resume=True)
    assert tw.derive(inputs, [one], workers=1, order="input", resume=True).run().is_whole
