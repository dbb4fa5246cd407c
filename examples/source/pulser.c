/* A source of rows in C99: a card that takes pulses at a fixed rate into a memory, and stops if the memory is full.
 * `thalweg record` opens it like any other source:
 *
 *     cc -std=c99 -O2 -shared -fPIC -I PREFIX/include -o libpulser.so pulser.c
 *     thalweg record --source ./libpulser.so --setting rate=20000 --out run.h5 --duration 10s
 */
#define _POSIX_C_SOURCE 199309L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "thalweg/source.h"

enum { MOST_CHANNELS = 16, MOST_ROWS = 256, RATE = 0, SAMPLES, CHANNELS, MEMORY };

/* A channel is a lane: a thread of its own reads it. */
struct channel {
    uint64_t taken, lost, handed; /* pulses */
    uint64_t* timestamps;
    uint16_t* waveforms;
    void const* data[2];
    uint64_t sizes[2];
};

struct card {
    struct thalweg_host const* host;
    double rate; /* in 1/s */
    uint64_t samples, memory;
    uint32_t channels;
    uint64_t begun_ns;
    int is_running;
    struct channel channel[MOST_CHANNELS];
    char description[8192];
    uint64_t counts[2 * MOST_CHANNELS];
    uint32_t count_tables[2 * MOST_CHANNELS];
    char const* count_names[2 * MOST_CHANNELS];
};

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void wait_ns(uint64_t duration_ns) {
    struct timespec time;
    time.tv_sec = (time_t)(duration_ns / 1000000000u);
    time.tv_nsec = (long)(duration_ns % 1000000000u);
    nanosleep(&time, NULL);
}

static int32_t fail(struct card* card, int32_t code, char const* why) {
    card->host->fail(card->host->context, why);
    return code;
}

static void card_close(void* device) {
    struct card* card = device;
    uint32_t i;
    for (i = 0; i < MOST_CHANNELS; ++i) {
        free(card->channel[i].timestamps);
        free(card->channel[i].waveforms);
    }
    free(card);
}

static int32_t card_open(struct thalweg_host const* host, struct thalweg_value const* const* values, void** device) {
    struct card* card = calloc(1, sizeof *card);
    uint32_t i;
    uint64_t sample;
    if (card == NULL) {
        host->fail(host->context, "there is no memory");
        return THALWEG_LOST;
    }
    card->host = host;
    card->rate = values[RATE]->real;
    card->samples = (uint64_t)values[SAMPLES]->integer;
    card->channels = (uint32_t)values[CHANNELS]->integer;
    card->memory = (uint64_t)values[MEMORY]->integer;
    if (!(card->rate > 0) || values[SAMPLES]->integer < 1 || values[SAMPLES]->integer > 1000000 ||
        values[CHANNELS]->integer < 1 || values[CHANNELS]->integer > MOST_CHANNELS) {
        fail(card, 0, "the rate must be above 0, samples 1 to 1000000, and channels 1 to 16");
        free(card);
        return THALWEG_REFUSED;
    }
    for (i = 0; i < card->channels; ++i) {
        struct channel* channel = &card->channel[i];
        channel->timestamps = malloc(MOST_ROWS * sizeof *channel->timestamps);
        channel->waveforms = malloc(MOST_ROWS * card->samples * sizeof *channel->waveforms);
        if (channel->timestamps == NULL || channel->waveforms == NULL) {
            fail(card, 0, "there is no memory");
            card_close(card);
            return THALWEG_LOST;
        }
        for (sample = 0; sample < MOST_ROWS * card->samples; ++sample)
            channel->waveforms[sample] = (uint16_t)(80 + sample * 7919 % 13 + i);
        channel->data[0] = channel->timestamps;
        channel->data[1] = channel->waveforms;
    }
    host->log(host->context, "the pulser is open");
    *device = card;
    return THALWEG_OK;
}

/* One table and one lane for each channel. The clock of the card begins at 0 with each start. */
static int32_t card_describe(void* device, char const** json) {
    struct card* card = device;
    char* end = card->description;
    uint32_t i;
    end += sprintf(end,
                   "{\"clock\": {\"column\": \"timestamp\", \"restarts\": true, \"domain\": \"ns since the start\"},");
    end += sprintf(end, " \"lanes\": [");
    for (i = 0; i < card->channels; ++i) end += sprintf(end, "%s[\"ch%" PRIu32 "\"]", i > 0 ? ", " : "", i);
    end += sprintf(end, "], \"tables\": [");
    for (i = 0; i < card->channels; ++i) {
        end += sprintf(end,
                       "%s{\"name\": \"ch%" PRIu32 "\", \"fields\": ["
                       "{\"name\": \"timestamp\", \"type\": \"uint64\", \"unit\": \"ns\"}, "
                       "{\"name\": \"waveform\", \"type\": \"uint16\", \"shape\": [%" PRIu64 "]}]}",
                       i > 0 ? ", " : "", i, card->samples);
    }
    sprintf(end, "]}");
    *json = card->description;
    return THALWEG_OK;
}

