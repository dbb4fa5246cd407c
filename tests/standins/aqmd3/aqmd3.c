/* A stand-in for the library libAqMD3.so: own code, with the published names and numbers. A free-running trigger takes
 * pulses into a bounded memory. It shows nothing of how a real card behaves beyond what public manuals say.
 *
 * Options come from the options of InitWithOptions ("Simulate=false, rate=20000, memory=64000000") or from the
 * environment (THALWEG_AQMD3), which has the last word:
 *
 *     pulses=FILE          records of uint16, as the emulator makes them; otherwise exponentials
 *     rate, memory         triggers a second; bytes on board
 *     overflow_every=N     the memory is full after N triggers of each start
 *     no_drain=1           what is on board cannot be read after an overflow
 *     first_index, first_position   of the first marker of each start
 *     garble_every=N       each N-th marker is wrong; skip_every=N: the index leaves out a record
 *     slow_every=N, slow_ms         each N-th fetch is slow
 *     error_at=N, error=0x... and the other faults of faults.h, after N records
 *     truth=FILE           gets the host's time of the last trigger before each overflow, and of the first one after
 *     licences, model, simulate, high_first, signed, open_ms, calibrate_ms, abort_ms, shifted, missing_calibration */
#include "../faults.h"

#include <inttypes.h>

typedef int32_t Status;
enum { INHERENT = 1050000, SPECIFIC = 1150000, CLASS = 1250000, POOL = 64, CARDS = 8, ELEMENTS_OF_MARKER = 16 };
#define ERROR(bits) ((Status)(bits))

struct card {
    int is_open, is_running, is_calibrated, streams, has_pattern, has_overflowed;
    struct options options;
    int64_t record, records_wanted;
    double sample_rate, began;
    uint32_t* pool; /* packed records */
    int16_t* waves;
    int64_t words, total, fetches;
    int64_t taken[2], marked[2]; /* of channels */
};

static struct card cards[CARDS];

static struct card* card_of(uint32_t session) {
    return session >= 1 && session <= CARDS && cards[session - 1].is_open ? &cards[session - 1] : NULL;
}

static void write_truth(struct card const* card, char const* what, double seconds) {
    char path[1024];
    if (!word(&card->options, "truth", path, sizeof path)) return;
    FILE* file = fopen(path, "a");
    if (file == NULL) abort();
    fprintf(file, "%s %.0f\n", what, seconds * 1e9);
    fclose(file);
}

Status AqMD3_InitWithOptions(char const* resource, uint16_t query, uint16_t reset, char const* options,
                             uint32_t* session) {
    (void)query, (void)reset;
    if (strncmp(resource, "PXI", 3) != 0) return ERROR(0xBFFA0060);
    int const place = (int)(strtol(resource + 3, NULL, 10) % CARDS);
    struct card* card = &cards[place];
    if (card->is_open) return ERROR(0xBFFA0061);
    memset(card, 0, sizeof *card);
    card->options.variable = "THALWEG_AQMD3";
    card->options.separators = " ,;";
    snprintf(card->options.text, sizeof card->options.text, "%s", options);
    if (is_away(&card->options)) return ERROR(0xBFFA0060);
    card->is_open = 1;
    card->record = 10496;
    card->records_wanted = 1;
    card->sample_rate = 10e9;
    *session = (uint32_t)place + 1;
    wait_ms(number(&card->options, "open_ms", 5));
    return 0;
}

Status AqMD3_close(uint32_t session) {
    struct card* card = card_of(session);
    if (card == NULL) return ERROR(0xBFFA1190);
    free(card->pool);
    free(card->waves);
    memset(card, 0, sizeof *card);
    return 0;
}

#define CARD                                                                                                           \
    struct card* card = card_of(session);                                                                              \
    (void)capability;                                                                                                  \
    if (card == NULL) return ERROR(0xBFFA1190)
#define UNKNOWN ERROR(0xBFFA0012)

Status AqMD3_SetAttributeViInt32(uint32_t session, char const* capability, int32_t attribute, int32_t value) {
    CARD;
    if (card->is_running) return ERROR(0xBFFA4003);
    if (attribute == SPECIFIC + 120) card->streams = value == 2;
    return 0;
}

Status AqMD3_SetAttributeViInt64(uint32_t session, char const* capability, int32_t attribute, int64_t value) {
    CARD;
    if (card->is_running) return ERROR(0xBFFA4003);
    if (attribute == CLASS + 14 && (value <= 0 || value % 32 != 0)) return ERROR(0xBFFA0010);
    if (attribute == CLASS + 14) card->record = value;
    if (attribute == CLASS + 13) card->records_wanted = value;
    return 0;
}

