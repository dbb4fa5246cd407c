// Wraps MPI_File_* and PMPI_File_* of any MPI: Open MPI's Fortran calls the second kind. It never calls anything
// collective.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thalweg/interpose/files.h"
#include "thalweg/interpose/generic.h"
#include "thalweg/interpose/process.h"
#include "thalweg/interpose/tried_hints.h"

struct mpi_call {
    char const* name;
    uint16_t operation;
    int8_t offset, count, type;
};

enum {
    MPICH_INFO_NULL = 0x1c000000,
    MPICH_CART = 2, // what MPI_Topo_test says of a Cartesian topology
    OPEN_MPI_CART = 1,
    MOST_DIMENSIONS = 16,
    MPI_MAX_INFO_KEY_BYTES = 256,
    HINT_BYTES = 1024,
    LIBRARY_BYTES = 8192,
    MOST_ARGUMENTS = 12
};

EXPORTED word PMPI_File_get_info(PARAMETERS_2);
EXPORTED word PMPI_File_get_position(PARAMETERS_2);
EXPORTED word PMPI_File_get_byte_offset(PARAMETERS_3);

// MPI's handles are integers in MPICH and its relatives, and pointers in Open MPI.
static bool is_no_info(word info, void* caller) {
    void* const open_mpi = real_of_caller("ompi_mpi_info_null", caller, NULL);
    // A program that names the constant has a copy of its own, which all libraries then use.
    if (open_mpi) return info == 0 || info == (word)open_mpi || info == (word)dlsym(RTLD_DEFAULT, "ompi_mpi_info_null");
    return (uint32_t)info == MPICH_INFO_NULL || (uint32_t)info < 4096; // constants of MPI 5's binary interface
}

static void write_hints(enum text_kind kind, uint32_t file, word info, void* caller) {
    if (is_no_info(info, caller)) return;
    int (*const get_count)(word, int*) = real_of_caller("PMPI_Info_get_nkeys", caller, NULL);
    int (*const get_key)(word, int, char*) = real_of_caller("PMPI_Info_get_nthkey", caller, NULL);
    int (*const get_value)(word, char const*, int, char*, int*) = real_of_caller("PMPI_Info_get", caller, NULL);
    int count = 0;
    if (!get_count || !get_key || !get_value || get_count(info, &count) != 0) return;
    for (int i = 0; i < count; ++i) {
        char key[MPI_MAX_INFO_KEY_BYTES] = "", value[HINT_BYTES] = "", text[PATH_BYTES];
        int is_set = 0;
        if (get_key(info, i, key) != 0 || get_value(info, key, HINT_BYTES - 1, value, &is_set) != 0 || !is_set)
            continue;
        snprintf(text, sizeof text, "%.250s=%.700s", key, value);
        write_text(kind, file, 0, text);
    }
}

// ROMIO reads hints from a file, too: a name and a value in each line.
static void write_hints_of_file(uint32_t file) {
    char const* const path = getenv("ROMIO_HINTS");
    char lines[4096];
    if (!path || !*path || !read_for_tracer(path, lines, sizeof lines)) return;
    char* rest = lines;
    for (char* line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char key[MPI_MAX_INFO_KEY_BYTES], value[HINT_BYTES], text[PATH_BYTES];
        if (sscanf(line, "%255s %1023s", key, value) != 2 || *key == '#') continue;
        snprintf(text, sizeof text, "%s=%s", key, value);
        write_text(TEXT_HINT_OF_FILE, file, 0, text);
    }
}

static void write_library(void* caller) {
    static _Atomic uint32_t is_written;
    if (atomic_exchange(&is_written, 1)) return;
    int (*const get)(char*, int*) = real_of_caller("PMPI_Get_library_version", caller, NULL);
    static char text[LIBRARY_BYTES]; // the most that any MPI may write
    int length = 0;
    if (!get || get(text, &length) != 0) return;
    text[strcspn(text, "\n")] = 0;
    write_text(TEXT_LIBRARY, 0, 0, text);
}

// Open MPI loads its parts for files as modules: mca_fcoll_vulcan.so, mca_io_romio321.so.
static bool is_module_for_files(char const* name) {
    char const* const kinds[] = {"mca_io_", "mca_fcoll_", "mca_fs_", "mca_fbtl_"};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0) return true;
    return false;
}

