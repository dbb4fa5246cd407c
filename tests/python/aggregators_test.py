"""Aggregators are those of Chaarawi and Gabriel: tables of groups. Open MPI is the judge where groups merge."""

import itertools
import random

import pytest

from thalweg._base.errors import UsageError
from thalweg._tune.aggregators import Group, Mode, Part, groups, number_by_volume
from thalweg._tune.lost_by_numbers import lost_by_equal_groups, lost_by_ranges

KIB, MIB = 1 << 10, 1 << 20


def in_order(sizes: list[int]) -> list[Part]:
    """Ranks whose data follow each other."""
    ends = list(itertools.accumulate(sizes))
    return [Part(end - size, size) for end, size in zip(ends, sizes, strict=True)]


def apart(sizes: list[int]) -> list[Part]:
    """Ranks whose views begin anew, so that no range continues another one."""
    return [Part(0, size) for size in sizes]


def sizes_of(found: list[Group]) -> list[int]:
    return [len(group) for group in found]


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [
        ([512 * KIB] * 8, MIB, [3, 3, 2]),  # Open MPI 4.1.4: aggregators 0, 3 and 6; all bytes by k are 4
        ([512 * KIB] * 7, MIB, [3, 4]),  # the last one is not left alone
        ([512 * KIB] * 8, 8 * MIB, [8]),
        ([MIB] * 4, MIB, [1, 1, 1, 1]),  # these have k bytes: they stay as they are
        ([100, 100, MIB, 100, 100], MIB, [2, 1, 2]),
        ([700 * KIB, 700 * KIB, 700 * KIB], MIB, [3]),
        ([0] * 5, 1, [5]),
    ],
)
def test_small_groups_are_merged(sizes: list[int], k: int, expected: list[int]) -> None:
    assert sizes_of(groups(apart(sizes), k)) == expected


@pytest.mark.parametrize(
    ("ranks", "k_shares", "mode", "expected"),
    [
        (8, 3.5, Mode.DATA_VOLUME, [3, 3, 2]),  # 8 / 3.5 is rounded up to 3 ranks; all bytes by k would be 4 groups
        (8, 8, Mode.DATA_VOLUME, [1] * 8),
        (8, 4, Mode.DATA_VOLUME, [2, 2, 2, 2]),
        (7, 3.5, Mode.DATA_VOLUME, [2, 2, 2, 1]),
        (7, 3.5, Mode.UNIFORM, [2, 2, 3]),  # one rank is half a group: it joins the one before
        (8, 1.5, Mode.DATA_VOLUME, [6, 2]),
        (8, 1.5, Mode.UNIFORM, [4, 4]),
        (9, 1.5, Mode.UNIFORM, [9]),  # 6 and 3; 9 is not divided by 2
        (8, 3.5, Mode.CONTIGUOUS, [3, 3, 2]),
        (8, 3.5, Mode.OPTIMIZED, [3, 3, 2]),
    ],
)
def test_a_large_group_is_split(ranks: int, k_shares: float, mode: Mode, expected: list[int]) -> None:
    parts = in_order([MIB] * ranks)
    assert sizes_of(groups(parts, int(ranks * MIB / k_shares), mode)) == expected


@pytest.mark.parametrize(
    ("ranks", "size", "mode", "expected"),
    [
        (8, 64 * KIB, Mode.CONTIGUOUS, [8]),  # 2, 5, 7, 8: Open MPI 4 never ends, since it rounds 7.5 down
        (8, 64 * KIB, Mode.OPTIMIZED, [8]),
        (32, 64 * KIB, Mode.CONTIGUOUS, [17, 15]),
        (32, 64 * KIB, Mode.OPTIMIZED, [17, 15]),
        (8, 200 * KIB, Mode.CONTIGUOUS, [7, 1]),
        (8, 200 * KIB, Mode.OPTIMIZED, [4, 4]),
    ],
)
def test_groups_grow_until_they_are_contiguous(ranks: int, size: int, mode: Mode, expected: list[int]) -> None:
    assert sizes_of(groups(in_order([size] * ranks), 2 * size, mode)) == expected


def test_rows_of_a_topology_are_groups() -> None:
    parts = apart([MIB] * 12)
    assert groups(parts, 3 * MIB, dims=(4, 3)) == [(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)]
    assert sizes_of(groups(parts, 3 * MIB, dims=(2, 2, 3))) == [3, 3, 3, 3]
    assert groups(parts, 3 * MIB, dims=(12,)) == groups(parts, 3 * MIB)


