// The memory that a traced process and the tracer share: a control page, and a ring of fixed-size records for each
// thread. The tracer, in Python, has the same layout in `_trace/records.py`; a test compares the two.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    LAYOUT_VERSION = 5,
    PATH_BYTES = 4096,
    STACK_DEPTH = 16,
    CONTROL_BYTES = 4096, // the slots follow
    HEADER_BYTES = 2048,  // so that the first records are in the page of the header
    TEXT_BYTES = 40,      // text in one record; a longer text takes several
    LEVEL_COUNT = 5,
    CORE_BYTES = 128,   // one bit for each core of a machine, as sched_getaffinity gives them
    SLOTS = 256,        // rings that the tracer has made before the program begins
    SLOT_RECORDS = 256, // records of each of them
    SLOT_BYTES = 5 * 4096,
    FAILURES = 24, // processes and threads without a ring that are described
    PROGRAM_BYTES = 64,
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
    TEXT_WHY_NOT = 11,      // why the library is not loaded into the program that process `handle` becomes
    TEXT_LIMITED = 12,      // why the rest of this process is recorded only in part
    TEXT_HINT_OF_FILE = 13, // "key=value" in the file that ROMIO_HINTS names
    TEXT_OPENED = 14,       // path with which the opening was made whose number is in `file`; `handle`: see identity_of
    TEXT_MODULES = 15,      // "modules=names": those for files that Open MPI has loaded when it has opened the file
    TEXT_TOPOLOGY = 16,     // "topology=extents" of the Cartesian topology of the ranks that have opened the file
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
    uint32_t is_elsewhere; // it is in another PID namespace than the tracer, where its pid means another process
    uint64_t created;      // ticks
    // From /proc/self/io: read and written bytes, read and write calls; at the beginning of the program, and at its end
    // or when it became another one.
    uint64_t io_begin[4];
    uint64_t io_end[4];
    _Atomic uint32_t has_io_end;
    uint32_t own_read_bytes; // bytes of /proc that this library itself has read
    uint32_t own_reads;
    uint32_t describes_process; // the two arrays above, and the program and cores below, are those of the process
    struct begun stack[STACK_DEPTH];
    char command[512];
    char executable[512];
    uint8_t cores[CORE_BYTES]; // cores on which it may run, at its beginning
};

_Static_assert(sizeof(struct record) == 64, "a record is a cache line");
_Static_assert(sizeof(struct ring) <= HEADER_BYTES, "the header of a ring has this room");
_Static_assert(HEADER_BYTES + SLOT_RECORDS * sizeof(struct record) <= SLOT_BYTES, "a slot has room for its ring");

enum slot_state {
    SLOT_FREE = 0,
    SLOT_TAKEN = 1, // by a thread that has not described its ring yet
    SLOT_READY = 2,
    SLOT_READ = 3, // by the tracer, which clears its header and frees it at the end
};

enum why_no_ring { NO_MEMORY = 1, NO_PERMISSION = 2, NO_TRACER = 3, FILE_LIMIT = 4 };

// Describes a process or thread that is not traced, since it has no ring.
struct failure {
    int32_t pid;
    uint16_t why;
    uint16_t error;
    char program[PROGRAM_BYTES];
};

struct control {
    uint32_t version;
    int32_t tracer_pid;
    uint32_t ring_records; // a power of two: the largest ring
    uint32_t levels;       // one bit for each level
    _Atomic uint32_t next_process;
    _Atomic uint32_t next_file;
    _Atomic uint32_t next_ring;
    _Atomic uint32_t failed_rings; // rings that could not be made: these threads are not traced
    // A thread whose largest ring is full goes on in another one while all rings take fewer bytes than this.
    uint64_t most_bytes;
    _Atomic uint64_t made_bytes; // of rings outside of the slots; it only grows
    uint64_t released_bytes;     // of those that the tracer has released; it only grows
    uint64_t pid_namespace;      // of the tracer
    struct failure failures[FAILURES];
    _Atomic uint32_t next_slot;
    _Atomic uint32_t slots[SLOTS];
};

_Static_assert(sizeof(struct control) <= CONTROL_BYTES, "the control data are a page");
