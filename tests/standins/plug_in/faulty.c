/* A source in C that fails as its settings say. Its clock begins at 0 with each start, and `faults` come one after the
 * other, each behind `each` rows; behind the last one there are `each` rows more. `notes` is a folder in which it keeps
 * what the next process of it must know. Compiled with -DTOO_OLD and so on, it is a library that is refused. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "thalweg/source.h"

enum { NOTES = 0, FAULTS, EACH, PERIOD, WRONG, REFUSES, ANY };

struct device {
    struct thalweg_host const* host;
    char const *notes, *faults, *wrong;
    uint64_t each, period_ns, handed, done, records, begin_ns;
    uint64_t stamps[64];
    uint32_t numbers[64];
    void const* data[3];
    uint64_t sizes[3];
    uint64_t counts[2];
    int is_paused;
};

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* A note is there at once: the process may be killed at any time. */
static void note(struct device const* device, char const* name, uint64_t number) {
    char path[4096], new[4096];
    snprintf(path, sizeof path, "%s/%s", device->notes, name);
    snprintf(new, sizeof new, "%s/new", device->notes);
    FILE* file = fopen(new, "w");
    if (file == NULL) abort();
    fprintf(file, "%" PRIu64, number);
    fclose(file);
    rename(new, path);
}

static uint64_t noted(struct device const* device, char const* name) {
    char path[4096];
    uint64_t number = 0;
    snprintf(path, sizeof path, "%s/%s", device->notes, name);
    FILE* file = fopen(path, "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%" SCNu64, &number) != 1) number = 0;
    fclose(file);
    return number;
}

static int32_t fail(struct device const* device, int32_t code, char const* why) {
    device->host->fail(device->host->context, why);
    return code;
}

static int32_t open_it(struct thalweg_host const* host, struct thalweg_value const* const* values, void** made) {
    struct device* device = calloc(1, sizeof *device);
    device->host = host;
    device->notes = values[NOTES]->text;
    device->faults = values[FAULTS]->text;
    device->wrong = values[WRONG]->text;
    device->each = (uint64_t)values[EACH]->integer;
    device->period_ns = (uint64_t)(values[PERIOD]->real * 1e9);
    *made = device;
    if (values[REFUSES]->integer) return fail(device, THALWEG_REFUSED, "the licence is missing");
    if (values[ANY]->text != NULL) return fail(device, THALWEG_REFUSED, values[ANY]->text);
    device->handed = noted(device, "handed");
    device->done = noted(device, "faults");
    printf("a library speaks\n");
    fflush(stdout);
    host->log(host->context, "it is open");
    uint64_t const absent = noted(device, "absent");
    if (absent > 0) {
        note(device, "absent", absent - 1);
        return fail(device, THALWEG_LOST, "there is no card");
    }
    return THALWEG_OK;
}

static int32_t describe(void* self, char const** json) {
    struct device* device = self;
    if (strcmp(device->wrong, "json") == 0) {
        *json = "{\"tables\": [";
        return THALWEG_OK;
    }
    if (strcmp(device->wrong, "schema") == 0) {
        *json = "{\"tables\": [{\"name\": \"ch0\", \"fields\": [{\"name\": \"number\", \"type\": \"uint33\"}]}]}";
        return THALWEG_OK;
    }
    if (strcmp(device->wrong, "items") == 0) {
        *json = "{\"tables\": [{\"name\": \"ch0\", \"fields\": ["
                "{\"name\": \"hits\", \"type\": \"list\", \"items\": {\"type\": \"uint32\"}}]}]}";
        return THALWEG_OK;
    }
    if (strcmp(device->wrong, "key") == 0) {
        *json = "{\"tables\": [{\"name\": \"ch0\", \"fields\": [{\"name\": \"hits\", \"type\": \"list\", "
                "\"element\": {\"type\": \"uint32\", \"units\": \"ns\"}}]}]}";
        return THALWEG_OK;
    }
    *json = "{\"tables\": [{\"name\": \"ch0\", \"fields\": ["
            "{\"name\": \"timestamp\", \"type\": \"uint64\", \"unit\": \"ns\"}, "
            "{\"name\": \"number\", \"type\": \"uint32\"}]}], "
            "\"clock\": {\"column\": \"timestamp\", \"restarts\": true, \"domain\": \"ns since the start\"}, "
            "\"settings\": {\"gain\": 2}}";
    return THALWEG_OK;
}

