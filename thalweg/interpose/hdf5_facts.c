#include "thalweg/interpose/hdf5_facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef int get_one(word, void*);
typedef int get_two(word, void*, void*);

enum { CHUNKED = 2, KNOWN_DATASETS = 16, DESCRIBED = 1024, MOST_DIMENSIONS = 32 };
static char const* const layouts[] = {"compact", "contiguous", "chunked", "virtual"};
static char const* const allocations[] = {"", "early", "late", "incremental"};
static char const* const fill_times[] = {"on allocation", "never", "if it is set"};

// Returns kind, size, byte order and sign: two types must share them for data to be copied unchanged.
static uint64_t signature(word type, void const* library) {
    int (*const get_class)(word) = real_beside("H5Tget_class", library);
    size_t (*const get_size)(word) = real_beside("H5Tget_size", library);
    int (*const get_order)(word) = real_beside("H5Tget_order", library);
    if (!get_class || !get_size || !get_order) return 0;
    int const class = get_class(type);
    // Integers, floats; other classes have members, which may differ, too.
    bool const is_number = class == 0 || class == 1;
    return (uint64_t)get_size(type) << 16 | (uint64_t)(is_number ? get_order(type) & 255 : 0) << 8 |
           (uint64_t)(class & 255);
}

bool is_converted(word dataset, word memory_type, void const* library) {
    static __thread struct {
        word dataset;
        void const* library;
        uint64_t signature;
        uint32_t changes;
    } known[KNOWN_DATASETS] __attribute__((tls_model("initial-exec")));
    unsigned const slot = (unsigned)(dataset % KNOWN_DATASETS);
    uint32_t const changes = atomic_load_explicit(&hdf5_changes, memory_order_relaxed);
    bool const is_known =
        known[slot].dataset == dataset && known[slot].library == library && known[slot].changes == changes;
    if (!is_known) {
        word (*const get_type)(word) = real_beside("H5Dget_type", library);
        int (*const close_type)(word) = real_beside("H5Tclose", library);
        if (!get_type || !close_type) return false;
        word const type = get_type(dataset);
        if ((int64_t)type < 0) return false;
        known[slot].signature = signature(type, library);
        known[slot].dataset = dataset;
        known[slot].library = library;
        known[slot].changes = changes;
        close_type(type);
    }
    return known[slot].signature != 0 && signature(memory_type, library) != known[slot].signature;
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
static word default_list(word properties, void const* library) {
    word (*const get_class)(word) = real_beside("H5Pget_class", library);
    word (*const create)(word) = real_beside("H5Pcreate", library);
    int (*const close_class)(word) = real_beside("H5Pclose_class", library);
    word const class = get_class && create && close_class ? get_class(properties) : (word)-1;
    if ((int64_t) class < 0) return (word)-1;
    word const list = create(class);
    close_class(class);
    return list;
}

static void describe_alignment(uint32_t file, word properties, void const* library) {
    uint64_t first = 0, second = 0;
    get_two* const get = real_beside("H5Pget_alignment", library);
    if (!get || get(properties, &first, &second) < 0 || second <= 1) return;
    char text[128];
    snprintf(text, sizeof text, "alignment=%llu from %llu", (unsigned long long)second, (unsigned long long)first);
    write_text(TEXT_PROPERTY, file, 0, text);
}

static uint64_t cache_bytes(word properties, void const* library) {
    int (*const get)(word, int*, size_t*, size_t*, double*) = real_beside("H5Pget_cache", library);
    size_t slots = 0, bytes = 0;
    int elements = 0;
    double preemption = 0;
    return get && get(properties, &elements, &slots, &bytes, &preemption) >= 0 ? bytes : 0;
}

static uint64_t one_value(word properties, char const* function, uint64_t mask, void const* library) {
    get_one* const get = real_beside(function, library);
    uint64_t value = 0;
    return get && get(properties, &value) >= 0 ? value & mask : 0;
}

static void write_property(uint32_t file, char const* name, uint64_t value, uint64_t by_default) {
    if (value == by_default) return;
    char text[128];
    snprintf(text, sizeof text, "%s=%llu", name, (unsigned long long)value);
    write_text(TEXT_PROPERTY, file, 0, text);
}

// A metadata cache has many numbers, of which two say how large it may be. The structure begins with a version, and
// these are its place of a flag and of two sizes, which no version has changed (H5AC_cache_config_t).
static void describe_metadata_cache(uint32_t file, word properties, word defaults, void const* library) {
    struct {
        int version;
        unsigned char other[1100 + 4096];
    } asked = {1}, standard = {1};
    int (*const get)(word, void*) = real_beside("H5Pget_mdc_config", library);
    if (!get || get(properties, &asked) < 0 || get(defaults, &standard) < 0) return;
    if (memcmp(asked.other, standard.other, sizeof asked.other) != 0)
        write_text(TEXT_PROPERTY, file, 0, "metadata_cache=changed");
}

static void describe_pairs(uint32_t file, word properties, word defaults, void const* library) {
    // Each has two numbers of 4 bytes.
    static char const* const functions[][2] = {{"H5Pget_libver_bounds", "libver_bounds"}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        int low = 0, high = 0, usual_low = 0, usual_high = 0;
        get_two* const get = real_beside(functions[i][0], library);
        if (!get || get(properties, &low, &high) < 0 || get(defaults, &usual_low, &usual_high) < 0) continue;
        if (low <= usual_low && high >= usual_high) continue; // h5py asks for the widest range by default
        char text[128];
        snprintf(text, sizeof text, "%s=%d to %d", functions[i][1], low, high);
        write_text(TEXT_PROPERTY, file, 0, text);
    }
    bool uses = false, usually_uses = false, ignores = false, usually_ignores = false;
    get_two* const get_locking = real_beside("H5Pget_file_locking", library);
    if (get_locking && get_locking(properties, &uses, &ignores) >= 0 &&
        get_locking(defaults, &usually_uses, &usually_ignores) >= 0 &&
        (uses != usually_uses || ignores != usually_ignores))
        write_text(TEXT_PROPERTY, file, 0,
                   uses ? ignores ? "file_locking=best effort" : "file_locking=true" : "file_locking=false");
    size_t page = 0;
    unsigned metadata = 0, raw = 0;
    int (*const get_pages)(word, size_t*, unsigned*, unsigned*) = real_beside("H5Pget_page_buffer_size", library);
    if (get_pages && get_pages(properties, &page, &metadata, &raw) >= 0) write_property(file, "page_buffer", page, 0);
}

// Describes a file by the access list that it was opened with.
static void describe_file(uint32_t file, word properties, void const* library) {
    int (*const close_list)(word) = real_beside("H5Pclose", library);
    word const defaults = properties && close_list ? default_list(properties, library) : (word)-1;
    if ((int64_t)defaults < 0) return;
    describe_alignment(file, properties, library);
    write_property(file, "chunk_cache", cache_bytes(properties, library), cache_bytes(defaults, library));
    describe_pairs(file, properties, defaults, library);
    describe_metadata_cache(file, properties, defaults, library);
    static struct {
        char const *function, *name;
        uint64_t mask; // some of them have one byte
    } const known[] = {{"H5Pget_sieve_buf_size", "sieve_buf_size", UINT64_MAX},
                       {"H5Pget_meta_block_size", "meta_block_size", UINT64_MAX},
                       {"H5Pget_small_data_block_size", "small_data_block_size", UINT64_MAX},
                       {"H5Pget_coll_metadata_write", "coll_metadata_write", 255},
                       {"H5Pget_all_coll_metadata_ops", "all_coll_metadata_ops", 255}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        uint64_t const value = one_value(properties, known[i].function, known[i].mask, library);
        write_property(file, known[i].name, value, one_value(defaults, known[i].function, known[i].mask, library));
    }
    close_list(defaults);
}

static uint64_t bytes_of_type(word dataset, void const* library) {
    word (*const get_type)(word) = real_beside("H5Dget_type", library);
    size_t (*const get_size)(word) = real_beside("H5Tget_size", library);
    int (*const close_type)(word) = real_beside("H5Tclose", library);
    word const type = get_type && get_size && close_type ? get_type(dataset) : (word)-1;
    if ((int64_t)type < 0) return 0;
    uint64_t const bytes = get_size(type);
    close_type(type);
    return bytes;
}

static void add_chunks(struct text* text, word list, uint64_t element, void const* library) {
    int (*const get_chunk)(word, int, uint64_t*) = real_beside("H5Pget_chunk", library);
    int (*const get_filters)(word) = real_beside("H5Pget_nfilters", library);
    uint64_t sizes[MOST_DIMENSIONS];
    int const dimensions = get_chunk ? get_chunk(list, MOST_DIMENSIONS, sizes) : 0;
    uint64_t bytes = element;
    for (int i = 0; i < dimensions && i < MOST_DIMENSIONS; ++i) bytes *= sizes[i];
    if (dimensions > 0) add(text, " chunk=%llu", (unsigned long long)bytes);
    int const filters = get_filters ? get_filters(list) : 0;
    if (filters > 0) add(text, " filters=%d", filters);
}

// Describes a dataset, once for each name.
static void describe_dataset(uint32_t file, char const* name, word dataset, void const* library) {
    static _Atomic uint64_t described[DESCRIBED];
    uint64_t hash = 0xcbf29ce484222325u ^ file;
    for (char const* letter = name; *letter; ++letter) hash = (hash ^ (uint8_t)*letter) * 0x100000001b3u;
    if (atomic_exchange(&described[hash % DESCRIBED], hash | 1) == (hash | 1)) return;
    word (*const get_list)(word) = real_beside("H5Dget_create_plist", library);
    int (*const close_list)(word) = real_beside("H5Pclose", library);
    int (*const get_layout)(word) = real_beside("H5Pget_layout", library);
    word const list = get_list && close_list && get_layout ? get_list(dataset) : (word)-1;
    if ((int64_t)list < 0) return;
    char value[PATH_BYTES];
    struct text text = {value, sizeof value};
    add(&text, "%.600s=", *name ? name : ".");
    int const layout = get_layout(list);
    uint64_t const element = bytes_of_type(dataset, library);
    add(&text, "layout=%s element=%llu", layout >= 0 && layout < 4 ? layouts[layout] : "", (unsigned long long)element);
    if (layout == CHUNKED) add_chunks(&text, list, element, library);
    get_one* const get_allocation = real_beside("H5Pget_alloc_time", library);
    get_one* const get_fill_time = real_beside("H5Pget_fill_time", library);
    get_one* const get_fill = real_beside("H5Pfill_value_defined", library);
    int allocation = 0, fill_time = 0, fill = 0;
    if (get_allocation && get_allocation(list, &allocation) >= 0 && allocation > 0 && allocation < 4)
        add(&text, " allocation=%s", allocations[allocation]);
    if (get_fill_time && get_fill_time(list, &fill_time) >= 0 && fill_time >= 0 && fill_time < 3)
        add(&text, " fill=%s", fill_times[fill_time]);
    if (get_fill && get_fill(list, &fill) >= 0 && fill == 2) add(&text, " fill_value=set");
    close_list(list);
    write_text(TEXT_DATASET, file, 0, value);
}

// Notes the chunk cache that was requested for one dataset.
static void describe_access(uint32_t file, char const* name, word properties, void const* library) {
    int (*const get)(word, size_t*, size_t*, double*) = real_beside("H5Pget_chunk_cache", library);
    int (*const close_list)(word) = real_beside("H5Pclose", library);
    word const defaults = properties && get && close_list ? default_list(properties, library) : (word)-1;
    if ((int64_t)defaults < 0) return;
    size_t slots = 0, bytes = 0, usual_slots = 0, usual_bytes = 0;
    double preemption = 0;
    bool const is_known = get(properties, &slots, &bytes, &preemption) >= 0 &&
                          get(defaults, &usual_slots, &usual_bytes, &preemption) >= 0;
    close_list(defaults);
    if (!is_known || bytes == usual_bytes) return;
    char text[PATH_BYTES];
    snprintf(text, sizeof text, "chunk_cache of %.600s=%zu", name, bytes);
    write_text(TEXT_PROPERTY, file, 0, text);
}

void describe_opened(unsigned operation, uint32_t file, word const* a, word opened, void const* library) {
    if (!file) return;
    int const saved = errno;
    switch (operation) {
    case OP_H5Fcreate:
        describe_file(file, a[3], library);
        break;
    case OP_H5Fopen:
        describe_file(file, a[2], library);
        break;
    case OP_H5Dcreate2:
    case OP_H5Dopen2:
        if (a[1]) describe_dataset(file, (char const*)a[1], opened, library);
        if (a[1]) describe_access(file, (char const*)a[1], a[operation == OP_H5Dopen2 ? 2 : 6], library);
        break;
    case OP_H5Oopen: {
        int (*const type_of)(word) = real_beside("H5Iget_type", library);
        enum { DATASET = 5 };
        if (type_of && type_of(opened) == DATASET && a[1]) describe_dataset(file, (char const*)a[1], opened, library);
        break;
    }
    default:
        break;
    }
    errno = saved;
}
