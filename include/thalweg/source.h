/* A source of rows in C, in a shared library, for `thalweg record --source ./libmine.so`. This file is all that the
 * library needs: it links nothing of Thalweg, and any compiler of C99 or C++ can build it. docs/plug-ins.md describes
 * the calls, and examples/source/pulser.c is an example.
 *
 *     cc -std=c99 -shared -fPIC -I PREFIX/include -o libmine.so mine.c
 *
 * One process opens one device, once. Every struct begins with its version and its size in bytes, as its writer knows
 * them: later versions of this file add members at the ends of structs, and change nothing else. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THALWEG_SOURCE_VERSION 1u

/* What calls return. Before a call returns a number below 0, it says why through `fail` of the host. */
enum {
    THALWEG_OK = 0,
    THALWEG_NOTHING = 0,   /* next: no row came within the timeout */
    THALWEG_ROWS = 1,      /* next: the batch holds rows */
    THALWEG_ENDED = -1,    /* next: no more rows will come in this lane */
    THALWEG_OVERFLOW = -2, /* next: the device stopped because its memory was full, and its last rows are handed out */
    THALWEG_LOST = -3,     /* the device does not answer any more: a new process may open it again */
    THALWEG_REFUSED = -4   /* it would not help to open it again: a wrong setting, or a licence that is missing */
};

#define THALWEG_UNKNOWN_TIME INT64_MIN
#define THALWEG_UNKNOWN_COUNT UINT64_MAX

/* The kinds of settings. */
enum {
    THALWEG_TEXT = 0,
    THALWEG_INTEGER = 1,
    THALWEG_REAL = 2,
    THALWEG_FLAG = 3, /* an integer, 0 or 1 */
    THALWEG_JSON = 4  /* any value, also a list or a table, as the text of its JSON */
};

/* A setting that the source has. */
struct thalweg_setting {
    uint32_t version, size;
    char const* name;     /* an identifier, for example "sample_rate" */
    uint32_t kind;        /* THALWEG_TEXT and so on */
    uint32_t is_required; /* 1: it has no default */
    char const* fallback; /* its default, as text: "2.5", "true"; NULL: there is none, and the value has no text */
    char const* help;     /* one sentence, or NULL */
};

/* The value of a setting. */
struct thalweg_value {
    uint32_t version, size;
    char const* text; /* NULL: it is not given, and has no default */
    int64_t integer;  /* of THALWEG_INTEGER and THALWEG_FLAG */
    double real;      /* of THALWEG_REAL and THALWEG_INTEGER */
};

/* What the recorder offers. Both functions may be called from any thread, as long as the device is open. */
struct thalweg_host {
    uint32_t version, size;
    void* context;
    void (*log)(void* context, char const* text);  /* a line for the log of the recorder */
    void (*fail)(void* context, char const* text); /* why this call, in this thread, is about to return below 0 */
};

/* Rows of one table. Column i, in the order of the fields, has size_bytes[i] bytes at data[i], one item behind the
 * other. A list or a string has two columns: its lengths (uint64), and all its elements or bytes. The bytes stay as
 * they are until the next call of next() for the same lane. */
struct thalweg_batch {
    uint32_t version, size;
    uint32_t table;   /* in the order of describe() */
    uint32_t columns; /* of the table, with those of its lists and structs */
    uint64_t rows;
    void const* const* data;
    uint64_t const* size_bytes;
    uint64_t lost; /* with THALWEG_OVERFLOW: the number of lost triggers; UNKNOWN_COUNT if the device does not say it */
};

/* What a device counts: numbers that only grow, in arrays that stay as they are until the next call of counters(). */
struct thalweg_counters {
    uint32_t version, size;
    uint64_t count;
    uint32_t const* tables; /* NULL: all of them are of table 0 */
    char const* const*
        names; /* a to z, 0 to 9 and _, at most 23 bytes: "triggers", "lost_triggers" and what you like */
    uint64_t const* values;
};

/* The source. All calls but next() are made while no thread is in next(); counters() is the exception. The calls after
 * `close` may be NULL. */
struct thalweg_source {
    uint32_t version, size;
    char const* name;                              /* of the source, for messages */
    char const* own_version;                       /* of the library, for messages */
    struct thalweg_setting const* const* settings; /* up to a NULL; or NULL: it has none */

    /* Opens the device. `values` has one value for each setting. Both arguments stay valid until close(). */
    int32_t (*open)(struct thalweg_host const* host, struct thalweg_value const* const* values, void** device);
    /* Sets *json to {"tables": [...]}, as docs/formats/schema.md describes tables, and if needed "clock", "lanes",
     * "settings" and "notes". The text stays as it is until the next call. */
    int32_t (*describe)(void* device, char const** json);
    /* Lets the device take triggers, also after an overflow or a pause. It may set *card to what the clock of the card
     * shows. */
    int32_t (*start)(void* device, int64_t* card);
    /* Hands out rows of a lane, or waits for them for at most `timeout_ns`. One thread for each lane calls it. The
     * members of *batch are 0 except version and size, and `lost`, which is THALWEG_UNKNOWN_COUNT. */
    int32_t (*next)(void* device, uint32_t lane, uint64_t timeout_ns, struct thalweg_batch* batch);
    /* Lets the device take no more triggers. At the end of a run, next() is called until it returns THALWEG_NOTHING. */
    int32_t (*stop)(void* device);
    void (*close)(void* device);

    /* Lets the device take no triggers until start(). If it is NULL, next() is not called in a pause. */
    int32_t (*pause)(void* device);
    /* Shows what the device has counted, a few times a second. The thread of any lane calls it, one at a time, also
     * while other threads are in next(). */
    int32_t (*counters)(void* device, struct thalweg_counters* counters);
};

/* The one symbol of the library. `version` is THALWEG_SOURCE_VERSION of the recorder. It returns NULL if the source
 * cannot work with it. */
struct thalweg_source const* thalweg_get_source(uint32_t version);

#ifdef __cplusplus
}
#endif
