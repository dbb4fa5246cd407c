"""The settings that can be tried, and how each reaches a program that does not know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from thalweg._base.errors import UsageError
from thalweg._base.quantities import size_bytes


class Way(Enum):
    """How a setting reaches the program. A variable is gentler than a library that is loaded into it."""

    romio_hints = "the file that ROMIO_HINTS names"
    variable = "an environment variable"
    knobs = "THALWEG_KNOBS"
    file_list = "the property list of H5Fcreate and H5Fopen"
    creation_list = "the creation list of H5Fcreate"
    dataset_list = "the property list of H5Dcreate2 and H5Dopen2"
    dataset_creation_list = "the creation list of H5Dcreate2"

    @property
    def is_loaded(self) -> bool:
        """Whether a library sets it inside the program."""
        return self not in (Way.romio_hints, Way.variable, Way.knobs)


@dataclass(frozen=True)
class Setting:
    name: str
    library: str
    way: Way
    takes: str
    parse: Callable[[str], str]
    changes_file: bool = False
    variable: str = ""
    """The environment variable, if that is the way."""
    hint: str = ""
    """The name of the hint of MPI that means the same. If the program passes it itself, it is changed there."""
    tried: tuple[str, ...] = ()
    """The values that a screen tries."""

    def __str__(self) -> str:
        return f"{self.name} ({self.library}): {self.takes}{'; changes the file' if self.changes_file else ''}"

    def to_dict(self) -> dict[str, object]:
        names = ("name", "library", "takes", "changes_file")
        return {name: getattr(self, name) for name in names} | {"way": self.way.value}


@dataclass(frozen=True)
class Chosen:
    setting: Setting
    given: str
    value: str
    """As the library takes it."""

    def __str__(self) -> str:
        return f"{self.setting.name}={self.given}"


def _size(text: str) -> str:
    return str(size_bytes(text))


def _count(text: str) -> str:
    if not text.isdecimal() or int(text) == 0:
        raise UsageError(f"'{text}' is not a whole number above 0")
    return str(int(text))


def _text(text: str) -> str:
    if not text or any(each.isspace() for each in text):
        raise UsageError(f"'{text}' is empty or has a space")
    return text


def _word(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise UsageError(f"'{text}' is not one of {', '.join(words)}")
        return text

    return parse


def _romio(name: str, takes: str, parse: Callable[[str], str], *tried: str) -> Setting:
    return Setting(name, ROMIO, Way.romio_hints, takes, parse, hint=name, tried=tried)


def _switch(name: str) -> Setting:
    return _romio(name, "enable, disable or automatic", _word("enable", "disable", "automatic"), "enable", "disable")


def _ompio(name: str, takes: str, parse: Callable[[str], str], *tried: str, hint: str = "") -> Setting:
    return Setting(name, OMPIO, Way.variable, takes, parse, variable=f"OMPI_MCA_{name}", hint=hint, tried=tried)


def _hdf5(way: Way, name: str, takes: str, parse: Callable[[str], str], *tried: str, changes: bool = False) -> Setting:
    return Setting(name, HDF5, way, takes, parse, changes_file=changes, tried=tried)


def _knob(name: str, takes: str, parse: Callable[[str], str], *tried: str) -> Setting:
    return Setting(name, THALWEG, Way.knobs, takes, parse, tried=tried)


ROMIO, OMPIO, HDF5, THALWEG = "ROMIO", "OMPIO", "HDF5", "Thalweg"
_MODE = _word("independent", "collective")
_LIST, _DATASET = Way.file_list, Way.dataset_creation_list
_ENGINE = _word("auto", "uring", "threads", "posix")
SETTINGS = (
    _romio("cb_nodes", "number of aggregators", _count, "1", "2", "4"),
    _romio("cb_config_list", "aggregators of each host, such as *:2", _text, "*:1", "*:2", "*:4"),
    _romio("cb_buffer_size", "bytes", _size, "1MiB", "4MiB", "64MiB"),
    _switch("romio_cb_write"),
    _switch("romio_cb_read"),
    _switch("romio_ds_write"),
    _switch("romio_ds_read"),
    _romio("ind_wr_buffer_size", "bytes", _size, "4MiB"),
    _romio("ind_rd_buffer_size", "bytes", _size, "64KiB", "16MiB"),
    _romio("romio_no_indep_rw", "true or false", _word("true", "false"), "true"),
    _ompio("io", "ompio, romio321 or romio341", _word("ompio", "romio321", "romio341"), "romio321", "romio341"),
    _ompio("io_ompio_num_aggregators", "number of aggregators", _count, "1", "2", "4", hint="cb_nodes"),
    _ompio("io_ompio_cycle_buffer_size", "bytes", _size, "4MiB", "64MiB", hint="cb_buffer_size"),
    _ompio("io_ompio_bytes_per_agg", "bytes", _size, "1MiB", "64MiB"),
    # 3 is not tried: it never ends with some sizes.
    _ompio("io_ompio_grouping_option", "1 to 7", _word(*"1234567"), "1", "2", "4", "5", "6", "7"),
    _ompio("fcoll", "name of a component", _text, "vulcan", "dynamic_gen2", "individual"),
    _hdf5(_LIST, "sieve_buf_size", "bytes", _size, "4KiB", "4MiB"),
    _hdf5(_LIST, "meta_block_size", "bytes", _size, "1MiB", changes=True),
    _hdf5(_LIST, "alignment", "bytes", _size, "4KiB", "1MiB", changes=True),
    _hdf5(_LIST, "page_buffer_size", "bytes", _size, "4MiB"),
    _hdf5(_LIST, "file_chunk_cache", "bytes", _size, "1MiB", "16MiB", "64MiB"),
    _hdf5(_LIST, "metadata_reads", "independent or collective", _MODE, "collective"),
    _hdf5(_LIST, "metadata_writes", "independent or collective", _MODE, "collective"),
    _hdf5(
        _LIST,
        "libver",
        "earliest, v18, v110 or latest",
        _word("earliest", "v18", "v110", "latest"),
        "v110",
        "latest",
        changes=True,
    ),
    _hdf5(Way.creation_list, "file_space_page_size", "bytes of a page", _size, "4KiB", "64KiB", changes=True),
    _hdf5(Way.dataset_list, "chunk_cache", "bytes", _size, "1MiB", "16MiB", "64MiB"),
    _hdf5(_DATASET, "fill_time", "alloc, never or ifset", _word("alloc", "never", "ifset"), "never", changes=True),
    _hdf5(_DATASET, "alloc_time", "early, late or incr", _word("early", "late", "incr"), "early", "incr", changes=True),
    Setting(
        "file_locking",
        HDF5,
        Way.variable,
        "TRUE, FALSE or BEST_EFFORT",
        _word("TRUE", "FALSE", "BEST_EFFORT"),
        variable="HDF5_USE_FILE_LOCKING",
        tried=("FALSE",),
    ),
    _knob("engine", "auto, uring, threads or posix", _ENGINE, "uring", "threads", "posix"),
    _knob("queue_depth", "writes in flight of a producer", _count, "1", "16", "64"),
    _knob("threads", "threads of a producer that encode", _count, "1", "2"),
    _knob("extent_bytes", "bytes", _size, "512KiB", "8MiB"),
    _knob("memory_bytes", "bytes of a process", _size, "256MiB"),
)
