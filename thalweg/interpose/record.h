// The memory that a traced process and the tracer share: a control page, and a ring of fixed-size records for each
// thread. The tracer, in Python, has the same layout in `_trace/records.py`; a test compares the two.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    LAYOUT_VERSION = 3,
    PATH_BYTES = 1024,
    STACK_DEPTH = 16,
    HEADER_BYTES = 4096,
    TEXT_BYTES = 40, // text in one record; a longer text takes several
    LEVEL_COUNT = 5,
    CORE_BYTES = 128, // one bit for each core of a machine, as sched_getaffinity gives them
};

enum record_kind { RECORD_CALL = 0, RECORD_TEXT = 1 };

enum text_kind {
    TEXT_PATH = 1,          // path of the call that follows in the same ring
    TEXT_SECOND_PATH = 2,   // of a rename: the new name
    TEXT_FILE = 3,          // path of the opening whose number is in `file`; `handle` has the mode of stat
    TEXT_HINT_ASKED = 4,    // "key=value", given to MPI_File_open and similar calls
    TEXT_HINT_REPORTED = 5, // what MPI_File_get_info returns after it
    TEXT_LIBRARY = 6,       // the implementation of MPI or HDF5
    TEXT_ENVIRONMENT = 7,   // "NAME=value": a variable that HDF5 or MPI-IO read
    TEXT_PROPERTY = 8,      // "name=value" of an access list with which HDF5 opened the file, if it is no default
    TEXT_DATASET = 9,       // "name=layout of its data in the file"
    TEXT_BECOMES = 10,      // the program that process `handle` becomes; a traced one has rings of its own
};

struct record {
    uint64_t start; // in ticks of the clock
    uint64_t end;
    int64_t result;
    int64_t offset;
    int64_t size;
    uint32_t file; // the number of an opening; 0: no file
    uint16_t operation;
    uint16_t error;
    uint64_t handle; // as the program knows it: a descriptor, a FILE*, an MPI_File, an hid_t
    uint8_t depth;
    uint8_t kind;
    uint16_t extra; // flags of open; for HDF5: 1 independent, 2 collective; for Thalweg: a column, or an engine
    uint32_t spare;
};

// The calls that have begun: they show what a program did when it died.
struct begun {
    uint64_t start;
    int64_t offset;
    int64_t size;
    uint32_t file;
    _Atomic uint32_t operation; // 0: none
    uint64_t frame;
};

struct ring {
    uint32_t version;
    uint32_t process; // counts programs: a fork and an exec start another one
    int32_t pid;
    int32_t tid;
    int32_t parent_pid;
    int32_t rank;      // -1: the program has no launcher
    uint32_t capacity; // records
    uint32_t is_forked;
    _Atomic uint64_t head;
    _Atomic uint64_t tail;
    _Atomic uint64_t dropped[LEVEL_COUNT];
    _Atomic uint32_t is_ended;
    uint32_t spare;
    uint64_t created; // ticks
    // From /proc/self/io: read and written bytes, read and write calls; at the beginning of the program, and at its end
    // or when it became another one.
    uint64_t io_begin[4];
    uint64_t io_end[4];
    _Atomic uint32_t has_io_end;
    uint32_t own_read_bytes; // bytes of /proc that this library itself has read
    struct begun stack[STACK_DEPTH];
    char command[512];
    char executable[512];
    uint8_t cores[CORE_BYTES]; // cores on which it may run, at its beginning
};

_Static_assert(sizeof(struct record) == 64, "a record is a cache line");
_Static_assert(sizeof(struct ring) <= HEADER_BYTES, "the header of a ring is a page");

struct control {
    uint32_t version;
    int32_t tracer_pid;
    uint32_t ring_records; // a power of two
    uint32_t levels;       // one bit for each level
    _Atomic uint32_t next_process;
    _Atomic uint32_t next_file;
    _Atomic uint32_t next_ring;
    _Atomic uint32_t failed_rings; // rings for which there was no room: these threads are not traced
};
