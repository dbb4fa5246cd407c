#include "thalweg/interpose/real.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

void* real_functions[OP_COUNT];
bool is_of_libc[OP_COUNT];
static char const no_thread = 0;
char const volatile* is_alone = &no_thread;

static struct range { uint64_t begin, end; } libc; // where its code and data lie

static int read_range(struct dl_phdr_info* object, size_t size, void* inside) {
    (void)size;
    struct range found = {UINT64_MAX, 0};
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        ElfW(Phdr) const* const part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD) continue;
        uint64_t const begin = object->dlpi_addr + part->p_vaddr;
        if (begin < found.begin) found.begin = begin;
        if (begin + part->p_memsz > found.end) found.end = begin + part->p_memsz;
    }
    if ((uint64_t)inside < found.begin || (uint64_t)inside >= found.end) return 0;
    libc = found;
    return 1;
}

void find_usual(void) {
    void* const only_in_libc = dlsym(RTLD_NEXT, "gnu_get_libc_version");
    if (!only_in_libc) return;
    dl_iterate_phdr(read_range, only_in_libc);
    char const* const found = dlsym(RTLD_DEFAULT, "__libc_single_threaded");
    if (found) is_alone = found;
#define FIND(name) find_next(OP_##name, #name);
    FIND(open) FIND(open64) FIND(openat) FIND(close) FIND(read) FIND(write) FIND(lseek) FIND(lseek64) FIND(dup2)
#undef FIND
}

void expect_cancellation(void) { is_alone = &no_thread; }

void* find_next(unsigned operation, char const* name) {
    int const saved = errno;
    void* const found = dlsym(RTLD_NEXT, name);
    is_of_libc[operation] = (uint64_t)found >= libc.begin && (uint64_t)found < libc.end;
    __atomic_store_n(&real_functions[operation], found, __ATOMIC_RELAXED);
    errno = saved;
    return found;
}

// A look-up that was made once: of a name for a caller, or beside another function. One that found nothing is kept,
// too.
struct known {
    _Atomic(void const*) at;
    _Atomic(char const*) name;
    _Atomic(void*) function;
    _Atomic uint64_t loads; // how many objects had been loaded before it
    _Atomic bool is_ready;
};
enum { KNOWN = 1 << 14, PROBES = 64 };
static struct known known[KNOWN]; // pages that are never touched cost nothing

// Returns the place of a look-up, perhaps a new one, which is not ready. NULL: there is no place.
static struct known* place_of(void const* at, char const* name) {
    unsigned const first = (unsigned)((((uint64_t)at ^ (uint64_t)name << 7) * 0x9e3779b97f4a7c15u) >> 50);
    for (unsigned i = first; i < first + PROBES; ++i) {
        struct known* const each = &known[i % KNOWN];
        void const* found = atomic_load_explicit(&each->at, memory_order_acquire);
        if (!found && atomic_compare_exchange_strong(&each->at, &found, at)) {
            atomic_store_explicit(&each->name, name, memory_order_release);
            return each;
        }
        if (found == at && atomic_load_explicit(&each->name, memory_order_acquire) == name) return each;
    }
    return NULL;
}

static void* remember(struct known* place, void* function, uint64_t loads) {
    if (!place) return function;
    atomic_store_explicit(&place->function, function, memory_order_relaxed);
    atomic_store_explicit(&place->loads, loads, memory_order_relaxed);
    atomic_store_explicit(&place->is_ready, true, memory_order_release);
    return function;
}

static int read_loads(struct dl_phdr_info* object, size_t size, void* loads) {
    (void)size;
    *(uint64_t*)loads = object->dlpi_adds;
    return 1;
}

// Returns how many objects have been loaded since the program began.
static uint64_t loads_so_far(void) {
    uint64_t loads = 0;
    dl_iterate_phdr(read_loads, &loads);
    return loads;
}

static void* find_in(char const* path, char const* name, void const* ours) {
    void* const object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!object) return NULL;
    void* const found = dlsym(object, name);
    dlclose(object);
    return found == ours ? NULL : found; // the program's own scope contains this library
}

struct search {
    char const* name;
    void const* ours;
    void* found;
};

static int search_object(struct dl_phdr_info* object, size_t size, void* search_pointer) {
    (void)size;
    struct search* const search = search_pointer;
    if (object->dlpi_name && *object->dlpi_name) search->found = find_in(object->dlpi_name, search->name, search->ours);
    return search->found != NULL;
}

static void* find_for(char const* name, void* caller, void const* ours) {
    Dl_info where;
    if (dladdr(caller, &where) && where.dli_fname) {
        void* const found = find_in(where.dli_fname, name, ours);
        if (found) return found;
    }
    void* const next = dlsym(RTLD_NEXT, name);
    if (next) return next;
    struct search search = {name, ours, NULL};
    dl_iterate_phdr(search_object, &search);
    return search.found;
}

void* real_of_caller(char const* name, void* caller, void const* ours) {
    struct known* const place = place_of(caller, name);
    if (likely(place && atomic_load_explicit(&place->is_ready, memory_order_acquire))) {
        void* const function = atomic_load_explicit(&place->function, memory_order_relaxed);
        // What was not there may have been loaded since.
        if (likely(function != NULL) || atomic_load(&place->loads) == loads_so_far()) return function;
    }
    int const saved = errno;
    uint64_t const loads = loads_so_far();
    void* const found = remember(place, find_for(name, caller, ours), loads);
    errno = saved;
    return found;
}

static void* find_beside(char const* name, void const* function) {
    Dl_info library, owner;
    if (!dladdr(function, &library) || !library.dli_fname) return NULL;
    void* found = find_in(library.dli_fname, name, NULL);
    if (!found) found = dlsym(RTLD_NEXT, name);
    return found && dladdr(found, &owner) && owner.dli_fbase == library.dli_fbase ? found : NULL;
}

void* real_beside(char const* name, void const* function) {
    struct known* const place = place_of(function, name);
    if (likely(place && atomic_load_explicit(&place->is_ready, memory_order_acquire)))
        return atomic_load_explicit(&place->function, memory_order_relaxed);
    int const saved = errno;
    void* const found = remember(place, find_beside(name, function), 0);
    errno = saved;
    return found;
}

word call_words(void* function, word const* a, unsigned count) {
    // Words that a function does not take do no harm in either calling convention, so these few forms are enough.
    typedef word six(word, word, word, word, word, word);
    typedef word twelve(word, word, word, word, word, word, word, word, word, word, word, word);
    if (count <= 6) return ((six*)function)(a[0], a[1], a[2], a[3], a[4], a[5]);
    return ((twelve*)function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
}
