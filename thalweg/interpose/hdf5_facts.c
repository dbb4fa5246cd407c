#include "thalweg/interpose/hdf5_facts.h"

#include <stdarg.h>
#include <stdio.h>

typedef int get_one(word, void*);
typedef int get_two(word, void*, void*);

enum { CHUNKED = 2, KNOWN_DATASETS = 64, DESCRIBED = 1024, MOST_DIMENSIONS = 32 };
static char const* const layouts[] = {"compact", "contiguous", "chunked", "virtual"};
static char const* const allocations[] = {"", "early", "late", "incremental"};
static char const* const fill_times[] = {"on allocation", "never", "if it is set"};

// Returns kind, size, byte order and sign: two types must share them for data to be copied unchanged.
static uint64_t signature(word type, void* caller) {
    int (*const get_class)(word) = real_of_caller("H5Tget_class", caller, NULL);
    size_t (*const get_size)(word) = real_of_caller("H5Tget_size", caller, NULL);
    int (*const get_order)(word) = real_of_caller("H5Tget_order", caller, NULL);
    if (!get_class || !get_size || !get_order) return 0;
    int const class = get_class(type);
    // Integers, floats; other classes have members, which may differ, too.
    bool const is_number = class == 0 || class == 1;
    return (uint64_t)get_size(type) << 16 | (uint64_t)(is_number ? get_order(type) & 255 : 0) << 8 |
           (uint64_t)(class & 255);
}

bool is_converted(word dataset, word memory_type, void* caller) {
    static __thread struct {
        word dataset;
        uint64_t signature;
    } known[KNOWN_DATASETS] __attribute__((tls_model("initial-exec")));
    unsigned const slot = (unsigned)(dataset % KNOWN_DATASETS);
    if (known[slot].dataset != dataset) {
        word (*const get_type)(word) = real_of_caller("H5Dget_type", caller, NULL);
        int (*const close_type)(word) = real_of_caller("H5Tclose", caller, NULL);
        if (!get_type || !close_type) return false;
        word const type = get_type(dataset);
        if ((int64_t)type < 0) return false;
        known[slot].signature = signature(type, caller);
        known[slot].dataset = dataset;
        close_type(type);
    }
    return known[slot].signature != 0 && signature(memory_type, caller) != known[slot].signature;
}

struct text {
    char* at;
    size_t room;
};

static void add(struct text* text, char const* format, ...) {
    va_list values;
    va_start(values, format);
    int const wrote = vsnprintf(text->at, text->room, format, values);
    va_end(values);
    size_t const moved = wrote < 0 ? 0 : (size_t)wrote < text->room ? (size_t)wrote : text->room - 1;
    text->at += moved;
    text->room -= moved;
}

// Returns a list of the same class with the defaults of this version of the library. The caller closes it.
static word default_list(word properties, void* caller) {
    word (*const get_class)(word) = real_of_caller("H5Pget_class", caller, NULL);
    word (*const create)(word) = real_of_caller("H5Pcreate", caller, NULL);
    int (*const close_class)(word) = real_of_caller("H5Pclose_class", caller, NULL);
    word const class = get_class && create && close_class ? get_class(properties) : (word)-1;
    if ((int64_t) class < 0) return (word)-1;
    word const list = create(class);
    close_class(class);
    return list;
}

static void describe_alignment(uint32_t file, word properties, void* caller) {
    uint64_t first = 0, second = 0;
    get_two* const get = real_of_caller("H5Pget_alignment", caller, NULL);
    if (!get || get(properties, &first, &second) < 0 || second <= 1) return;
    char text[128];
    snprintf(text, sizeof text, "alignment=%llu from %llu", (unsigned long long)second, (unsigned long long)first);
    write_text(TEXT_PROPERTY, file, 0, text);
}

static uint64_t cache_bytes(word properties, void* caller) {
    int (*const get)(word, int*, size_t*, size_t*, double*) = real_of_caller("H5Pget_cache", caller, NULL);
    size_t slots = 0, bytes = 0;
    int elements = 0;
    double preemption = 0;
    return get && get(properties, &elements, &slots, &bytes, &preemption) >= 0 ? bytes : 0;
}

static uint64_t one_value(word properties, char const* function, uint64_t mask, void* caller) {
    get_one* const get = real_of_caller(function, caller, NULL);
    uint64_t value = 0;
    return get && get(properties, &value) >= 0 ? value & mask : 0;
}

static void write_property(uint32_t file, char const* name, uint64_t value, uint64_t by_default) {
    if (value == by_default) return;
    char text[128];
    snprintf(text, sizeof text, "%s=%llu", name, (unsigned long long)value);
    write_text(TEXT_PROPERTY, file, 0, text);
}

