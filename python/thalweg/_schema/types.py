"""The types of fields. A type is used as it is, or called to give it a unit and a description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from thalweg._base.errors import UsageError
from thalweg._base.given import integer_of, text_of_user
from thalweg._schema.attributes import Attributes

_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
_SCALARS = {name: np.dtype(name) for name in _NAMES.split()}
_TIME = "numpy_dtype"  # the attribute that marks numbers as times
_CPP = {"bool": "bool", "float32": "float", "float64": "double"}
_COMPLEX = ("complex64", "complex128")


@dataclass(frozen=True)
class Type:
    """The type of a field. `tw.uint64(unit="ns", description="...")` is `tw.uint64` with a unit and a description."""

    name: str
    """A scalar such as "uint16", or "string", "list" or "struct"."""
    shape: tuple[int, ...] = ()
    """The shape of a fixed-size array of such items; empty for a single item."""
    unit: str = ""
    description: str = ""
    element: Type | None = None
    """The type of the elements of a list."""
    members: tuple[tuple[str, Type], ...] = ()
    """The names and types of the members of a struct."""
    type_name: str = ""
    """The C++ type in ROOT files, such as "std::vector<Hit>" or "std::optional<float>"; empty if none was given."""
    attrs: Attributes = field(default_factory=Attributes)
    """More attributes of the field. `table["x"].attrs` has unit and description, too."""
    is_split: bool = field(default=False, compare=False, repr=False)
    """Whether complex numbers are stored as two columns, real and imaginary part, as in ROOT files."""

    def __call__(
        self, *, unit: str = "", description: str = "", type_name: str = "", attrs: Mapping[str, Any] | None = None
    ) -> Type:
        """Returns the type with a unit, description, C++ type name or attributes.

        attrs: numbers, strings, bools, or arrays of these, by name; they replace those of the type. "units" and
            "description" set the unit and the description.

        Raises UsageError if a value is given twice, or cannot be stored."""
        more = dict(attrs or {})
        said = {"units": unit or self.unit, "description": description or self.description}
        for name, text in said.items():
            given = more.pop(name, text)
            if not isinstance(given, str) or (text and given != text):
                raise UsageError(
                    f"the attribute '{name}' of a field is {given!r}, but its type says {text!r}: give it once, as a "
                    "string"
                )
            said[name] = given
        return replace(
            self,
            unit=said["units"],
            description=said["description"],
            type_name=type_name or self.type_name,
            attrs=self.attrs if attrs is None else Attributes(more, of="a field"),
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of one value. Only scalars have one."""
        return _SCALARS[self.name]

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number or bool, possibly in a fixed-size array."""
        return self.name in _SCALARS

    @property
    def time_dtype(self) -> np.dtype[Any] | None:
        """NumPy's datetime64 or timedelta64 if the numbers are times, otherwise None."""
        text = self.attrs.get(_TIME) if self.name == "int64" else None
        return np.dtype(text) if isinstance(text, str) and text[1:2] in ("M", "m") else None

    @property
    def is_optional(self) -> bool:
        """Whether a value may be missing; it is stored as a list of one element or none."""
        return self.name == "list" and self.type_name.startswith("std::optional<")

    def zero_width(self, path: str = "") -> Iterator[str]:
        """Yields the paths of arrays without values, which only files of other programs have."""
        if 0 in self.shape or (self.element is not None and any(self.element.zero_width())):
            yield path
            return
        for name, member in self.members:
            yield from member.zero_width(f"{path}/{name}" if path else name)

    def without_zero_width(self) -> Type | None:
        """Returns the type without arrays without values, or None if nothing is left."""
        if self.name != "struct" or 0 in self.shape:
            return None if any(True for _ in self.zero_width()) else self
        kept = ((name, member.without_zero_width()) for name, member in self.members)
        members = tuple((name, member) for name, member in kept if member is not None)
        return replace(self, members=members) if members or not self.members else None

    def bare(self) -> Type:
        """Returns the type without units and descriptions."""
        return Type(
            self.name,
            self.shape,
            element=self.element.bare() if self.element else None,
            members=tuple((name, member.bare()) for name, member in self.members),
            type_name=self.type_name,
        )

    def leaves(self, path: str = "") -> Iterator[str]:
        """Yields the paths of all members that are no structs."""
        if self.name != "struct":
            yield path
        for name, member in self.members:
            yield from member.leaves(f"{path}/{name}" if path else name)

    def paths(self, path: str = "") -> Iterator[str]:
        """Yields the paths of all members, also of those that lie in structs and lists."""
        if self.element is not None:
            yield from self.element.paths(path)
        for name, member in self.members:
            inner = f"{path}/{name}" if path else name
            yield inner
            yield from member.paths(inner)

    @property
    def has_split(self) -> bool:
        """Whether some complex numbers in it are stored as two columns."""
        inner = [member for _, member in self.members] + ([self.element] if self.element else [])
        return self.is_split or any(member.has_split for member in inner)

    def __str__(self) -> str:
        text = self.name
        if self.element is not None:
            text = f"list({self.element})"
        elif self.members:
            text = "{" + ", ".join(f"{name}: {member}" for name, member in self.members) + "}"
        if self.shape:
            text += "[" + ", ".join(map(str, self.shape)) + "]"
        if self.type_name and not self.is_scalar and self.name != "string":  # it is redundant for scalars and strings
            text += f" as {self.type_name}"
        return f"{text} ({self.unit})" if self.unit else text

    def to_json(self) -> dict[str, Any]:
        """Returns the form that docs/formats/schema.md describes."""
        json: dict[str, Any] = {"type": self.name}
        if self.element is not None:
            json["element"] = self.element.to_json()
        if self.name == "struct":
            json["fields"] = [{"name": name, **member.to_json()} for name, member in self.members]
        if self.shape:
            json["shape"] = list(self.shape)
        optional = {"unit": self.unit, "description": self.description, "type_name": self.type_name}
        more = {"attributes": self.attrs.to_json()} if self.attrs else {}
        return json | {key: text for key, text in optional.items() if text} | more

    @staticmethod
    def from_json(json: Mapping[str, Any]) -> Type:
        """Reads what `to_json` writes. A struct that stands for complex numbers becomes complex."""
        shape, unit, description = tuple(json.get("shape", ())), json.get("unit", ""), json.get("description", "")
        type_name = json.get("type_name", "")
        attrs = Attributes.from_json(json.get("attributes", {}))
        if json["type"] == "struct" and type_name in _COMPLEX:
            return Type(type_name, shape, unit, description, attrs=attrs, is_split=True)
        return Type(
            json["type"],
            shape,
            unit,
            description,
            Type.from_json(json["element"]) if "element" in json else None,
            tuple((member["name"], Type.from_json(member)) for member in json.get("fields", ())),
            type_name,
            attrs,
        )