static int32_t start(void* self, int64_t* card) {
    struct device* device = self;
    device->begin_ns = now_ns();
    device->records = 0;
    device->is_paused = 0;
    *card = 0;
    return THALWEG_OK;
}

/* Returns whether this is the fault that is due. */
static int is_due(struct device const* device, char const* fault) {
    char const* at = device->faults;
    uint64_t i;
    for (i = 0; i < device->done; ++i) {
        at = strchr(at, ',');
        if (at == NULL) return 0;
        ++at;
    }
    size_t const size = strlen(fault);
    return strncmp(at, fault, size) == 0 && (at[size] == ',' || at[size] == 0);
}

static uint64_t count_of_faults(struct device const* device) {
    uint64_t count = device->faults[0] != 0;
    char const* at;
    for (at = device->faults; *at != 0; ++at) count += *at == ',';
    return count;
}

static void* sleep_on(void* unused) {
    (void)unused;
    sleep(3600);
    return NULL;
}

static int32_t be_faulty(struct device* device, struct thalweg_batch* batch) {
    int const is_lost = is_due(device, "lost"), is_absent = is_due(device, "absent"),
              is_silent = is_due(device, "silent"), is_overflow = is_due(device, "overflow"),
              is_exit = is_due(device, "exit"), is_crash = is_due(device, "segfault"),
              is_abort = is_due(device, "abort"), is_hang = is_due(device, "hang"), is_fork = is_due(device, "fork");
    note(device, "faults", ++device->done);
    if (is_lost) return fail(device, THALWEG_LOST, "the cable is out");
    if (is_silent) return -77;
    if (is_absent) {
        note(device, "absent", 2);
        return fail(device, THALWEG_LOST, "the power is off");
    }
    if (is_overflow) {
        batch->lost = 7;
        return fail(device, THALWEG_OVERFLOW, "4 GB are full");
    }
    if (is_exit) { /* with a thread of the library still running */
        pthread_t thread;
        pthread_create(&thread, NULL, sleep_on, NULL);
        exit(3);
    }
    if (is_crash) *(int volatile*)NULL = 1;
    if (is_abort) abort();
    if (is_hang) sleep(3600);
    if (is_fork) {
        pid_t const child = fork();
        if (child == 0) sleep(3600); /* with the output of its parent open */
        note(device, "forked", (uint64_t)child);
        _exit(4);
    }
    return THALWEG_NOTHING;
}

static int32_t next(void* self, uint32_t lane, uint64_t timeout_ns, struct thalweg_batch* batch) {
    struct device* device = self;
    (void)lane;
    if (device->handed >= (device->done + 1) * device->each) {
        if (device->done == count_of_faults(device)) return THALWEG_ENDED;
        return be_faulty(device, batch);
    }
    uint64_t count = (now_ns() - device->begin_ns) / device->period_ns - device->records;
    uint64_t const left = (device->done + 1) * device->each - device->handed;
    if (count > left) count = left;
    if (count > 64) count = 64;
    if (count == 0 || device->is_paused) {
        struct timespec const pause = {0, (long)(timeout_ns < device->period_ns ? timeout_ns : device->period_ns)};
        nanosleep(&pause, NULL);
        return THALWEG_NOTHING;
    }
    uint64_t i;
    for (i = 0; i < count; ++i) {
        device->stamps[i] = (device->records + i) * device->period_ns;
        device->numbers[i] = (uint32_t)(device->handed + i);
    }
    device->records += count;
    device->handed += count;
    note(device, "handed", device->handed);
    device->data[0] = device->stamps;
    device->data[1] = strcmp(device->wrong, "null") == 0 ? NULL : device->numbers;
    device->data[2] = device->numbers;
    device->sizes[0] = count * 8 - (strcmp(device->wrong, "clock") == 0);
    device->sizes[1] = count * 4 + (strcmp(device->wrong, "size") == 0);
    device->sizes[2] = count * 4;
    batch->table = strcmp(device->wrong, "table") == 0 ? 5 : 0;
    batch->rows = count;
    batch->columns = strcmp(device->wrong, "columns") == 0 ? 3 : 2;
    batch->data = strcmp(device->wrong, "none") == 0 ? NULL : device->data;
    batch->size_bytes = device->sizes;
    return THALWEG_ROWS;
}