Status AqMD3_SetAttributeViReal64(uint32_t session, char const* capability, int32_t attribute, double value) {
    CARD;
    if (attribute == CLASS + 15) card->sample_rate = value;
    return 0;
}

Status AqMD3_SetAttributeViString(uint32_t session, char const* capability, int32_t attribute, char const* value) {
    CARD;
    (void)attribute, (void)value;
    return 0;
}

Status AqMD3_SetAttributeViBoolean(uint32_t session, char const* capability, int32_t attribute, uint16_t value) {
    CARD;
    if (attribute == SPECIFIC + 99) card->has_pattern = value;
    return 0;
}

Status AqMD3_GetAttributeViBoolean(uint32_t session, char const* capability, int32_t attribute, uint16_t* value) {
    CARD;
    *value = attribute == INHERENT + 5 && number(&card->options, "simulate", 0) != 0;
    return 0;
}

static int64_t triggers(struct card* card) {
    double const most = number(&card->options, "overflow_every", 1e18),
                 limit = number(&card->options, "memory", 4e9) / 4.0;
    double const room = limit / (double)(card->words > 0 ? card->words : 1);
    double seen = floor((now() - card->began) * number(&card->options, "rate", 20000));
    int64_t const read = card->taken[0];
    if (!card->is_running || card->has_overflowed) return card->total;
    if (card->streams && (seen >= most || seen - (double)read > room)) {
        seen = fmin(most, (double)read + floor(room));
        card->has_overflowed = 1;
        write_truth(card, "last", card->began + (seen - 1) / number(&card->options, "rate", 20000));
    }
    if (!card->streams && seen > (double)card->records_wanted) seen = (double)card->records_wanted;
    return card->total = (int64_t)seen;
}

Status AqMD3_GetAttributeViInt32(uint32_t session, char const* capability, int32_t attribute, int32_t* value) {
    CARD;
    if (attribute == CLASS + 5)
        *value = triggers(card) >= card->records_wanted ? 1 : 2;
    else if (attribute == SPECIFIC + 105)
        *value = 10;
    else
        return UNKNOWN;
    return 0;
}

Status AqMD3_GetAttributeViInt64(uint32_t session, char const* capability, int32_t attribute, int64_t* value) {
    CARD;
    if (attribute == SPECIFIC + 94)
        *value = 64;
    else if (attribute == CLASS + 14)
        *value = card->record;
    else if (attribute == CLASS + 12)
        *value = triggers(card);
    else
        return UNKNOWN;
    return 0;
}

Status AqMD3_GetAttributeViReal64(uint32_t session, char const* capability, int32_t attribute, double* value) {
    CARD;
    if (attribute == CLASS + 15)
        *value = card->sample_rate;
    else if (attribute == CLASS + 100)
        *value = 45.5;
    else
        return UNKNOWN;
    return 0;
}

Status AqMD3_GetAttributeViString(uint32_t session, char const* capability, int32_t attribute, int32_t size,
                                  char* value) {
    char text[256] = "stand-in";
    CARD;
    if (attribute == INHERENT + 512 && !word(&card->options, "model", text, sizeof text)) strcpy(text, "U5310A");
    if (attribute == SPECIFIC + 23 && !word(&card->options, "licences", text, sizeof text)) strcpy(text, "CST");
    if (attribute == SPECIFIC + 8) strcpy(text, "STANDIN0001");
    snprintf(value, (size_t)size, "%s", text);
    return 0;
}

Status AqMD3_ConfigureChannel(uint32_t session, char const* capability, double range, double offset, int32_t coupling,
                              uint16_t on) {
    CARD;
    (void)range, (void)offset, (void)coupling, (void)on;
    return 0;
}

Status AqMD3_SelfCalibrate(uint32_t session) {
    struct card* card = card_of(session);
    if (card == NULL) return ERROR(0xBFFA1190);
    wait_ms(number(&card->options, "calibrate_ms", 5));
    card->is_calibrated = 1;
    return 0;
}

/* Bit `number` of the packed stream, where the lowest or the highest bit of a byte is the first one. */
static void set_bit(uint8_t* bytes, uint64_t number, int high_first) {
    bytes[number / 8] |= (uint8_t)(1u << (high_first ? 7 - number % 8 : number % 8));
}