@pytest.mark.parametrize(
    ("dims", "k", "mode", "expected"),
    [
        ((4, 3), 5 * MIB, Mode.DATA_VOLUME, [6, 6]),  # rows of 3 MiB merge until they have more than k
        ((4, 3), 6 * MIB, Mode.DATA_VOLUME, [12]),  # the last row is not left alone
        ((4, 3), 2 * MIB, Mode.DATA_VOLUME, [2, 1] * 4),  # each row is split alone
        ((4, 3), 2 * MIB, Mode.UNIFORM, [3] * 4),  # one rank is half a part: it stays with the others of its row
        ((4, 3), MIB, Mode.DATA_VOLUME, [1] * 12),
        ((2, 2, 3), 4 * MIB, Mode.DATA_VOLUME, [4, 2] * 2),  # planes of the first dimension
        ((2, 2, 3), 4 * MIB, Mode.UNIFORM, [3] * 4),
        ((2, 2, 3), 3 * MIB, Mode.OPTIMIZED, [6] * 2),  # no part of a row has 1 MiB that lies together
        ((3, 2, 2), 3 * MIB, Mode.UNIFORM, [2] * 6),
        ((1, 12), 4 * MIB, Mode.DATA_VOLUME, [4, 4, 4]),
        ((12, 1), 4 * MIB, Mode.DATA_VOLUME, [5, 5, 2]),  # rows of one rank merge until they have more than k
    ],
)
def test_rows_of_a_topology_are_split_and_merged(
    dims: tuple[int, ...], k: int, mode: Mode, expected: list[int]
) -> None:
    # The pieces of a rank lie together with those of no other rank: the places in the file would make other groups.
    parts = [Part(rank * 7 * MIB, MIB, 64 * KIB) for rank in range(12)]
    assert sizes_of(groups(parts, k, mode, dims)) == expected


def test_every_rank_is_in_one_group_whatever_the_sizes_are() -> None:
    generator = random.Random(1)
    for _ in range(2000):
        ranks = generator.randrange(1, 40)
        sizes = [generator.choice((0, 1, 1000, MIB, generator.randrange(4 * MIB))) for _ in range(ranks)]
        parts = (in_order if generator.random() < 0.5 else apart)(sizes)
        k, mode = generator.randrange(1, 8 * MIB), generator.choice(list(Mode))
        found = groups(parts, k, mode)
        assert [rank for group in found for rank in group] == list(range(ranks))
        assert 1 <= len(found) <= ranks


def test_all_bytes_by_k_is_another_number() -> None:
    parts = in_order([MIB] * 8)
    assert number_by_volume(parts, 16 * MIB // 7) == 4
    assert len(groups(parts, 16 * MIB // 7)) == 3
    assert number_by_volume(apart([0, 0]), MIB) == 1


def test_what_a_number_loses_in_romio_is_said() -> None:
    equal = in_order([MIB] * 8)
    assert lost_by_ranges(groups(equal, 2 * MIB), equal) == ""
    uneven = in_order([8 * MIB, 100, 100, 100])
    assert "100 to 8,388,608 bytes" in lost_by_ranges([(0,), (1,), (2, 3)], uneven)
    # Two rows of a matrix whose columns are the ranks: each group has pieces in the whole file.
    mixed = [Part(rank % 2 * MIB + rank // 2 * 4 * MIB, MIB) for rank in range(4)]
    assert "of group 0" in lost_by_ranges([(0, 2), (1, 3)], mixed)
    assert lost_by_ranges([(0, 1, 2, 3)], mixed) == ""


def test_what_a_number_loses_in_ompio_is_said() -> None:
    parts = in_order([MIB] * 8)
    assert lost_by_equal_groups([(0, 1, 2), (3, 4, 5), (6, 7)], parts) == ""
    said = lost_by_equal_groups([(0, 1), (2, 3, 4), (5, 6, 7)], parts)
    assert said == (
        "a number makes groups of 2 or 3 ranks with 2,097,152 to 3,145,728 bytes, where the groups have 2 to 3 ranks"
    )
    assert "with 100 to 8,388,708 bytes" in lost_by_equal_groups([(0,), (1, 2)], in_order([8 * MIB, 100, 100]))


def test_ranks_whose_pieces_alternate_are_one_group() -> None:
    alternating = [Part(rank * 64 * KIB, 4 * MIB, 64 * KIB) for rank in range(4)]
    assert groups(alternating, 64 * MIB) == [(0, 1, 2, 3)]
    assert sizes_of(groups(alternating, 8 * MIB)) == [2, 2]
    # The first pieces of all ranks together are 256 KiB, so that no group has 1 MiB that lies together.
    assert sizes_of(groups(alternating, 8 * MIB, Mode.CONTIGUOUS)) == [4]
    # Two rows of tiles: the second one begins elsewhere.
    tiles = [Part(row * 16 * MIB + column * MIB, 4 * MIB, MIB) for row in range(2) for column in range(2)]
    assert sizes_of(groups(tiles, 8 * MIB)) == [2, 2]


@pytest.mark.parametrize(
    ("parts", "k", "dims", "says"),
    [
        ([Part(0, 1)], 0, (), "k cannot be 0 bytes"),
        ([Part(0, 1), Part(-5, 1)], 1, (), "rank 1 cannot move 1 bytes at -5"),
        ([Part(0, 1)] * 6, 1, (2, 2), "a topology of 2 x 2 has no place for 6 ranks"),
        ([Part(0, 1)] * 6, 1, (-2, -3), "no place for 6 ranks"),
    ],
)
def test_wrong_input_is_named(parts: list[Part], k: int, dims: tuple[int, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        groups(parts, k, dims=dims)
