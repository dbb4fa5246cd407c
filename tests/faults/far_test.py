"""Tests files of more than 2 and 4 GiB, most of it a hole: every offset needs all its bits, and other programs read
them."""

from pathlib import Path

import pytest
from faults import Driver
from judges import CONTAINERS, Container


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda container: container.extension)
def test_rows_far_behind(driver: Driver, tmp_path: Path, container: Container) -> None:
    path = tmp_path / f"far{container.extension}"
    assert driver.ask("far", path) == ["closed 3000"]
    status = path.stat()
    assert status.st_size > 5 << 30
    assert status.st_blocks * 512 < 100 << 20
    assert driver.rows_in(path) == {0: 3000}
    assert len(container.rows_shown(path)) == 3000
    container.show_to_others(path)