static int add_module(struct dl_phdr_info* object, size_t, void* context) {
    char* const text = context;
    char const* const slash = strrchr(object->dlpi_name, '/');
    size_t const length = strlen(text);
    if (slash && is_module_for_files(slash + 1))
        snprintf(text + length, PATH_BYTES - length, "%s%.*s", text[length - 1] == '=' ? "" : " ",
                 (int)strcspn(slash + 1, "."), slash + 1);
    return 0;
}

// It loads those of OMPIO only when OMPIO has been chosen for a file (io_base_file_select.c of Open MPI).
static void write_modules(uint32_t file) {
    char text[PATH_BYTES] = "modules=";
    size_t const empty = strlen(text);
    dl_iterate_phdr(add_module, text);
    if (strlen(text) > empty) write_text(TEXT_MODULES, file, 0, text);
}

// The extents of a Cartesian topology. All of these functions are local.
static void write_topology(uint32_t file, word communicator, void* caller) {
    int (*const get_kind)(word, int*) = real_of_caller("PMPI_Topo_test", caller, NULL);
    int (*const get_count)(word, int*) = real_of_caller("PMPI_Cartdim_get", caller, NULL);
    int (*const get_extents)(word, int, int*, int*, int*) = real_of_caller("PMPI_Cart_get", caller, NULL);
    int const cartesian = real_of_caller("ompi_mpi_info_null", caller, NULL) ? OPEN_MPI_CART : MPICH_CART;
    int extents[MOST_DIMENSIONS], periods[MOST_DIMENSIONS], places[MOST_DIMENSIONS], kind = -1, count = 0;
    if (!get_kind || !get_count || !get_extents || get_kind(communicator, &kind) != 0 || kind != cartesian) return;
    if (get_count(communicator, &count) != 0 || count < 1 || count > MOST_DIMENSIONS) return;
    if (get_extents(communicator, count, extents, periods, places) != 0) return;
    char text[MOST_DIMENSIONS * 12 + 16] = "topology=";
    for (int i = 0; i < count; ++i) {
        size_t const length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%d", i > 0 ? " " : "", extents[i]);
    }
    write_text(TEXT_TOPOLOGY, file, 0, text);
}

static int64_t bytes_of(struct mpi_call const* what, word const* a, void* caller) {
    if (what->type < 0) return -1;
    bool const is_large = strlen(what->name) > 2 && strcmp(what->name + strlen(what->name) - 2, "_c") == 0;
    int64_t const count = is_large ? (int64_t)a[what->count] : (int32_t)a[what->count];
    int (*const get_size)(word, int*) = real_of_caller("PMPI_Type_size", caller, NULL);
    int size = 0;
    if (!get_size || count <= 0 || get_size(a[what->type], &size) != 0) return count <= 0 ? count : -1;
    return count * size;
}

// Returns the byte of the file at which the data of a collective call begin; -1: it is not known. An offset counts
// elements of a view, which a trace does not have. Both functions are local. Open MPI divides by the size of the view
// in the second one: it is not 0 where there are data.
static int64_t place_of_data(struct mpi_call const* what, word const* a, int64_t size, void* caller) {
    int (*const get_position)(word, int64_t*) =
        real_of_caller("PMPI_File_get_position", caller, (void const*)PMPI_File_get_position);
    int (*const get_place)(word, int64_t, int64_t*) =
        real_of_caller("PMPI_File_get_byte_offset", caller, (void const*)PMPI_File_get_byte_offset);
    int64_t offset = what->offset < 0 ? 0 : (int64_t)a[what->offset], place = -1;
    if (size <= 0 || !get_position || !get_place) return -1;
    if (what->offset < 0 && get_position(a[0], &offset) != 0) return -1;
    return get_place(a[0], offset, &place) == 0 ? place : -1;
}

static void finish_open(struct call* call, word const* a, int64_t result, void* caller) {
    if (result != 0 || call->slot < 0) return;
    word const handle = *(word const*)a[4];
    call->handle = handle;
    call->file = next_file_number();
    call->extra = (uint16_t)a[2];
    if (!name_file(call->file, (char const*)a[1])) call->file = 0;
    remember_handle(handle, call->file);
    write_library(caller);
    write_modules(call->file);
    write_topology(call->file, a[0], caller);
    write_hints_of_file(call->file);
    write_hints(TEXT_HINT_ASKED, call->file, a[3], caller);
    int (*const get_info)(word, word*) = real_of_caller("PMPI_File_get_info", caller, (void const*)PMPI_File_get_info);
    int (*const free_info)(word*) = real_of_caller("PMPI_Info_free", caller, NULL);
    word info = 0;
    if (!get_info || !free_info || get_info(handle, &info) != 0) return;
    write_hints(TEXT_HINT_REPORTED, call->file, info, caller);
    free_info(&info);
}

// Calls the function, perhaps with hints that are tried in the place of the program's own.
static word call_with_hints(unsigned operation, void* function, word const* a, unsigned count, void* caller) {
    unsigned const at = operation == OP_MPI_File_open       ? 3
                        : operation == OP_MPI_File_set_info ? 1
                        : operation == OP_MPI_File_set_view ? 5
                                                            : 0;
    word changed = 0;
    if (at == 0 || is_no_info(a[at], caller) || !put_hints_in(a[at], caller, &changed))
        return call_words(function, a, count);
    word arguments[MOST_ARGUMENTS];
    memcpy(arguments, a, count * sizeof *a);
    arguments[at] = changed;
    word const result = call_words(function, arguments, count);
    take_hints_out(changed, caller);
    return result;
}

static word call_mpi(struct mpi_call const* what, word const* a, unsigned count, void* caller, void const* ours) {
    void* const function = real_of_caller(what->name, caller, ours);
    if (!function) return (word)(int64_t)-1;
    struct thread_state* const thread = &this_thread;
    // Calls that an MPI makes inside its own functions are not recorded.
    if (thread->mpi_depth > 0 || !is_traced()) return call_with_hints(what->operation, function, a, count, caller);
    ++thread->mpi_depth;
    unsigned const operation = what->operation;
    bool const is_file = operation < OP_MPI_Init;
    bool const is_open = operation == OP_MPI_File_open;
    bool const by_pointer = operation == OP_MPI_File_close;
    word const handle = !is_file || is_open || operation == OP_MPI_File_delete ? 0
                        : by_pointer                                           ? *(word const*)a[0]
                                                                               : a[0];
    struct call call;
    bool const is_size = operation == OP_MPI_File_set_size || operation == OP_MPI_File_preallocate;
    int64_t const size = is_size                                  ? (int64_t)a[1]
                         : operation == OP_MPI_File_set_atomicity ? (int32_t)a[1]
                                                                  : bytes_of(what, a, caller);
    bool const is_together = is_file && what->type >= 0 && strstr(what->name, "_all");
    int64_t const offset = is_together        ? place_of_data(what, a, size, caller)
                           : what->offset < 0 ? -1
                                              : (int64_t)a[what->offset];
    begin_call(&call, what->operation, handle, handle ? file_of_handle(handle) : 0, offset, size);
    word const result = call_with_hints(operation, function, a, count, caller);
    int const code = (int32_t)result;
    int const saved = errno;
    if (is_open) finish_open(&call, a, code, caller);
    if (operation == OP_MPI_File_set_info && code == 0) write_hints(TEXT_HINT_ASKED, call.file, a[1], caller);
    if (operation == OP_MPI_File_set_view && code == 0) write_hints(TEXT_HINT_ASKED, call.file, a[5], caller);
    if (is_open && code != 0) write_text(TEXT_PATH, 0, 0, (char const*)a[1]);
    finish_call(&call, code, 0);
    errno = saved;
    if (thread->mpi_depth) --thread->mpi_depth;
    return result;
}

#define DEFINE(prefix, operation_name, arguments, offset_at, count_at, type_at)                                        \
    EXPORTED word prefix##operation_name(PARAMETERS_##arguments) {                                                     \
        static struct mpi_call const what = {#prefix #operation_name, OP_MPI_##operation_name, offset_at, count_at,    \
                                             type_at};                                                                 \
        return call_mpi(&what, WORDS(arguments), arguments, __builtin_return_address(0),                               \
                        (void const*)prefix##operation_name);                                                          \
    }
#define X(operation_name, ...) DEFINE(MPI_, operation_name, __VA_ARGS__) DEFINE(PMPI_, operation_name, __VA_ARGS__)
MPI_OPERATIONS(X)
#undef X