static int32_t stop(void* self) {
    struct device* device = self;
    if (strcmp(device->wrong, "stop") == 0) sleep(3600);
    return THALWEG_OK;
}

static void close_it(void* self) { free(self); }

static int32_t pause_it(void* self) {
    struct device* device = self;
    device->is_paused = 1;
    note(device, "pauses", noted(device, "pauses") + 1);
    return THALWEG_OK;
}

static int32_t counters(void* self, struct thalweg_counters* shown) {
    static char const* const names[2] = {"triggers", "resets"};
    static char const* const wrong_names[2] = {"triggers", "Resets!"};
    static uint32_t const wrong_tables[2] = {0, 9};
    struct device* device = self;
    device->counts[0] = device->records;
    device->counts[1] = 1;
    shown->count = 2;
    shown->names = strcmp(device->wrong, "counter") == 0 ? wrong_names : names;
    shown->tables = strcmp(device->wrong, "counted") == 0 ? wrong_tables : NULL;
    shown->values = strcmp(device->wrong, "uncounted") == 0 ? NULL : device->counts;
    return THALWEG_OK;
}

#define HEAD(type) THALWEG_SOURCE_VERSION, sizeof(struct type)

static struct thalweg_setting const notes = {HEAD(thalweg_setting), "notes", THALWEG_TEXT, 1, NULL, "A folder."};
static struct thalweg_setting const faults = {HEAD(thalweg_setting), "faults", THALWEG_TEXT, 0, "", NULL};
static struct thalweg_setting const each = {HEAD(thalweg_setting), "each", THALWEG_INTEGER, 0, "50", NULL};
static struct thalweg_setting const period = {HEAD(thalweg_setting), "period", THALWEG_REAL, 0, "1e-3", NULL};
static struct thalweg_setting const wrong = {HEAD(thalweg_setting), "wrong", THALWEG_TEXT, 0, "", NULL};
static struct thalweg_setting const refuses = {HEAD(thalweg_setting), "refuses", THALWEG_FLAG, 0, "false", NULL};
static struct thalweg_setting const any = {HEAD(thalweg_setting), "any", THALWEG_JSON, 0, NULL, NULL};
static struct thalweg_setting const* const settings[] = {&notes, &faults, &each, &period, &wrong, &refuses, &any, NULL};

#ifdef NO_SYMBOL
#define thalweg_get_source get_source_of_another_program
struct thalweg_source const* thalweg_get_source(uint32_t version);
#endif

struct thalweg_source const* thalweg_get_source(uint32_t version) {
    static struct thalweg_source const source = {
#ifdef TOO_OLD
        .version = 0,
#elif defined(TOO_NEW)
        .version = THALWEG_SOURCE_VERSION + 1,
#else
        .version = THALWEG_SOURCE_VERSION,
#endif
#ifdef TOO_SMALL
        .size = 40,
#else
        .size = sizeof(struct thalweg_source),
#endif
        .name = "faulty",
        .own_version = "1",
        .settings = settings,
        .open = open_it,
#ifdef NO_DESCRIBE
        .describe = NULL,
#else
        .describe = describe,
#endif
        .start = start,
        .next = next,
        .stop = stop,
        .close = close_it,
        .pause = pause_it,
        .counters = counters,
    };
#ifdef KNOWS_NO_VERSION
    return version == 0 ? &source : NULL;
#else
    (void)version;
    return &source;
#endif
}

#ifdef NEEDS_OTHER
int other_library(void);
int call_other(void) { return other_library(); }
#endif
