"""Whether tables have the values that h5py and uproot read, whatever their types are."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import awkward as ak
import numpy as np
from hdf5_values import equal, without_rows

import thalweg as tw
from thalweg._others.tree_types import field_name_of


def is_there(
    name: str, theirs: Any, left_out: set[str], found: list[tuple[str, Any]], known: list[tuple[str, Any]]
) -> bool:
    """Returns whether a dataset has a column, or, without rows, an attribute, with its values.

    A column that stands for a dataset is taken out of `found`, since it cannot stand for another one.
    """
    last = name.rsplit("/", 1)[1]
    if not theirs.shape and theirs.shape != (0,):
        wanted = without_rows(theirs)
        return any(same_value(value, wanted) for each, value in known if each.rpartition("/")[2] == last)
    # A table of another length is called group_name.
    mine = [index for index, (column, _) in enumerate(found) if f"/{column}".endswith((f"/{last}", f"_{last}"))]
    members = [each for each in theirs.dtype.names or () if f"{name}.{each}" not in left_out]
    expected = theirs.fields(members)[()] if members else theirs[()]
    same = [index for index in mine if equal(found[index][1], expected)]
    if not same:
        return False
    del found[max(same, key=lambda index: nearness(found[index][0], name))]
    return True


def nearness(column: str, name: str) -> int:
    """Returns how much of the path of a dataset its column may have: itself, or its table if that is group_name."""
    return max(common_end(column, name), common_end(column.rpartition("/")[0], name))


def common_end(column: str, name: str) -> int:
    """Returns how many letters are equal at the ends of two paths, where "_" may stand for "/"."""
    backwards = zip(column[::-1].replace("_", "/"), name[::-1].replace("_", "/"), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], backwards))


def same_value(mine: Any, theirs: Any) -> bool:
    are_numbers = {np.asarray(mine).dtype.kind, np.asarray(theirs).dtype.kind} <= set("fc")
    return bool(np.array_equal(mine, theirs, equal_nan=are_numbers))


def is_unreadable(tree: Any) -> bool:
    """Returns whether uproot cannot read the bytes of some branch or field."""
    for branch in tree.itervalues(recursive=True):
        try:
            branch.array(library="ak")
        except OSError:
            return True
        except Exception:
            continue
    return False


def same_tree(name: str, tree: Any, mine: tw.Rows, left_out: set[str]) -> Iterator[str]:
    """Yields what is wrong. A branch is called by the last part of its path, or by all of it if that name is taken."""
    taken: set[str] = set()
    for path, branch in tree.iteritems(recursive=True):
        if branch.branches or f"{name}/{path}" in left_out:
            continue
        names = [field_name_of(each) for each in (path.rpartition("/")[2], path)]
        field = next((each for each in names if each not in taken), None)
        if field not in mine:
            yield f"the branch {name}/{path} is neither shown nor named"
            continue
        taken.add(field)
        try:
            theirs = branch.array(library="ak", entry_stop=tree.num_entries)
        except Exception:  # uproot fails at entries of strings without a byte
            continue
        if not alike(mine.members[field], theirs):
            yield f"the branch {name}/{path} has other values than uproot reads"


def same_ntuple(name: str, ntuple: Any, mine: tw.Rows, left_out: set[str]) -> Iterator[str]:
    """Yields what is wrong."""
    as_awkward = mine.to_awkward()  # variants and members of base classes as uproot has them
    for field in ntuple.keys(recursive=False):
        inside = re.compile(re.escape(f"{name}/{field}") + r"([./].*)?")
        if any(inside.fullmatch(each) for each in left_out):
            continue
        if field not in mine:
            yield f"the field {name}/{field} is neither shown nor named"
            continue
        try:
            theirs = ntuple.arrays([field])[field]
        except Exception:  # uproot reads fewer types
            continue
        if not alike(mine.members[field], theirs) and not same_lists(as_awkward[field], theirs):
            yield f"the field {name}/{field} has other values than uproot reads"


def same_lists(mine: Any, theirs: Any) -> bool:
    """Returns whether values are equal as lists and dictionaries, whatever class a member is said to come from."""
    return str(bare(ak.to_list(mine))) == str(bare(ak.to_list(theirs)))


def bare(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((name.rpartition("::")[2], str(bare(each))) for name, each in value.items())
    return [bare(each) for each in value] if isinstance(value, list) else value


def alike(mine: Any, theirs: Any) -> bool:
    """Returns whether values are equal, whatever the names of their members."""
    ours, others = list(leaves(mine)), list(leaves(theirs))
    return len(ours) == len(others) and all(map(same_array, ours, others))


def same_array(ours: Any, theirs: Any) -> bool:
    kinds = ours.dtype.kind + theirs.dtype.kind
    if "O" in kinds or kinds in ("iu", "ui"):  # uproot reads cardinalities as signed numbers
        return ours.tolist() == theirs.tolist()
    same_type = ours.dtype.newbyteorder("=") == theirs.dtype.newbyteorder("=") or not ours.size
    return bool(same_type and np.array_equal(ours, theirs, equal_nan=kinds[0] in "fc"))


def leaves(value: Any) -> Iterator[Any]:
    """Yields lengths of lists and flat values, depth first, of values of ours or of an Awkward array."""
    if isinstance(value, tw.Rows):
        for member in value.members.values():
            yield from leaves(member)
    elif isinstance(value, tw.Ragged):
        packed = value.packed()
        yield np.diff(packed.offsets)
        yield from leaves(packed.content)
    elif isinstance(value, ak.Array):
        yield from leaves_of_layout(ak.to_packed(value).layout)
    else:
        yield np.asarray(value).reshape(-1)


def leaves_of_layout(layout: Any) -> Iterator[Any]:
    if layout.is_option:
        there = ~np.asarray(ak.is_none(layout))
        yield there.astype(np.int64)
        yield from leaves_of_layout(ak.to_packed(ak.drop_none(layout, axis=0, highlevel=False)))
    elif layout.is_record:
        for content in layout.contents:
            yield from leaves_of_layout(content[: len(layout)])
    elif layout.is_list and layout.is_regular:
        yield from leaves_of_layout(layout.content[: len(layout) * layout.size])
    elif layout.is_list:
        yield np.diff(np.asarray(layout.offsets))
        yield from leaves_of_layout(layout.content)
    elif layout.is_numpy:
        yield np.asarray(layout.data).reshape(-1)
    else:
        values = np.empty(len(layout), object)
        values[:] = ak.to_list(layout)
        yield values