static void pack(struct card* card, uint8_t* bytes, uint16_t const* samples) {
    int const high_first = number(&card->options, "high_first", 0) != 0,
              is_signed = number(&card->options, "signed", 0) != 0;
    int64_t i;
    int bit;
    for (i = 0; i < card->record; ++i) {
        unsigned const value = (samples[i] ^ (is_signed ? 512u : 0u)) & 1023u;
        for (bit = 0; bit < 10; ++bit)
            if (value >> (high_first ? 9 - bit : bit) & 1u)
                set_bit(bytes, (uint64_t)i * 10 + (uint64_t)bit, high_first);
    }
}

static void make_pool(struct card* card) {
    char path[1024];
    int record;
    int64_t i;
    unsigned noise = 1;
    uint16_t* samples = calloc((size_t)card->record, sizeof *samples);
    FILE* file = word(&card->options, "pulses", path, sizeof path) ? fopen(path, "r") : NULL;
    card->words = card->record * 5 / 16;
    free(card->pool);
    free(card->waves);
    card->pool = calloc((size_t)(POOL * card->words), sizeof *card->pool);
    card->waves = calloc((size_t)(POOL * card->record), sizeof *card->waves);
    for (record = 0; record < POOL; ++record) {
        if (file == NULL || fread(samples, sizeof *samples, (size_t)card->record, file) != (size_t)card->record) {
            for (i = 0; i < card->record; ++i) {
                noise = noise * 1103515245u + 12345u;
                double value = 80 + (double)(noise >> 16 & 3);
                if (i > 1000) value += (50 + 14.0 * record) * exp(-(double)(i - 1000) / 250);
                samples[i] = (uint16_t)value;
            }
        }
        if (card->has_pattern)
            for (i = 0; i < card->record; ++i) samples[i] = (uint16_t)(i & 1023);
        pack(card, (uint8_t*)(card->pool + record * card->words), samples);
        for (i = 0; i < card->record; ++i) card->waves[record * card->record + i] = (int16_t)(samples[i] << 6);
    }
    if (file != NULL) fclose(file);
    free(samples);
}

Status AqMD3_ApplySetup(uint32_t session) {
    struct card* card = card_of(session);
    if (card == NULL) return ERROR(0xBFFA1190);
    make_pool(card);
    return 0;
}

Status AqMD3_InitiateAcquisition(uint32_t session) {
    struct card* card = card_of(session);
    if (card == NULL) return ERROR(0xBFFA1190);
    if (card->is_running && card->streams) return ERROR(0xBFFA4003);
    if (!card->is_calibrated) return ERROR(0xBFFA4009);
    memset(card->taken, 0, sizeof card->taken);
    memset(card->marked, 0, sizeof card->marked);
    card->has_overflowed = 0;
    card->total = 0;
    card->is_running = 1;
    card->began = now();
    write_truth(card, "first", card->began);
    return 0;
}

Status AqMD3_Abort(uint32_t session) {
    struct card* card = card_of(session);
    if (card == NULL) return ERROR(0xBFFA1190);
    if (card->is_running) wait_ms(number(&card->options, "abort_ms", 0));
    triggers(card);
    card->is_running = 0;
    return 0;
}

static void write_marker(struct card const* card, int64_t number_of, uint32_t* marker) {
    int64_t const garble = (int64_t)number(&card->options, "garble_every", 0),
                  skip = (int64_t)number(&card->options, "skip_every", 0);
    char const* first = option(&card->options, "first_position");
    double const step = card->sample_rate * 256 / number(&card->options, "rate", 20000);
    uint64_t position = (uint64_t)((double)number_of * step) + (uint64_t)(number_of * 37 % 256);
    uint64_t index = (uint64_t)number_of + (uint64_t)number(&card->options, "first_index", 0);
    if (first != NULL) position += strtoull(first, NULL, 16);
    if (skip > 0) index += (uint64_t)(number_of / skip);
    memset(marker, 0, ELEMENTS_OF_MARKER * sizeof *marker);
    marker[0] = 1u | (uint32_t)(index & 0xffffff) << 8;
    marker[1] = (uint32_t)position;
    marker[2] = (uint32_t)(position >> 32);
    if (garble > 0 && number_of % garble == garble - 1) {
        if (number_of / garble % 3 == 0) marker[0] = 0xdeadbeef;
        if (number_of / garble % 3 == 1) marker[0] ^= 0x40000000;
        if (number_of / garble % 3 == 2) marker[2] = 0xdeadbeef;
    }
}

