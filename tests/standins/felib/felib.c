/* A stand-in for the library libCAEN_FELib.so: own code, with the published names and numbers. A free-running trigger
 * takes records into a bounded memory. It shows nothing of how a real board behaves beyond what public documents say.
 *
 * Options come from the address ("dig2://board?rate=1000&fw=DPP_PHA") or from the environment (THALWEG_FELIB, the same
 * words), which has the last word:
 *
 *     fw=Scope             or DPP_PHA, DPP_PSD; channels=N of the board
 *     rate, memory         triggers a second; bytes on board: what does not fit is lost
 *     lost_every=N         each N-th trigger is lost
 *     first_id, tag_step   number of the first trigger; ticks from trigger to trigger, otherwise they are of the rate
 *     short_every=N        each N-th record has half as many samples
 *     block=N, truncate_every=N    events of a block of the endpoint raw; each N-th block lacks its last 40 bytes
 *     dead=N               ticks of dead time that the event at the stop of a run tells
 *     slow_every=N, slow_ms        each N-th read is slow
 *     error_at=N and the other faults of faults.h, after N triggers of a start
 *     late_stop=1          the end of a run is told at the first read of the next one
 *     end_at=N             the board stops by itself; busy=1: another program has it; old=1: no such library behind it
 *
 * Trigger n has in channel c the samples 8192 + 100 c + (i + n) % 64, and the energy (7 n + c) % 65536. */
#include "../faults.h"

#include <signal.h>
#include <stdarg.h>
#include <strings.h>

enum {
    GENERIC = -1,
    INVALID = -2,
    ALREADY_OPEN = -3,
    NOT_FOUND = -4,
    COMMAND = -6,
    BAD_HANDLE = -9,
    NO_LIBRARY = -10,
    TIMEOUT = -11,
    STOP = -12,
    DISABLED = -13,
    COMMUNICATION = -15
};
enum { BOARDS = 4, PATHS = 512, VALUES = 1024, CHANNELS = 64, FIELDS = 24, RAW_BYTES = 8 << 20 };

struct field {
    char name[32], type[8];
};

struct board {
    int is_open, is_new, channels;
    struct options options; /* its address */
    struct {
        char path[64], value[64];
    } values[VALUES];
    int value_count, armed, running, field_count, stop_is_told, start_is_told, owes_stop;
    struct field fields[FIELDS];
    double began;
    int64_t taken, total, reads, blocks; /* triggers that were handed out; that there were, once it is stopped */
    int next_channel;                    /* of DPP */
};

static struct board boards[BOARDS];
static char paths[PATHS][96];
static int path_count;
static char last_error[256] = "no error";

static int fail(int code, char const* why, char const* about) {
    snprintf(last_error, sizeof last_error, "%s%s%s", why, *about == 0 ? "" : ": ", about);
    return code;
}

/* A handle has the number of the board in its high bits, and that of a path below. */
static struct board* board_of(uint64_t handle) {
    uint64_t const place = (handle >> 32) - 1;
    return place < BOARDS && boards[place].is_open && (handle & 0xffffffff) < (uint64_t)path_count ? &boards[place]
                                                                                                   : NULL;
}

static uint64_t handle_of(struct board const* board, char const* path) {
    int i;
    for (i = 0; i < path_count && strcasecmp(paths[i], path) != 0; ++i) {
    }
    if (i == PATHS) abort();
    if (i == path_count) snprintf(paths[path_count++], sizeof paths[0], "%s", path);
    return (uint64_t)(board - boards + 1) << 32 | (uint64_t)i;
}

static void join(uint64_t handle, char const* path, char* to, size_t size) {
    snprintf(to, size, "%s%s", paths[handle & 0xffffffff], path == NULL ? "" : path);
}

#define BOARD                                                                                                          \
    struct board* board = board_of(handle);                                                                            \
    char full[256];                                                                                                    \
    if (board == NULL) return fail(BAD_HANDLE, "not a valid handle", "");                                              \
    join(handle, path, full, sizeof full)

static char* value_of(struct board* board, char const* path) {
    int i;
    for (i = 0; i < board->value_count; ++i)
        if (strcasecmp(board->values[i].path, path) == 0) return board->values[i].value;
    return NULL;
}

