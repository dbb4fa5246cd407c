/* A source that hands out the same waveforms again and again, as fast as they are taken. Only timestamps change. */
#include <stdio.h>
#include <stdlib.h>

#include "thalweg/source.h"

struct device {
    uint64_t samples, batch, limit, rows;
    uint64_t* stamps;
    uint16_t* waveforms;
    void const* data[2];
    uint64_t sizes[2];
    char description[512];
};

static int32_t open_it(struct thalweg_host const* host, struct thalweg_value const* const* values, void** made) {
    struct device* device = calloc(1, sizeof *device);
    uint64_t i;
    unsigned noise = 1;
    (void)host;
    device->samples = (uint64_t)values[0]->integer;
    device->batch = (uint64_t)values[1]->integer;
    device->limit = (uint64_t)values[2]->integer;
    device->stamps = calloc(device->batch, sizeof *device->stamps);
    device->waveforms = calloc(device->batch * device->samples, sizeof *device->waveforms);
    for (i = 0; i < device->batch * device->samples; ++i) {
        noise = noise * 1103515245u + 12345u;
        device->waveforms[i] = (uint16_t)(80 + (noise >> 16 & 3));
    }
    device->data[0] = device->stamps;
    device->data[1] = device->waveforms;
    device->sizes[0] = device->batch * sizeof *device->stamps;
    device->sizes[1] = device->batch * device->samples * sizeof *device->waveforms;
    *made = device;
    return THALWEG_OK;
}

static int32_t describe(void* self, char const** json) {
    struct device* device = self;
    snprintf(device->description, sizeof device->description,
             "{\"tables\": [{\"name\": \"ch0\", \"fields\": [{\"name\": \"timestamp\", \"type\": \"uint64\", \"unit\": "
             "\"ns\"}, {\"name\": \"waveform\", \"type\": \"uint16\", \"shape\": [%lu]}]}]}",
             (unsigned long)device->samples);
    *json = device->description;
    return THALWEG_OK;
}

static int32_t start(void* self, int64_t* card) {
    (void)self, (void)card;
    return THALWEG_OK;
}

static int32_t next(void* self, uint32_t lane, uint64_t timeout_ns, struct thalweg_batch* batch) {
    struct device* device = self;
    uint64_t i;
    (void)lane, (void)timeout_ns;
    if (device->rows >= device->limit) return THALWEG_ENDED;
    for (i = 0; i < device->batch; ++i) device->stamps[i] = device->rows + i;
    device->rows += device->batch;
    batch->rows = device->batch;
    batch->columns = 2;
    batch->data = device->data;
    batch->size_bytes = device->sizes;
    return THALWEG_ROWS;
}

static int32_t stop(void* self) {
    (void)self;
    return THALWEG_OK;
}

#define INTEGER(name)                                                                                                  \
    { 1, sizeof(struct thalweg_setting), name, THALWEG_INTEGER, 1, NULL, NULL }

static struct thalweg_setting const samples = INTEGER("samples"), batch = INTEGER("batch"), rows = INTEGER("rows");
static struct thalweg_setting const* const settings[] = {&samples, &batch, &rows, NULL};

struct thalweg_source const* thalweg_get_source(uint32_t version) {
    static struct thalweg_source const source = {
        .version = THALWEG_SOURCE_VERSION,
        .size = sizeof(struct thalweg_source),
        .name = "constant",
        .settings = settings,
        .open = open_it,
        .describe = describe,
        .start = start,
        .next = next,
        .stop = stop,
        .close = free,
    };
    (void)version;
    return &source;
}
