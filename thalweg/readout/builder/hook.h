/* What a detector adds to the building of fragments: a shared object that exports `thalweg_hook`. Plain C, so that it
 * can be built by any compiler. A hook is called by one thread for each instance; every group has its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THALWEG_HOOK_ABI 1

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C has no other way, and these names */

/* What identifies a packet. */
typedef struct thalweg_trigger {
    uint32_t l1id; /* ECR << 24 | L1ID */
    uint16_t bcid;
    uint16_t reserved;
    uint32_t trigger_type;
} thalweg_trigger;

/* Functions that are not needed may be NULL. They return 0 when all is well. */
typedef struct thalweg_hook_api {
    uint32_t abi; /* THALWEG_HOOK_ABI */
    char const* name;
    /* An instance for the group of `source_id`; NULL: it cannot be made, and the handler does not start. */
    void* (*create)(char const* configuration, uint32_t source_id);
    void (*destroy)(void* self);
    /* Reads the trigger information of a packet; in place of l1id_offset and bcid_offset. Else than 0: the packet has
     * none, and is counted as orphaned. */
    int (*trigger)(void* self, uint8_t const* packet, size_t size, uint16_t elink, thalweg_trigger* out);
    /* Else than 0: the packet is damaged; its fragment is marked. */
    int (*check)(void* self, uint8_t const* packet, size_t size, uint16_t elink);
    /* Rewrites what lies behind the header of a finished fragment: `body` holds `*size` bytes and has room for
     * `capacity`. Else than 0: it is left as it was, and marked. */
    int (*rewrite)(void* self, uint64_t event, uint8_t* body, size_t* size, size_t capacity);
} thalweg_hook_api;

/* The one exported function. */
thalweg_hook_api const* thalweg_hook(void);
/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif
