// What handlers and their clients say to each other over TCP (docs/formats/readout-protocol.md). Every message is a
// MessageHead and `length_bytes` more. Little endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/readout/event_state.h"
#include "thalweg/readout/seal.h"

namespace thalweg::readout {

inline constexpr std::uint16_t kProtocolVersion = 2;
inline constexpr std::uint32_t kProtocolMarker = 0x52475754; // "TWGR"
inline constexpr std::uint32_t kMaxRequestEvents = 4096;
inline constexpr std::uint64_t kEventsOfEcr = 1 << 24;        // no range goes beyond
inline constexpr std::uint32_t kMaxClientMessageBytes = 4096; // what a server takes

enum class MessageType : std::uint16_t {
    // from the client
    hello = 1, // Hello; the first message
    take = 2,  // Take: a range of closed events to own
    get = 3,   // Get: the events of a range
    clear = 4, // Clear: of a range it owns
    bye = 5,   // nothing: gives its leases back
    // from the server
    welcome = 16, // Welcome
    taken = 17,   // Taken
    events = 18,  // Events, then for each event an EventRecord and its fragments
    cleared = 19, // Cleared
    refused = 20, // Refused, then a sentence in UTF-8
};

struct MessageHead {
    std::uint32_t marker = kProtocolMarker;
    std::uint16_t version = kProtocolVersion;
    MessageType type = MessageType::hello;
    std::uint32_t length_bytes = 0; // behind this head
    std::uint32_t tag = 0;          // the client's; an answer repeats it
};
static_assert(sizeof(MessageHead) == 16);

enum class Role : std::uint32_t {
    collector = 0, // owns ranges and clears them
    observer = 1,  // samples; its requests never hold events back, and it clears nothing
};

// The token follows, 0 to 256 bytes.
struct Hello {
    Role role = Role::collector;
    std::uint32_t token_bytes = 0;
    std::uint64_t client[2] = {}; // random; the same on all connections of one client, and when it comes back
};
static_assert(sizeof(Hello) == 24);

struct Welcome {
    std::uint64_t instance = 0; // random; another one when the handler was started anew
    std::uint32_t run = 0;
    std::uint32_t groups = 0;             // fragments of an event, at most
    std::uint64_t first_event = 0;        // the oldest that is kept; 0: none yet
    std::uint64_t closed_event = 0;       // all before it are closed
    std::uint32_t state = 0;              // State
    std::uint32_t max_fragment_bytes = 0; // of an event: the sum over groups
    std::uint64_t lease_ns = 0;
};
static_assert(sizeof(Welcome) == 48);

// Answered as soon as there are events, with as many as there are, at most `count`; with none at the deadline.
struct Take {
    std::uint32_t run = 0; // 0: the one that runs
    std::uint32_t count = 0;
    std::uint32_t deadline_ms = 0;
    std::uint32_t min_count = 1;   // rather wait for so many
    std::uint32_t left_behind = 0; // 1: only what nobody asked for, though others asked for what is later
    std::uint32_t reserved = 0;
    Seal seal = {}; // of the key with which the range can be cleared
};
static_assert(sizeof(Take) == 40);

struct Taken {
    std::uint64_t first = 0;
    std::uint32_t run = 0;
    std::uint32_t count = 0;     // 0: none
    std::uint32_t ended = 0;     // 1: the run is stopped, and nothing more will come
    std::uint32_t again = 0;     // 1: somebody else had this range, and did not clear it
    std::uint32_t continues = 0; // 1: events go on in the numbers of a handler before this one; 0: from the beginning
    std::uint32_t reserved = 0;
};
static_assert(sizeof(Taken) == 32);

// Within one ECR. Answered when the whole range is closed, or with what there is at the deadline.
struct Get {
    std::uint64_t first = 0;
    std::uint32_t run = 0;
    std::uint32_t count = 0;
    std::uint32_t max_bytes = 0; // of the answer; it holds at least one event
    std::uint32_t deadline_ms = 0;
    Seal seal = {}; // as in Take; of observers nothing
};
static_assert(sizeof(Get) == 40);

struct Events {
    std::uint64_t first = 0;
    std::uint64_t next = 0; // the first event that this answer does not hold
    std::uint32_t run = 0;
    std::uint32_t count = 0; // next - first
};
static_assert(sizeof(Events) == 24);

struct EventRecord {
    std::uint64_t event = 0;
    std::uint32_t bytes = 0; // of its fragments, which follow: each says its own length
    EventState state = EventState::not_yet;
    std::uint8_t reserved = 0;
    std::uint16_t fragments = 0;
};
static_assert(sizeof(EventRecord) == 16);

struct Clear {
    std::uint64_t first = 0;
    std::uint32_t run = 0;
    std::uint32_t count = 0;
    Key key = {}; // that the seal is made of
};
static_assert(sizeof(Clear) == 32);

struct Cleared {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t done = 0; // 1: they are; 0: somebody else owns (some of) them now
};
static_assert(sizeof(Cleared) == 16);

enum class Refusal : std::uint32_t {
    malformed = 1,   // the connection ends
    not_allowed = 2, // wrong token, or no hello; the connection ends
    wrong_run = 3,
    bad_range = 4, // count 0 or above 4096, more than one ECR, beyond 2^64
    not_owner = 5, // an observer that takes or clears
    busy = 6,      // too many connections; the connection ends
};

struct Refused {
    Refusal why = Refusal::malformed;
    std::uint32_t run = 0;
};
static_assert(sizeof(Refused) == 8);

} // namespace thalweg::readout