static void put_value(struct board* board, char const* path, char const* value) {
    char* there = value_of(board, path);
    if (there == NULL) {
        if (board->value_count == VALUES) abort();
        snprintf(board->values[board->value_count].path, sizeof board->values[0].path, "%s", path);
        there = board->values[board->value_count++].value;
    }
    snprintf(there, sizeof board->values[0].value, "%s", value);
}

static void put_values(struct board* board) {
    char path[64], text[64];
    int i;
    board->value_count = 0;
    if (!word(&board->options, "fw", text, sizeof text)) strcpy(text, "Scope");
    put_value(board, "/par/FWTYPE", text);
    put_value(board, "/par/MODELNAME", board->is_new ? "V2745" : "DT5730");
    put_value(board, "/par/SERIALNUM", "12345");
    put_value(board, "/par/ADC_SAMPLRATE", board->is_new ? "125" : "500");
    put_value(board, "/par/ADC_NBIT", board->is_new ? "16" : "14");
    snprintf(text, sizeof text, "%d", board->channels);
    put_value(board, "/par/NUMCH", text);
    snprintf(text, sizeof text, "%d", RAW_BYTES);
    put_value(board, "/par/MAXRAWDATASIZE", text);
    put_value(board, "/par/RECORDLENGTHS", "256");
    put_value(board, "/par/RECLEN", "512");
    put_value(board, "/par/PRETRIGGERS", "100");
    put_value(board, "/par/ACQTRIGGERSOURCE", "SwTrg");
    put_value(board, "/par/TRIGGERIDMODE", "TriggerCnt");
    put_value(board, "/endpoint/par/ACTIVEENDPOINT", "raw");
    for (i = 0; i < board->channels; ++i) {
        char const* const names[] = {"CHENABLE", "CH_ENABLED", "CHRECORDLENGTHS", "CHPRETRIGGERS", "DCOFFSET"};
        char const* const values[] = {i < 2 ? "True" : "False", i < 2 ? "TRUE" : "FALSE", "64", "16", "50"};
        int j;
        for (j = 0; j < 5; ++j) {
            snprintf(path, sizeof path, "/ch/%d/par/%s", i, names[j]);
            put_value(board, path, values[j]);
        }
    }
}

int CAEN_FELib_GetLibInfo(char* text, size_t size) { return snprintf(text, size, "{\"name\": \"stand-in\"}"); }

int CAEN_FELib_GetLibVersion(char* text) {
    strcpy(text, "1.3.2");
    return 0;
}

int CAEN_FELib_GetErrorName(int code, char* text) {
    char const* name = "Unknown";
    if (code == GENERIC) name = "GenericError";
    if (code == INVALID) name = "InvalidParam";
    if (code == ALREADY_OPEN) name = "DeviceAlreadyOpen";
    if (code == NOT_FOUND) name = "DeviceNotFound";
    if (code == COMMAND) name = "CommandError";
    if (code == BAD_HANDLE) name = "InvalidHandle";
    if (code == NO_LIBRARY) name = "DeviceLibraryNotAvailable";
    if (code == TIMEOUT) name = "Timeout";
    if (code == STOP) name = "Stop";
    if (code == DISABLED) name = "Disabled";
    if (code == COMMUNICATION) name = "CommunicationError";
    strcpy(text, name);
    return 0;
}

int CAEN_FELib_GetErrorDescription(int code, char* text) {
    snprintf(text, 256, "error %d of the stand-in", code);
    return 0;
}

int CAEN_FELib_GetLastError(char* text) {
    strcpy(text, last_error);
    return 0;
}

int CAEN_FELib_DevicesDiscovery(char* text, size_t size, int timeout) {
    (void)timeout;
    return snprintf(text, size, "[]");
}

int CAEN_FELib_Open(char const* address, uint64_t* handle) {
    struct board* free_one = NULL;
    size_t const length = strcspn(address, "?");
    int i;
    if (strncmp(address, "dig2://", 7) != 0 && strncmp(address, "dig1://caen.internal/", 21) != 0)
        return fail(NOT_FOUND, "no device answers", address);
    for (i = 0; i < BOARDS; ++i) {
        struct board* each = &boards[i];
        if (!each->is_open)
            free_one = each;
        else if (strcspn(each->options.text, "?") == length && strncmp(each->options.text, address, length) == 0)
            return fail(ALREADY_OPEN, "the device is already open", address);
    }
    if (free_one == NULL) return fail(GENERIC, "too many devices", "");
    memset(free_one, 0, sizeof *free_one);
    free_one->options.variable = "THALWEG_FELIB";
    free_one->options.separators = "?&";
    snprintf(free_one->options.text, sizeof free_one->options.text, "%s", address);
    if (strstr(address, "nowhere") != NULL || is_away(&free_one->options))
        return fail(NOT_FOUND, "no device answers", address);
    if (number(&free_one->options, "busy", 0) != 0) return fail(ALREADY_OPEN, "the device is already open", address);
    if (number(&free_one->options, "old", 0) != 0) return fail(NO_LIBRARY, "no library for this scheme", address);
    free_one->is_open = 1;
    free_one->is_new = address[3] == '2';
    free_one->channels = (int)number(&free_one->options, "channels", 8);
    put_values(free_one);
    *handle = handle_of(free_one, "");
    return 0;
}

int CAEN_FELib_Close(uint64_t handle) {
    struct board* board = board_of(handle);
    if (board == NULL) return fail(BAD_HANDLE, "not a valid handle", "");
    board->is_open = 0;
    return 0;
}

#ifndef NO_FORMAT
int CAEN_FELib_SetReadDataFormat(uint64_t handle, char const* json) {
    struct board* board = board_of(handle);
    char const* at = json;
    if (board == NULL) return fail(BAD_HANDLE, "not a valid handle", "");
    if (board->armed) return fail(COMMAND, "the format is set before the board is armed", "");
    board->field_count = 0;
    while ((at = strchr(at, '{')) != NULL && board->field_count < FIELDS) {
        struct field* field = &board->fields[board->field_count++];
        char const* name = strstr(at, "\"name\"");
        char const* type = strstr(at, "\"type\"");
        if (name == NULL || type == NULL) return fail(INVALID, "the format is not understood", json);
        if (sscanf(name, "\"name\" : \"%31[A-Z0-9_]\"", field->name) != 1 ||
            sscanf(type, "\"type\" : \"%7[A-Z0-9_]\"", field->type) != 1)
            return fail(INVALID, "the format is not understood", json);
        ++at;
    }
    return 0;
}
#endif

int CAEN_FELib_GetImplLibVersion(uint64_t handle, char* text) {
    (void)handle;
    strcpy(text, "1.6.0");
    return 0;
}

int CAEN_FELib_GetDeviceTree(uint64_t handle, char* text, size_t size) {
    (void)handle;
    return snprintf(text, size, "{}");
}

int CAEN_FELib_GetChildHandles(uint64_t handle, char const* path, uint64_t* to, size_t size) {
    int i;
    BOARD;
    if (strcasecmp(full, "/ch") != 0) return 0;
    for (i = 0; i < board->channels && (size_t)i < size; ++i) {
        snprintf(full, sizeof full, "/ch/%d", i);
        to[i] = handle_of(board, full);
    }
    return board->channels;
}

int CAEN_FELib_GetHandle(uint64_t handle, char const* path, uint64_t* to) {
    BOARD;
    *to = handle_of(board, full);
    return 0;
}

int CAEN_FELib_GetParentHandle(uint64_t handle, char const* path, uint64_t* to) {
    BOARD;
    if (strrchr(full, '/') != NULL) *strrchr(full, '/') = 0;
    *to = handle_of(board, full);
    return 0;
}

int CAEN_FELib_GetPath(uint64_t handle, char* text) {
    char const* const path = NULL;
    BOARD;
    snprintf(text, 256, "%s", full);
    return 0;
}

int CAEN_FELib_GetNodeProperties(uint64_t handle, char const* path, char* name, int* type) {
    BOARD;
    snprintf(name, 32, "%.31s", strrchr(full, '/') == NULL ? "" : strrchr(full, '/') + 1);
    *type = value_of(board, full) != NULL ? 1 : 0;
    return 0;
}

int CAEN_FELib_GetValue(uint64_t handle, char const* path, char* text) {
    char const* value;
    BOARD;
    value = value_of(board, full);
    if (value == NULL) return fail(INVALID, "no such parameter", full);
    strcpy(text, value);
    return 0;
}

int CAEN_FELib_SetValue(uint64_t handle, char const* path, char const* value) {
    char text[64];
    BOARD;
    if (value_of(board, full) == NULL) return fail(INVALID, "no such parameter", full);
    snprintf(text, sizeof text, "%s", value);
    if (strcasestr(full, "RECORDLENGTHS") != NULL) snprintf(text, sizeof text, "%d", (atoi(value) + 3) / 4 * 4);
    if (strcasestr(full, "RECLEN") != NULL) snprintf(text, sizeof text, "%d", (atoi(value) + 19) / 20 * 20);
    put_value(board, full, text);
    return 0;
}

