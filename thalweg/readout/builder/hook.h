/* A hook is what a detector adds to the building of fragments: a shared object that exports `thalweg_hook`. The
 * interface is plain C, so any compiler can build it. One thread calls each instance; every group has an instance of
 * its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THALWEG_HOOK_ABI 1

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C has no other way, and these names */

/* The identity of a packet. */
typedef struct thalweg_trigger {
    uint32_t l1id; /* ECR << 24 | L1ID */
    uint16_t bcid;
    uint16_t reserved;
    uint32_t trigger_type;
} thalweg_trigger;

/* Functions that are not needed may be NULL. They return 0 on success. */
typedef struct thalweg_hook_api {
    uint32_t abi; /* THALWEG_HOOK_ABI */
    char const* name;
    /* Returns an instance for the group of `source_id`, or NULL if it cannot be made: the handler then does not
     * start. */
    void* (*create)(char const* configuration, uint32_t source_id);
    void (*destroy)(void* self);
    /* Reads the trigger information of a packet, instead of l1id_offset and bcid_offset. Returns 0 on success. For
     * any other value the packet has no trigger information, and is counted as orphaned. */
    int (*trigger)(void* self, uint8_t const* packet, size_t size, uint16_t elink, thalweg_trigger* out);
    /* Returns 0 if the packet is sound. For any other value it is damaged, and its fragment is marked. */
    int (*check)(void* self, uint8_t const* packet, size_t size, uint16_t elink);
    /* Rewrites what lies behind the header of a finished fragment: `body` holds `*size` bytes and has room for
     * `capacity`. Returns 0 on success. For any other value the fragment stays as it was, and is marked. */
    int (*rewrite)(void* self, uint64_t event, uint8_t* body, size_t* size, size_t capacity);
} thalweg_hook_api;

/* The only exported function. */
thalweg_hook_api const* thalweg_hook(void);
/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif
