#include "thalweg/interpose/real.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

void* real_functions[OP_COUNT];

void* find_next(unsigned operation, char const* name) {
    int const saved = errno;
    void* const found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(&real_functions[operation], found, __ATOMIC_RELAXED);
    errno = saved;
    return found;
}

struct cached {
    void const* caller;
    char const* name;
    void* function;
};
enum { CACHED = 4096 };
static struct cached const* _Atomic cache[CACHED];
static struct cached entries[CACHED]; // each is written once
static _Atomic unsigned entries_used;

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
    unsigned const slot = (unsigned)((((uint64_t)caller ^ (uint64_t)name << 7) * 0x9e3779b97f4a7c15u) >> 52);
    struct cached const* const known = atomic_load_explicit(&cache[slot], memory_order_acquire);
    if (likely(known && known->caller == caller && known->name == name)) return known->function;
    int const saved = errno;
    void* const found = find_for(name, caller, ours);
    unsigned const number = atomic_fetch_add(&entries_used, 1);
    if (found && number < CACHED) {
        entries[number] = (struct cached){caller, name, found};
        atomic_store_explicit(&cache[slot], &entries[number], memory_order_release);
    }
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