TypeLike: TypeAlias = "Type | npt.DTypeLike | Mapping[str, TypeLike]"
"""A type of this module, anything that NumPy accepts as a dtype, or a dictionary of named types (a struct)."""

bool_ = Type("bool")
int8 = Type("int8")
int16 = Type("int16")
int32 = Type("int32")
int64 = Type("int64")
uint8 = Type("uint8")
uint16 = Type("uint16")
uint32 = Type("uint32")
uint64 = Type("uint64")
float32 = Type("float32")
float64 = Type("float64")
complex64 = Type("complex64")
complex128 = Type("complex128")
string = Type("string")
"""UTF-8 text of any length."""


def as_type(like: TypeLike) -> Type:
    """Returns the type that `like` means. Raises UsageError if it means none."""
    if isinstance(like, Type):
        return like
    if isinstance(like, Mapping):
        members = cast(Mapping[str, TypeLike], like)
        return Type("struct", members=tuple((_name(name), as_type(member)) for name, member in members.items()))
    if like is str:
        return string
    try:
        dtype = np.dtype(like)
    except (TypeError, ValueError, SyntaxError):
        raise UsageError(f"{like!r} is not a type (of a field): use tw.uint16, a NumPy dtype or a dictionary") from None
    return _from_dtype(dtype)


def _name(name: object) -> str:
    return text_of_user(name, "the name of a field")


def _from_dtype(dtype: np.dtype[Any]) -> Type:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return array(base, *shape)
    if dtype.names is not None and dtype.fields is not None:
        return Type("struct", members=tuple((name, _from_dtype(dtype.fields[name][0])) for name in dtype.names))
    if dtype.kind in "mM" and np.datetime_data(dtype)[0] != "generic":
        return time_type(dtype)
    if dtype.name not in _SCALARS:
        raise UsageError(
            f"the NumPy type {dtype} cannot be stored: use one of {', '.join(_SCALARS)}, a datetime64 or timedelta64 "
            "with a unit, or tw.string"
        )
    return Type(dtype.name)


