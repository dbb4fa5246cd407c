/* A hook that misbehaves after a number of packets, as its configuration says: "spin 2000" never returns again, "take
 * 2000" takes memory, 1 GiB at most, and never returns, and "refuse 2000" says that packets are damaged. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thalweg/readout/builder/hook.h"

enum { kPiece = 1 << 20, kMostPieces = 1024 };

typedef struct hostile {
    char what[8];
    unsigned long left;
} hostile;

static void* create(char const* configuration, uint32_t source_id) {
    (void)source_id;
    hostile* self = calloc(1, sizeof *self);
    if (self == NULL) return NULL;
    if (sscanf(configuration, "%7s %lu", self->what, &self->left) != 2) {
        free(self);
        return NULL;
    }
    return self;
}

static void destroy(void* self) { free(self); }

static void take(void) {
    for (int i = 0; i < kMostPieces; ++i) {
        char* const piece = malloc(kPiece);
        if (piece != NULL) memset(piece, i + 1, kPiece); /* it is kept on purpose */
    }
}

static int check(void* of, uint8_t const* packet, size_t size, uint16_t elink) {
    hostile* const self = of;
    (void)packet, (void)size, (void)elink;
    if (self->left > 0) {
        --self->left;
        return 0;
    }
    if (strcmp(self->what, "refuse") == 0) return 1;
    if (strcmp(self->what, "take") == 0) {
        take();
        while (pause() != 0) continue;
    }
    unsigned long volatile turns = 0;
    while (self->left == 0) ++turns;
    return 0;
}

thalweg_hook_api const* thalweg_hook(void) {
    static thalweg_hook_api const api = {
        .abi = THALWEG_HOOK_ABI, .name = "hostile", .create = create, .destroy = destroy, .check = check};
    return &api;
}
