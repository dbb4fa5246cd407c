/* An example of a hook, which adds detector code to the building of fragments. It reads the event number at a
 * configured offset, refuses packets whose first byte is not 0xA5, and compresses by leaving out every second byte.
 *
 *   cc -shared -fPIC -I PREFIX/include -o hook.so hook.c
 */
#include <stdlib.h>
#include <string.h>

#include "thalweg/readout/builder/hook.h"

struct detector {
    uint32_t source_id;
    int offset; /* place of the event number in a packet */
};

static void* create(char const* configuration, uint32_t source_id) {
    struct detector* self = malloc(sizeof *self);
    if (self == NULL) return NULL;
    self->source_id = source_id;
    self->offset = atoi(configuration);
    return self;
}

static int trigger(void* self, uint8_t const* packet, size_t size, uint16_t elink, thalweg_trigger* out) {
    struct detector const* detector = self;
    size_t const offset = (size_t)detector->offset;
    (void)elink;
    if (size < offset + 4) return 1;
    memcpy(&out->l1id, packet + offset, 4);
    out->bcid = 0;
    out->trigger_type = detector->source_id & 0xFF;
    return 0;
}

static int check(void* self, uint8_t const* packet, size_t size, uint16_t elink) {
    (void)self, (void)elink;
    return size > 0 && packet[0] == 0xA5 ? 0 : 1;
}

static int rewrite(void* self, uint64_t event, uint8_t* body, size_t* size, size_t capacity) {
    size_t const half = *size / 2;
    (void)self, (void)event, (void)capacity;
    for (size_t i = 0; i < half; ++i) body[i] = body[2 * i];
    *size = half;
    return 0;
}

thalweg_hook_api const* thalweg_hook(void) {
    static thalweg_hook_api const api = {
        .abi = THALWEG_HOOK_ABI,
        .name = "example",
        .create = create,
        .destroy = free,
        .trigger = trigger,
        .check = check,
        .rewrite = rewrite,
    };
    return &api;
}
