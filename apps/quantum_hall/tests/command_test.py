"""The command: ranks, files, and what it says to wrong words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Hall = Callable[..., dict[str, Any]]

SYSTEM = ("--size", "13x12", "--flux", "1/12", "--disorder", 0.3, "--random-states", 2)


@pytest.mark.parametrize("lattice", ["honeycomb", "square"])
def test_states_do_not_depend_on_ranks(hall: Hall, lattice: str) -> None:
    words = ("evolve", "--lattice", lattice, *SYSTEM, "--steps", 3, "--energies", "0.3", "--print-states")
    alone = hall(*words)
    for ranks in (1, 2, 5):  # five do not divide the rows
        found = hall(*words, ranks=ranks)
        assert found["ranks"] == ranks
        assert found["psi"] == alone["psi"]
        assert found["xi"] == alone["xi"]
        assert found["mean_square_displacement"] == pytest.approx(alone["mean_square_displacement"], rel=1e-12)
        assert found["sigma_xx"]["sigma_xx"] == pytest.approx(alone["sigma_xx"]["sigma_xx"], rel=1e-10)


def test_ranks_may_have_one_row_each(hall: Hall) -> None:
    for lattice in ("honeycomb", "square"):
        words = ("evolve", "--lattice", lattice, "--size", "5x3", "--flux", "1/3", "--steps", 2, "--print-states")
        assert hall(*words, ranks=3)["xi"] == hall(*words)["xi"]


def test_moments_do_not_depend_on_ranks(hall: Hall) -> None:
    words = ("moments", *SYSTEM, "--double-moments", 70)
    alone, found = hall(*words), hall(*words, ranks=3)
    assert np.abs(np.subtract(found["moments"], alone["moments"])).max() <= 1e-12
    for part in ("re", "im"):
        assert np.abs(np.subtract(found["double_moments"][part], alone["double_moments"][part])).max() <= 1e-12
    hall_words = ("hall", *SYSTEM, "--moments", 64, "--energies", "0.5,-1")
    assert hall(*hall_words, ranks=2)["sigma_xy"] == pytest.approx(hall(*hall_words)["sigma_xy"], abs=1e-9)


def test_the_same_seed_gives_the_same_bits(hall: Hall) -> None:
    assert hall("moments", *SYSTEM) == hall("moments", *SYSTEM)
    assert hall("moments", *SYSTEM)["moments"] != hall("moments", *SYSTEM, "--seed", 2)["moments"]


def test_errors_tell_how_far_random_vectors_scatter(hall: Hall) -> None:
    system = ("--size", "24x24", "--flux", "1/24", "--moments", 32)
    exact = np.array(hall("moments", *system, "--trace", "cell")["moments"])
    found = hall("moments", *system, "--random-states", 64)
    deviation = (np.array(found["moments"]) - exact)[2:] / np.array(found["error"])[2:]
    assert 0.5 < np.sqrt((deviation**2).mean()) < 2


def test_results_are_tables_of_an_hdf5_file(hall: Hall, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("hdf5plugin")  # registers the filters
    path = tmp_path / "dos.h5"
    printed = hall("dos", *SYSTEM, "--moments", 32, "--out", path)
    with h5py.File(path) as file:
        assert file["dos/energy"][:].tolist() == printed["energies"]
        assert file["dos/dos"][:].tolist() == printed["dos"]
        assert file["dos/error"][:].tolist() == printed["error"]
        assert file["moments/moment"].shape == (32,)
        assert '"lattice":"honeycomb"' in file.attrs["quantum_hall"]
    path = tmp_path / "hall.h5"
    hall("hall", *SYSTEM, "--moments", 32, "--out", path)
    with h5py.File(path) as file:
        assert file["hall/sigma_xy"].shape == (64,)


WRONG = [
    (("dose",), "there is no program 'dose'", "did you mean 'dos'?"),
    (("dos", "--momets", 8), "there is no option '--momets'", "did you mean '--moments'?"),
    (("dos", "--lattice", "squares"), "there is no lattice 'squares'", "did you mean 'square'?"),
    (("dos", "--moments"), "--moments stands alone", "it takes M"),
    (("dos", "--moments", "many"), "--moments many is no number that it can take", "from 4 on"),
    (("dos", "--moments", "-8"), "--moments -8 is no number that it can take", "from 4 on"),
    (("dos", "--disorder", "nan"), "--disorder nan is no number that it can take", "from 0"),
    (("dos", "--size", "48"), "--size 48 is no size", "COLUMNSxROWS"),
    (("dos", "--size", "2x48"), "--size 2 is no number that it can take", "from 3 on"),
    (("dos", "--flux", "1/7"), "--flux 1/7 does not fit into 48 rows", "multiple of 7"),
    (("dos", "--energies", "5"), "--energies 5", "outside of the spectrum"),
    (("dos", "--trace", "call"), "--trace call is not known", "did you mean 'all' or 'cell'?"),
    (("dos", "--trace", "cell", "--disorder", 1), "--trace cell does not go with --disorder", "random or all"),
    (("exact", "--size", "99x99"), "exact does not go with 19602 sites", "a smaller --size"),
    (("exact", "--bloch", "--disorder", 1), "--bloch does not go with --disorder", "leave one of them out"),
    (("evolve", "--size", "500x500", "--print-states"), "--print-states does not go with 500000 sites", "leave it out"),
]


@pytest.mark.parametrize(("words", "problem", "suggestion"), WRONG)
def test_wrong_words_are_explained(start: Any, words: tuple[object, ...], problem: str, suggestion: str) -> None:
    result = start(*words)
    assert result.returncode == 2
    assert result.stdout == ""
    assert problem in result.stderr
    assert suggestion in result.stderr


def test_ranks_say_once_what_is_wrong(start: Any) -> None:
    result = start("dos", "--size", "9x3", ranks=4)
    assert result.returncode == 2
    assert result.stderr.count("there are 4 ranks for 3 rows of the lattice") == 1
    assert "start at most as many ranks as rows" in result.stderr


def test_a_file_that_cannot_be_written_is_an_error(start: Any, tmp_path: Path) -> None:
    result = start("dos", "--size", "9x9", "--moments", 8, "--out", tmp_path / "nowhere" / "dos.h5")
    assert result.returncode == 1 or result.returncode == 2
    assert "nowhere" in result.stderr


def test_help_names_all_options(start: Any) -> None:
    result = start("--help")
    assert result.returncode == 0
    assert "--random-states R" in result.stdout
    assert start().returncode == 2
