"""A preloaded library in C that sets one property of HDF5 in copies of a program's lists: another way to what `thalweg
tune --try` does, which judges it. JUDGED_PROPERTY names the property, and JUDGED_VALUE is a number."""

SOURCE = r"""
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int64_t hid;
static char library[4096];

static int note_library(struct dl_phdr_info* info, size_t size, void* unused) {
    char const* name = strrchr(info->dlpi_name, '/');
    if (name && strncmp(name, "/libhdf5", 8) == 0 && !strstr(name, "_hl")) strcpy(library, info->dlpi_name);
    return (int)(size - size) + (unused != NULL);
}

static void* real(char const* name) {
    if (!*library) dl_iterate_phdr(note_library, NULL);
    void* const found = dlsym(dlopen(library, RTLD_LAZY | RTLD_NOLOAD), name);
    if (!found) {
        fprintf(stderr, "HDF5 has no %s\n", name);
        _exit(3);
    }
    return found;
}

static void must(int status) {
    if (status < 0) _exit(3);
}

static int is(char const* name) {
    char const* wanted = getenv("JUDGED_PROPERTY");
    return wanted && strcmp(wanted, name) == 0;
}

static hid copy(hid list, char const* class_name) {
    hid const* const own = dlsym(RTLD_DEFAULT, class_name); // a program that is linked with HDF5 has it itself
    if (list == 0) return ((hid(*)(hid))real("H5Pcreate"))(*(own ? own : (hid*)real(class_name)));
    return ((hid(*)(hid))real("H5Pcopy"))(list);
}

static void file_list(hid list) {
    long long const value = atoll(getenv("JUDGED_VALUE"));
    if (is("sieve_buf_size")) must(((int (*)(hid, size_t))real("H5Pset_sieve_buf_size"))(list, value));
    if (is("meta_block_size")) must(((int (*)(hid, uint64_t))real("H5Pset_meta_block_size"))(list, value));
    if (is("alignment")) must(((int (*)(hid, uint64_t, uint64_t))real("H5Pset_alignment"))(list, value, value));
    if (is("page_buffer_size"))
        must(((int (*)(hid, size_t, unsigned, unsigned))real("H5Pset_page_buffer_size"))(list, value, 0, 0));
    if (is("metadata_reads")) must(((int (*)(hid, _Bool))real("H5Pset_all_coll_metadata_ops"))(list, value));
    if (is("metadata_writes")) must(((int (*)(hid, _Bool))real("H5Pset_coll_metadata_write"))(list, value));
    if (is("libver")) {
        int low = 0, high = 0;
        must(((int (*)(hid, int*, int*))real("H5Pget_libver_bounds"))(list, &low, &high));
        must(((int (*)(hid, int, int))real("H5Pset_libver_bounds"))(list, value < 0 ? high : (int)value, high));
    }
    if (is("file_chunk_cache")) {
        int elements = 0;
        size_t slots = 0, bytes = 0;
        double preemption = 0;
        must(((int (*)(hid, int*, size_t*, size_t*, double*))real("H5Pget_cache"))(list, &elements, &slots, &bytes,
                                                                                   &preemption));
        must(((int (*)(hid, int, size_t, size_t, double))real("H5Pset_cache"))(list, elements, slots, value,
                                                                               preemption));
    }
}

static void creation_list(hid list) {
    if (!is("file_space_page_size")) return;
    must(((int (*)(hid, int, _Bool, uint64_t))real("H5Pset_file_space_strategy"))(list, 1, 0, 1));
    must(((int (*)(hid, uint64_t))real("H5Pset_file_space_page_size"))(list, atoll(getenv("JUDGED_VALUE"))));
}

static void dataset_creation_list(hid list) {
    if (is("fill_time")) must(((int (*)(hid, int))real("H5Pset_fill_time"))(list, atoi(getenv("JUDGED_VALUE"))));
    if (is("alloc_time")) must(((int (*)(hid, int))real("H5Pset_alloc_time"))(list, atoi(getenv("JUDGED_VALUE"))));
}

static void dataset_list(hid list) {
    if (!is("chunk_cache")) return;
    size_t slots = 0, bytes = 0;
    double preemption = 0;
    must(((int (*)(hid, size_t*, size_t*, double*))real("H5Pget_chunk_cache"))(list, &slots, &bytes, &preemption));
    must(((int (*)(hid, size_t, size_t, double))real("H5Pset_chunk_cache"))(list, slots, atoll(getenv("JUDGED_VALUE")),
                                                                            preemption));
}

static hid done(hid result, hid one, hid other) {
    int (*const close_list)(hid) = real("H5Pclose");
    if (one) close_list(one);
    if (other) close_list(other);
    return result;
}

hid H5Fcreate(char const* name, unsigned flags, hid creation, hid access) {
    must(((int (*)(void))real("H5open"))());
    hid const own = copy(creation, "H5P_CLS_FILE_CREATE_ID_g"), ways = copy(access, "H5P_CLS_FILE_ACCESS_ID_g");
    creation_list(own);
    file_list(ways);
    return done(((hid(*)(char const*, unsigned, hid, hid))real("H5Fcreate"))(name, flags, own, ways), own, ways);
}

hid H5Fopen(char const* name, unsigned flags, hid access) {
    must(((int (*)(void))real("H5open"))());
    hid const ways = copy(access, "H5P_CLS_FILE_ACCESS_ID_g");
    file_list(ways);
    return done(((hid(*)(char const*, unsigned, hid))real("H5Fopen"))(name, flags, ways), ways, 0);
}

hid H5Dcreate2(hid place, char const* name, hid type, hid space, hid links, hid creation, hid access) {
    hid const own = copy(creation, "H5P_CLS_DATASET_CREATE_ID_g"), ways = copy(access, "H5P_CLS_DATASET_ACCESS_ID_g");
    dataset_creation_list(own);
    dataset_list(ways);
    hid (*const create)(hid, char const*, hid, hid, hid, hid, hid) = real("H5Dcreate2");
    return done(create(place, name, type, space, links, own, ways), own, ways);
}

hid H5Dopen2(hid place, char const* name, hid access) {
    hid const ways = copy(access, "H5P_CLS_DATASET_ACCESS_ID_g");
    dataset_list(ways);
    return done(((hid(*)(hid, char const*, hid))real("H5Dopen2"))(place, name, ways), ways, 0);
}
"""
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20}
WORDS = {
    "metadata_reads": {"independent": 0, "collective": 1},
    "metadata_writes": {"independent": 0, "collective": 1},
    "libver": {"earliest": 0, "v18": 1, "v110": 2, "latest": -1},  # H5F_libver_t; -1: the list's upper bound
    "fill_time": {"alloc": 0, "never": 1, "ifset": 2},  # H5D_fill_time_t
    "alloc_time": {"early": 1, "late": 2, "incr": 3},  # H5D_alloc_time_t
}


def bytes_of(text: str) -> str:
    """Returns a size such as 4KiB in bytes; what is no size stays as it is."""
    return str(int(text[:-3]) * UNITS[text[-3:]]) if text[-3:] in UNITS else text


def variables(name: str, value: str) -> dict[str, str]:
    """Returns the variables by which the library sets this property."""
    number = WORDS[name][value] if name in WORDS else bytes_of(value)
    return {"JUDGED_PROPERTY": name, "JUDGED_VALUE": str(number)}