int CAEN_FELib_GetUserRegister(uint64_t handle, uint32_t address, uint32_t* value) {
    (void)handle, (void)address;
    *value = 0;
    return 0;
}

int CAEN_FELib_SetUserRegister(uint64_t handle, uint32_t address, uint32_t value) {
    (void)handle, (void)address, (void)value;
    return 0;
}

static int is_on(struct board* board, int channel) {
    char path[64];
    snprintf(path, sizeof path, "/ch/%d/par/%s", channel, board->is_new ? "CHENABLE" : "CH_ENABLED");
    return strcasecmp(value_of(board, path), "true") == 0;
}

static int is_dpp(struct board* board) { return strncmp(value_of(board, "/par/FWTYPE"), "DPP", 3) == 0; }

static int64_t record_length(struct board* board, int64_t trigger) {
    double const every = number(&board->options, "short_every", 1e18);
    int64_t length;
    if (!board->is_new)
        length = atoll(value_of(board, "/par/RECLEN")) / 2;
    else
        length = atoll(value_of(board, is_dpp(board) ? "/ch/0/par/CHRECORDLENGTHS" : "/par/RECORDLENGTHS"));
    return fmod((double)trigger + 1, every) == 0 ? length / 8 * 4 : length;
}

/* Returns how many triggers there were. */
static int64_t triggers(struct board* board) {
    double const end = number(&board->options, "end_at", 1e18);
    if (!board->running) return board->total;
    board->total = (int64_t)fmin(floor((now() - board->began) * number(&board->options, "rate", 1000)), end);
    if ((double)board->total >= end) board->running = 0;
    return board->total;
}

int CAEN_FELib_SendCommand(uint64_t handle, char const* path) {
    char const* name;
    int starts;
    BOARD;
    name = strrchr(full, '/') + 1;
    starts = strcasecmp(name, "SWSTARTACQUISITION") == 0;
    if (strcasecmp(name, "RESET") == 0) {
        put_values(board);
    } else if (strcasecmp(name, "ARMACQUISITION") == 0) {
        if (board->field_count == 0) return fail(COMMAND, "no format was set", full);
        board->armed = 1;
        board->stop_is_told = board->start_is_told = 0;
        starts = !board->is_new;
    } else if (strcasecmp(name, "DISARMACQUISITION") == 0) {
        triggers(board);
        board->armed = board->running = 0;
    } else if (!starts && strcasecmp(name, "CLEARDATA") != 0 && strcasecmp(name, "SENDSWTRIGGER") != 0 &&
               strcasecmp(name, "CALIBRATEADC") != 0) {
        return fail(COMMAND, "no such command", full);
    }
    if (starts) {
        if (!board->armed) return fail(COMMAND, "the board is not armed", full);
        board->running = 1;
        board->began = now();
        board->taken = board->total = 0;
        board->next_channel = 0;
    }
    return 0;
}

int CAEN_FELib_HasData(uint64_t handle, int timeout) {
    struct board* board = board_of(handle);
    (void)timeout;
    if (board == NULL) return fail(BAD_HANDLE, "not a valid handle", "");
    return triggers(board) > board->taken ? 0 : TIMEOUT;
}

static uint64_t tag_of(struct board* board, int64_t trigger) {
    double const step = number(&board->options, "tag_step", 1e9 / 8 / number(&board->options, "rate", 1000));
    uint64_t const range = (uint64_t)1 << (board->is_new ? 48 : 31);
    return (uint64_t)((double)trigger * step) & (range - 1);
}

static uint32_t id_of(struct board* board, int64_t trigger) {
    return (uint32_t)((int64_t)number(&board->options, "first_id", 0) + trigger) & 0xffffff;
}

static uint16_t sample_of(int channel, int64_t trigger, int64_t sample) {
    return (uint16_t)(8192 + channel * 100 + (sample + trigger) % 64);
}

static void put_number(struct field const* field, void* to, uint64_t value) {
    if (strchr(field->type, '8') != NULL) *(uint8_t*)to = (uint8_t)value;
    if (strstr(field->type, "16") != NULL) *(uint16_t*)to = (uint16_t)value;
    if (strstr(field->type, "32") != NULL) *(uint32_t*)to = (uint32_t)value;
    if (strstr(field->type, "64") != NULL || strcmp(field->type, "SIZE_T") == 0) *(uint64_t*)to = value;
}