#ifndef NO_STREAM
Status AqMD3_StreamFetchDataInt32(uint32_t session, char const* capability, int64_t wanted, int64_t size, int32_t* to,
                                  int64_t* available, int64_t* actual, int64_t* first) {
    int64_t i;
    CARD;
    int const is_marker = strncmp(capability, "Markers", 7) == 0, channel = capability[strlen(capability) - 1] - '1';
    *available = *actual = *first = 0;
    if (is_due(&card->options, "unplug_at", card->taken[0]) || is_away(&card->options)) return ERROR(0xBFFA4214);
    if (is_due(&card->options, "error_at", card->taken[0]))
        return ERROR((uint32_t)number(&card->options, "error", (double)0xBFFA4215u));
    if (is_due(&card->options, "hang_at", card->taken[0])) sleep(3600);
    if (is_due(&card->options, "crash_at", card->taken[0])) *(int volatile*)NULL = 1;
    if (!card->is_running) return ERROR(0xBFFA4004);
    if (number(&card->options, "slow_every", 0) > 0 &&
        ++card->fetches % (int64_t)number(&card->options, "slow_every", 0) == 0)
        wait_ms(number(&card->options, "slow_ms", 50));
    if (wanted % 16 != 0 || size < wanted + 16) return ERROR(0xBFFA0010);
    int64_t const each = is_marker ? ELEMENTS_OF_MARKER : card->words, count = wanted / each, seen = triggers(card);
    int64_t* const read = is_marker ? &card->marked[channel] : &card->taken[channel];
    if (wanted % each != 0) return ERROR(0xBFFA0010);
    *available = (seen - *read) * each;
    if (card->has_overflowed && (*available < wanted || number(&card->options, "no_drain", 0) != 0)) {
        *available = 0;
        return ERROR(0xBFFA400C);
    }
    if (*available < wanted) return 0;
    *first = number(&card->options, "shifted", 0) != 0 ? 16 : 0;
    for (i = 0; i < count; ++i, ++*read) {
        if (is_marker)
            write_marker(card, *read, (uint32_t*)to + *first + i * each);
        else
            memcpy(to + *first + i * each, card->pool + *read % POOL * each, (size_t)each * sizeof *to);
    }
    *actual = wanted;
    *available -= wanted;
    return 0;
}
#endif

Status AqMD3_QueryMinWaveformMemory(uint32_t session, int32_t bits, int64_t records, int64_t offset, int64_t samples,
                                    int64_t* size) {
    (void)session, (void)bits, (void)offset;
    *size = records * (samples + 32);
    return 0;
}

Status AqMD3_FetchMultiRecordWaveformInt16(uint32_t session, char const* capability, int64_t first, int64_t records,
                                           int64_t offset, int64_t samples, int64_t size, int16_t* to, int64_t* actual,
                                           int64_t* actual_samples, int64_t* first_samples, double* initial_offset,
                                           double* seconds, double* fractions, double* step, double* scale,
                                           double* scale_offset) {
    int64_t i;
    CARD;
    (void)first, (void)offset;
    if (is_due(&card->options, "unplug_at", card->taken[0]) || is_away(&card->options)) return ERROR(0xBFFA4214);
    if (records > triggers(card) || size < records * (samples + 32)) return ERROR(0xBFFA0010);
    for (i = 0; i < records; ++i) {
        double const time = card->began + (double)i / number(&card->options, "rate", 20000);
        memcpy(to + i * (samples + 32) + 16, card->waves + i % POOL * card->record, (size_t)samples * sizeof *to);
        actual_samples[i] = samples;
        first_samples[i] = i * (samples + 32) + 16;
        initial_offset[i] = -25e-12;
        seconds[i] = floor(time);
        fractions[i] = time - floor(time);
    }
    card->taken[0] += records;
    *actual = records;
    *step = 1 / card->sample_rate;
    *scale = 1.0 / 65536;
    *scale_offset = 0;
    return 0;
}

Status AqMD3_error_message(uint32_t session, Status status, char* text) {
    struct {
        uint32_t bits;
        char const* text;
    } const known[] = {
        {0xBFFA400C, "stream overflow"},        {0xBFFA4214, "I/O error"},
        {0xBFFA4215, "I/O time-out"},           {0xBFFA4004, "instrument idle"},
        {0xBFFA4009, "calibration required"},   {0xBFFA0060, "unknown resource"},
        {0xBFFA0061, "already initialized"},    {0xBFFA0010, "invalid value"},
        {0xBFFA400B, "module option required"},
    };
    size_t i;
    (void)session;
    strcpy(text, "error of the stand-in");
    for (i = 0; i < sizeof known / sizeof *known; ++i)
        if (ERROR(known[i].bits) == status) strcpy(text, known[i].text);
    return 0;
}