def array(type: TypeLike, *shape: int | tuple[int, ...], unit: str = "", description: str = "") -> Type:  # noqa: A002
    """Returns the type of a fixed-size array with any number of dimensions: `tw.array(tw.uint16, 10_496)`.

    The sizes may come as one tuple, such as the `shape` of a NumPy array.

    Raises UsageError if a size is missing or is not an integer from 0 on."""
    item = as_type(type)
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = tuple(shape[0])
    if not shape:
        raise UsageError(
            "an array needs its sizes: write tw.array(tw.uint16, 1000), or tw.list_(tw.uint16) if the length varies"
        )
    sizes = (integer_of(size, "the size of an array") for size in shape)
    return replace(item, shape=(*sizes, *item.shape))(unit=unit, description=description)


def list_(element: TypeLike, *, unit: str = "", description: str = "", type_name: str = "") -> Type:
    """Returns the type of a list of any length: `tw.list_(tw.float32)`, or `tw.list_({"energy": tw.float32})`.

    type_name: the C++ type for ROOT, such as "std::vector<Hit>".
    """
    return Type("list", element=as_type(element), unit=unit, description=description, type_name=type_name)


def time_type(dtype: np.dtype[Any]) -> Type:
    """Returns the type of times or durations as NumPy counts them: int64, with the dtype as attribute `numpy_dtype`.

    NaT is the least integer."""
    unit, count = np.datetime_data(dtype)
    text = {"generic": ""}.get(unit, unit if count == 1 else f"{count} {unit}")
    return Type("int64", unit=text, attrs=Attributes({_TIME: dtype.newbyteorder("=").str}))


def datetime64(unit: str = "ns", *, description: str = "") -> Type:
    """Returns the type of points in time, as NumPy's `datetime64[unit]`.

    The file has int64 with the unit and the attribute `numpy_dtype`; h5py and ROOT show the numbers. Raises UsageError
    if NumPy does not know the unit."""
    return _time("M8", unit)(description=description)


def timedelta64(unit: str = "ns", *, description: str = "") -> Type:
    """Returns the type of durations, as NumPy's `timedelta64[unit]`. They are stored like `datetime64`."""
    return _time("m8", unit)(description=description)


def _time(kind: str, unit: str) -> Type:
    try:
        return time_type(np.dtype(f"{kind}[{unit}]"))
    except TypeError:
        raise UsageError(f"{unit!r} is not a unit of time: give one of NumPy, such as 'ns', 'us' or 's'") from None


def optional(type: TypeLike, *, unit: str = "", description: str = "") -> Type:  # noqa: A002
    """Returns the type of a number or string that may be missing: `tw.optional(tw.float32)`.

    In an RNTuple it is a std::optional, in HDF5 a list. Raises UsageError for structs, arrays, lists and complex
    numbers.
    """
    element = as_type(type)
    if not (element.is_scalar or element.name == "string") or element.shape or element.name in _COMPLEX:
        raise UsageError(f"{element} cannot be optional (only numbers and strings can): use tw.list_ of it")
    name = "std::string" if element.name == "string" else _CPP.get(element.name, f"std::{element.name}_t")
    return list_(element, unit=unit, description=description, type_name=f"std::optional<{name}>")


def struct(members: Mapping[str, TypeLike], *, unit: str = "", description: str = "", type_name: str = "") -> Type:
    """Returns the type of a struct. A dictionary alone means the same; `struct` adds a description or a C++ type."""
    return as_type(members)(unit=unit, description=description, type_name=type_name)


def waveform(type: TypeLike, samples: int, *, unit: str = "adc", time_unit: str = "ns") -> Type:  # noqa: A002
    """Returns the type of sampled pulses of the LEGEND convention (lh5): a struct {t0, dt, values}.

    `t0` is the time of the first sample and `dt` the sampling period, both float64 in `time_unit`; `values` has
    `samples` numbers in `unit`.
    """
    return struct(
        {
            "t0": float64(unit=time_unit, description="time of the first sample"),
            "dt": float64(unit=time_unit, description="time between two samples"),
            "values": array(type, samples, unit=unit),
        }
    )