static size_t size_of(struct field const* field) {
    return strchr(field->type, '8') != NULL ? 1 : strstr(field->type, "16") != NULL ? 2 : 4;
}

static void put_samples(struct board* board, struct field const* field, void* to, int channel, int64_t length) {
    int64_t i;
    for (i = 0; i < length; ++i)
        put_number(field, (char*)to + size_of(field) * (size_t)i, sample_of(channel, board->taken, i));
}

static void put_scope(struct board* board, struct field const* field, void* to) {
    int64_t const trigger = board->taken, length = record_length(board, trigger);
    int channel;
    if (strcmp(field->name, "TIMESTAMP") == 0) put_number(field, to, tag_of(board, trigger));
    if (strcmp(field->name, "TRIGGER_ID") == 0) put_number(field, to, id_of(board, trigger));
    if (strcmp(field->name, "FLAGS") == 0) put_number(field, to, (uint64_t)trigger & 0x1fff);
    for (channel = 0; channel < board->channels; ++channel) {
        if (strcmp(field->name, "WAVEFORM_SIZE") == 0)
            put_number(field, (char*)to + 8 * channel, is_on(board, channel) ? (uint64_t)length : 0);
        if (strcmp(field->name, "WAVEFORM") == 0 && is_on(board, channel))
            put_samples(board, field, ((void**)to)[channel], channel, length);
    }
}

static void put_dpp(struct board* board, struct field const* field, void* to) {
    int64_t const trigger = board->taken, length = record_length(board, trigger);
    int const channel = board->next_channel;
    if (strcmp(field->name, "CHANNEL") == 0) put_number(field, to, (uint64_t)channel);
    if (strcmp(field->name, "TIMESTAMP") == 0) put_number(field, to, tag_of(board, trigger));
    if (strcmp(field->name, "FINE_TIMESTAMP") == 0) put_number(field, to, (uint64_t)trigger % 1024);
    if (strcmp(field->name, "ENERGY") == 0) put_number(field, to, (uint64_t)(7 * trigger + channel));
    if (strcmp(field->name, "ENERGY_SHORT") == 0) put_number(field, to, (uint64_t)(5 * trigger + channel));
    if (strcmp(field->name, "FLAGS_LOW_PRIORITY") == 0) put_number(field, to, (uint64_t)trigger & 0xfff);
    if (strcmp(field->name, "FLAGS_HIGH_PRIORITY") == 0) put_number(field, to, (uint64_t)channel);
    if (strcmp(field->name, "WAVEFORM_SIZE") == 0) put_number(field, to, (uint64_t)length);
    if (strcmp(field->name, "ANALOG_PROBE_1") == 0) put_samples(board, field, to, channel, length);
}

static uint8_t* put_word(uint8_t* to, uint64_t word) {
    int i;
    for (i = 7; i >= 0; --i) *to++ = (uint8_t)(word >> 8 * i);
    return to;
}

static uint8_t* put_raw_event(struct board* board, uint8_t* to) {
    int64_t const trigger = board->taken, length = record_length(board, trigger);
    uint64_t mask = 0, words = 3;
    int channel, i;
    int64_t place;
    for (channel = 0; channel < board->channels; ++channel)
        if (is_on(board, channel)) mask |= (uint64_t)1 << channel, words += (uint64_t)length / 4;
    to = put_word(to, (uint64_t)1 << 60 | (uint64_t)id_of(board, trigger) << 32 | words);
    to = put_word(to, (uint64_t)(trigger & 0x1fff) << 51 | tag_of(board, trigger));
    to = put_word(to, mask);
    for (place = 0; place < length; place += 4) {
        for (channel = 0; channel < board->channels; ++channel) {
            uint64_t four = 0;
            if (!(mask >> channel & 1)) continue;
            for (i = 0; i < 4; ++i) four |= (uint64_t)sample_of(channel, trigger, place + i) << 16 * i;
            to = put_word(to, four);
        }
    }
    return to;
}