static int32_t card_start(void* device, int64_t* clock) {
    struct card* card = device;
    uint32_t i;
    for (i = 0; i < card->channels; ++i) card->channel[i].handed = card->channel[i].taken = 0;
    card->begun_ns = now_ns();
    card->is_running = 1;
    *clock = 0;
    return THALWEG_OK;
}

/* Pulses that the channel has taken until now. */
static void take(struct card const* card, struct channel* channel) {
    if (card->is_running) channel->taken = (uint64_t)((double)(now_ns() - card->begun_ns) * 1e-9 * card->rate);
}

static int32_t card_next(void* device, uint32_t lane, uint64_t timeout_ns, struct thalweg_batch* batch) {
    struct card* card = device;
    struct channel* channel = &card->channel[lane];
    uint64_t waiting, i;
    take(card, channel);
    if (channel->taken == channel->handed && timeout_ns > 0) {
        uint64_t const period_ns = (uint64_t)(1e9 / card->rate) + 1;
        wait_ns(period_ns < timeout_ns ? period_ns : timeout_ns);
        take(card, channel);
    }
    waiting = channel->taken - channel->handed;
    if (waiting == 0) return THALWEG_NOTHING;
    if (waiting > card->memory) { /* a real card hands out what it has, and then says so */
        channel->lost += waiting;
        channel->handed = channel->taken;
        batch->lost = waiting;
        return fail(card, THALWEG_OVERFLOW, "the memory of the card was full");
    }
    if (waiting > MOST_ROWS) waiting = MOST_ROWS;
    for (i = 0; i < waiting; ++i) channel->timestamps[i] = (uint64_t)((double)(channel->handed + i) * 1e9 / card->rate);
    channel->handed += waiting;
    channel->sizes[0] = waiting * sizeof *channel->timestamps;
    channel->sizes[1] = waiting * card->samples * sizeof *channel->waveforms;
    batch->table = lane;
    batch->rows = waiting;
    batch->columns = 2;
    batch->data = channel->data;
    batch->size_bytes = channel->sizes;
    return THALWEG_ROWS;
}

static int32_t card_stop(void* device) {
    struct card* card = device;
    uint32_t i;
    for (i = 0; i < card->channels; ++i) take(card, &card->channel[i]);
    card->is_running = 0;
    return THALWEG_OK;
}

static int32_t card_counters(void* device, struct thalweg_counters* counters) {
    struct card* card = device;
    uint32_t i;
    for (i = 0; i < card->channels; ++i) {
        card->count_tables[2 * i] = card->count_tables[2 * i + 1] = i;
        card->count_names[2 * i] = "triggers";
        card->counts[2 * i] = card->channel[i].handed;
        card->count_names[2 * i + 1] = "lost_triggers";
        card->counts[2 * i + 1] = card->channel[i].lost;
    }
    counters->count = 2 * card->channels;
    counters->tables = card->count_tables;
    counters->names = card->count_names;
    counters->values = card->counts;
    return THALWEG_OK;
}

#define HEAD(type) THALWEG_SOURCE_VERSION, sizeof(struct type)

static struct thalweg_setting const rate = {HEAD(thalweg_setting), "rate", THALWEG_REAL, 0, "1000", "Pulses a second."};
static struct thalweg_setting const samples = {HEAD(thalweg_setting),   "samples", THALWEG_INTEGER, 0, "100",
                                               "Samples of a waveform."};
static struct thalweg_setting const channels = {HEAD(thalweg_setting), "channels", THALWEG_INTEGER, 0, "1", "1 to 16."};
static struct thalweg_setting const memory = {HEAD(thalweg_setting),
                                              "memory",
                                              THALWEG_INTEGER,
                                              0,
                                              "1000000",
                                              "Pulses that the memory of a channel has room for."};
static struct thalweg_setting const* const settings[] = {&rate, &samples, &channels, &memory, NULL};

struct thalweg_source const* thalweg_get_source(uint32_t version) {
    static struct thalweg_source const source = {
        HEAD(thalweg_source), "pulser",  "1.0",     settings,   card_open, card_describe,
        card_start,           card_next, card_stop, card_close, NULL,      card_counters,
    };
    return version == THALWEG_SOURCE_VERSION ? &source : NULL;
}
