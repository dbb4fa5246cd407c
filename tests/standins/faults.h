/* What stand-ins for drivers have in common: options, and faults that are due after so many triggers.
 *
 *     error_at=N, unplug_at=N with unplug_for=S, hang_at=N, crash_at=N     after N triggers
 *     once=FILE            these happen once, and the file says when */
#pragma once

#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The options of a device stand in an environment variable, which has the last word, and in a text. They are words like
 * rate=20000, with one of the separators between them. */
struct options {
    char const *variable, *separators;
    char text[2048];
};

static inline char const* option(struct options const* options, char const* name) {
    char const* const places[2] = {getenv(options->variable), options->text};
    char key[64];
    int i;
    snprintf(key, sizeof key, "%s=", name);
    for (i = 0; i < 2; ++i) {
        char const* at = places[i];
        while (at != NULL && (at = strstr(at, key)) != NULL) {
            if (at == places[i] || strchr(options->separators, at[-1]) != NULL) return at + strlen(key);
            ++at;
        }
    }
    return NULL;
}

static inline double number(struct options const* options, char const* name, double otherwise) {
    char const* text = option(options, name);
    if (text == NULL) return otherwise;
    return strncmp(text, "0x", 2) == 0 ? (double)strtoull(text, NULL, 16) : strtod(text, NULL);
}

static inline int word(struct options const* options, char const* name, char* to, size_t size) {
    char const* text = option(options, name);
    size_t length = text == NULL ? 0 : strcspn(text, options->separators);
    if (length >= size) length = size - 1;
    if (text != NULL) memcpy(to, text, length);
    to[length] = 0;
    return text != NULL;
}

static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void wait_ms(double duration) {
    struct timespec const time = {(time_t)(duration / 1e3), (long)(fmod(duration, 1e3) * 1e6)};
    if (duration > 0) nanosleep(&time, NULL);
}

/* Returns whether the fault of this name is due, after so many triggers. */
static inline int is_due(struct options const* options, char const* name, int64_t triggers) {
    double const at = number(options, name, -1);
    char path[1024];
    if (at < 0 || (double)triggers < at) return 0;
    if (!word(options, "once", path, sizeof path)) return 1;
    if (access(path, F_OK) == 0) return 0;
    FILE* file = fopen(path, "w");
    if (file == NULL) abort();
    fprintf(file, "%.9f", now());
    fclose(file);
    return 1;
}

/* Returns whether the device was unplugged, and is not back yet. */
static inline int is_away(struct options const* options) {
    double when = 0, duration = number(options, "unplug_for", 0);
    char path[1024];
    if (duration <= 0 || !word(options, "once", path, sizeof path)) return 0;
    FILE* file = fopen(path, "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%lf", &when) != 1) when = 0;
    fclose(file);
    return now() < when + duration;
}