// Describes a file by the access list that it was opened with.
static void describe_file(uint32_t file, word properties, void* caller) {
    int (*const close_list)(word) = real_of_caller("H5Pclose", caller, NULL);
    word const defaults = properties && close_list ? default_list(properties, caller) : (word)-1;
    if ((int64_t)defaults < 0) return;
    describe_alignment(file, properties, caller);
    write_property(file, "chunk_cache", cache_bytes(properties, caller), cache_bytes(defaults, caller));
    static struct {
        char const *function, *name;
        uint64_t mask; // some of them have one byte
    } const known[] = {{"H5Pget_sieve_buf_size", "sieve_buf_size", UINT64_MAX},
                       {"H5Pget_meta_block_size", "meta_block_size", UINT64_MAX},
                       {"H5Pget_small_data_block_size", "small_data_block_size", UINT64_MAX},
                       {"H5Pget_coll_metadata_write", "coll_metadata_write", 255},
                       {"H5Pget_all_coll_metadata_ops", "all_coll_metadata_ops", 255}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        uint64_t const value = one_value(properties, known[i].function, known[i].mask, caller);
        write_property(file, known[i].name, value, one_value(defaults, known[i].function, known[i].mask, caller));
    }
    close_list(defaults);
}

static uint64_t bytes_of_type(word dataset, void* caller) {
    word (*const get_type)(word) = real_of_caller("H5Dget_type", caller, NULL);
    size_t (*const get_size)(word) = real_of_caller("H5Tget_size", caller, NULL);
    int (*const close_type)(word) = real_of_caller("H5Tclose", caller, NULL);
    word const type = get_type && get_size && close_type ? get_type(dataset) : (word)-1;
    if ((int64_t)type < 0) return 0;
    uint64_t const bytes = get_size(type);
    close_type(type);
    return bytes;
}

static void add_chunks(struct text* text, word list, uint64_t element, void* caller) {
    int (*const get_chunk)(word, int, uint64_t*) = real_of_caller("H5Pget_chunk", caller, NULL);
    int (*const get_filters)(word) = real_of_caller("H5Pget_nfilters", caller, NULL);
    uint64_t sizes[MOST_DIMENSIONS];
    int const dimensions = get_chunk ? get_chunk(list, MOST_DIMENSIONS, sizes) : 0;
    uint64_t bytes = element;
    for (int i = 0; i < dimensions && i < MOST_DIMENSIONS; ++i) bytes *= sizes[i];
    if (dimensions > 0) add(text, " chunk=%llu", (unsigned long long)bytes);
    int const filters = get_filters ? get_filters(list) : 0;
    if (filters > 0) add(text, " filters=%d", filters);
}

// Describes a dataset, once for each name.
static void describe_dataset(uint32_t file, char const* name, word dataset, void* caller) {
    static _Atomic uint64_t described[DESCRIBED];
    uint64_t hash = 0xcbf29ce484222325u ^ file;
    for (char const* letter = name; *letter; ++letter) hash = (hash ^ (uint8_t)*letter) * 0x100000001b3u;
    if (atomic_exchange(&described[hash % DESCRIBED], hash | 1) == (hash | 1)) return;
    word (*const get_list)(word) = real_of_caller("H5Dget_create_plist", caller, NULL);
    int (*const close_list)(word) = real_of_caller("H5Pclose", caller, NULL);
    int (*const get_layout)(word) = real_of_caller("H5Pget_layout", caller, NULL);
    word const list = get_list && close_list && get_layout ? get_list(dataset) : (word)-1;
    if ((int64_t)list < 0) return;
    char value[PATH_BYTES];
    struct text text = {value, sizeof value};
    add(&text, "%.600s=", *name ? name : ".");
    int const layout = get_layout(list);
    uint64_t const element = bytes_of_type(dataset, caller);
    add(&text, "layout=%s element=%llu", layout >= 0 && layout < 4 ? layouts[layout] : "", (unsigned long long)element);
    if (layout == CHUNKED) add_chunks(&text, list, element, caller);
    get_one* const get_allocation = real_of_caller("H5Pget_alloc_time", caller, NULL);
    get_one* const get_fill_time = real_of_caller("H5Pget_fill_time", caller, NULL);
    get_one* const get_fill = real_of_caller("H5Pfill_value_defined", caller, NULL);
    int allocation = 0, fill_time = 0, fill = 0;
    if (get_allocation && get_allocation(list, &allocation) >= 0 && allocation > 0 && allocation < 4)
        add(&text, " allocation=%s", allocations[allocation]);
    if (get_fill_time && get_fill_time(list, &fill_time) >= 0 && fill_time >= 0 && fill_time < 3)
        add(&text, " fill=%s", fill_times[fill_time]);
    if (get_fill && get_fill(list, &fill) >= 0 && fill == 2) add(&text, " fill_value=set");
    close_list(list);
    write_text(TEXT_DATASET, file, 0, value);
}

void describe_opened(unsigned operation, uint32_t file, word const* a, word opened, void* caller) {
    if (!file) return;
    int const saved = errno;
    switch (operation) {
    case OP_H5Fcreate:
        describe_file(file, a[3], caller);
        break;
    case OP_H5Fopen:
        describe_file(file, a[2], caller);
        break;
    case OP_H5Dcreate2:
    case OP_H5Dopen2:
        if (a[1]) describe_dataset(file, (char const*)a[1], opened, caller);
        break;
    case OP_H5Oopen: {
        int (*const type_of)(word) = real_of_caller("H5Iget_type", caller, NULL);
        enum { DATASET = 5 };
        if (type_of && type_of(opened) == DATASET && a[1]) describe_dataset(file, (char const*)a[1], opened, caller);
        break;
    }
    default:
        break;
    }
    errno = saved;
}