/* Leaves out triggers that are lost. Returns whether there is one to be handed out. */
static int find_trigger(struct board* board) {
    double const every = number(&board->options, "lost_every", 1e18);
    int64_t const record = 2 * record_length(board, 0), seen = triggers(board);
    int64_t const room = (int64_t)(number(&board->options, "memory", 1e9) / (double)(record > 0 ? record : 1));
    if (seen - board->taken > room) board->taken = seen - room;
    if (board->next_channel == 0 && fmod((double)board->taken + 1, every) == 0 && board->taken < seen) ++board->taken;
    return board->taken < seen;
}

static size_t put_block(struct board* board, uint8_t* data, uint32_t* count) {
    double const every = number(&board->options, "truncate_every", 1e18);
    int64_t const most = (int64_t)number(&board->options, "block", 100);
    uint8_t* to = data;
    *count = 0;
    if (!board->start_is_told) {
        to = put_word(put_word(put_word(put_word(to, (uint64_t)3 << 60 | (uint64_t)3 << 32 | 4), 256), 3), 0);
        board->start_is_told = 1;
    }
    while (*count < most && to - data < RAW_BYTES / 2 && find_trigger(board)) {
        to = put_raw_event(board, to);
        ++board->taken, ++*count;
    }
    if (fmod((double)++board->blocks, every) == 0 && *count > 0) to -= 40;
    if (*count == 0 && !board->running && !board->stop_is_told) {
        uint64_t const real = (uint64_t)((double)board->total / number(&board->options, "rate", 1000) * 125e6);
        to = put_word(to, (uint64_t)3 << 60 | (uint64_t)2 << 56 | (uint64_t)2 << 32 | 3);
        to = put_word(put_word(to, real), (uint64_t)1 << 56 | (uint64_t)number(&board->options, "dead", 0));
        board->stop_is_told = 1;
    }
    return (size_t)(to - data);
}

static void put_event(struct board* board, va_list to) {
    int i;
    for (i = 0; i < board->field_count; ++i) {
        if (is_dpp(board))
            put_dpp(board, &board->fields[i], va_arg(to, void*));
        else
            put_scope(board, &board->fields[i], va_arg(to, void*));
    }
    if (is_dpp(board)) {
        do ++board->next_channel;
        while (board->next_channel < board->channels && !is_on(board, board->next_channel));
        if (board->next_channel < board->channels) return;
        board->next_channel = 0;
    }
    ++board->taken;
}

int CAEN_FELib_ReadData(uint64_t handle, int timeout, ...) {
    struct board* board = board_of(handle);
    double const end = now() + timeout * 1e-3;
    char const* endpoint;
    int is_raw;
    va_list to;
    if (board == NULL) return fail(BAD_HANDLE, "not a valid handle", "");
    endpoint = strrchr(paths[handle & 0xffffffff], '/') + 1;
    if (strcasecmp(value_of(board, "/endpoint/par/ACTIVEENDPOINT"), endpoint) != 0)
        return fail(DISABLED, "the endpoint is not active", endpoint);
    is_raw = strcasecmp(endpoint, "raw") == 0;
    if (fmod((double)++board->reads, number(&board->options, "slow_every", 1e18)) == 0)
        wait_ms(number(&board->options, "slow_ms", 0));
    if (is_due(&board->options, "crash_at", board->taken)) raise(11);
    if (is_due(&board->options, "hang_at", board->taken))
        for (;;) wait_ms(1000);
    if (is_due(&board->options, "error_at", board->taken) || is_due(&board->options, "unplug_at", board->taken) ||
        is_away(&board->options))
        return fail(COMMUNICATION, "the connection is broken", endpoint);
    if (board->owes_stop && board->running) {
        board->owes_stop = 0;
        return fail(STOP, "the run has ended", endpoint);
    }
    while (!find_trigger(board)) {
        if (is_raw && (!board->start_is_told || (!board->running && !board->stop_is_told))) break;
        if (!is_raw && !board->running && !board->stop_is_told) {
            board->stop_is_told = 1;
            board->owes_stop = number(&board->options, "late_stop", 0) != 0;
            if (board->owes_stop) continue;
            return fail(STOP, "the run has ended", endpoint);
        }
        if (timeout >= 0 && now() >= end) return fail(TIMEOUT, "no event came", endpoint);
        wait_ms(0.2);
    }
    va_start(to, timeout);
    if (is_raw) {
        uint8_t* data = va_arg(to, uint8_t*);
        size_t* size = va_arg(to, size_t*);
        *size = put_block(board, data, va_arg(to, uint32_t*));
    } else {
        put_event(board, to);
    }
    va_end(to);
    return 0;
}
