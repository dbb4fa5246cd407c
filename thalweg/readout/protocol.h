// The messages that handlers and their clients exchange over stream sockets (docs/formats/readout-protocol.md). Every
// message is a MessageHead and `length_bytes` more. All numbers are little endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thalweg/readout/event_state.h"
#include "thalweg/readout/seal.h"

namespace thalweg::readout {

inline constexpr std::uint16_t kProtocolVersion = 4;
inline constexpr std::uint32_t kProtocolMarker = 0x52475754; // "TWGR"
inline constexpr std::uint32_t kMaxRequestEvents = 4096;
inline constexpr std::size_t kMaxTokenBytes = 256;
inline constexpr std::size_t kMaxRequestRanges = 64;          // that one message takes or clears
inline constexpr std::uint64_t kEventsOfEcr = 1 << 24;        // a range never crosses this border
inline constexpr std::uint32_t kMaxClientMessageBytes = 4096; // the longest message that a server accepts

enum class MessageType : std::uint16_t {
    // from the client
    hello = 1,   // Hello; the first message
    take = 2,    // Take: ranges of closed events to own
    get = 3,     // Get: the events of a range
    clear = 4,   // Clear, up to kMaxRequestRanges times: forget ranges that the client owns
    bye = 5,     // empty; the client gives its leases back
    share = 6,   // Share: memory for answers, over a Unix socket
    release = 7, // Release: the client needs answers in this memory no more
    // from the server
    welcome = 16,   // Welcome
    taken = 17,     // Taken, then a TakenRange for each further range
    events = 18,    // EventsHead, then for each event an EventRecord and its fragments
    cleared = 19,   // Cleared, for each Clear of the request
    refused = 20,   // Refused, then a sentence in UTF-8
    shared = 21,    // Shared, with the memory
    in_memory = 22, // InMemory: where in the memory the body of an `events` lies
};

struct MessageHead {
    std::uint32_t marker = kProtocolMarker;
    std::uint16_t version = kProtocolVersion;
    MessageType type = MessageType::hello;
    std::uint32_t length_bytes = 0; // behind this head
    std::uint32_t tag = 0;          // the client chooses it; an answer repeats it
};
static_assert(sizeof(MessageHead) == 16);

enum class ClientRole : std::uint32_t {
    collector = 0, // owns ranges and clears them
    observer = 1,  // takes samples; its requests never hold events back, and it clears nothing
};

// The token follows, with 0 to 256 bytes.
struct Hello {
    ClientRole role = ClientRole::collector;
    std::uint32_t token_bytes = 0;
    std::uint64_t client[2] = {}; // random; the same on all connections of one client, also after it reconnects
};
static_assert(sizeof(Hello) == 24);

enum class ReadoutState : std::uint32_t { initial, configured, running, paused, stopped };

struct Welcome {
    std::uint64_t instance = 0; // random; it changes when the handler is restarted
    std::uint32_t run = 0;
    std::uint32_t groups = 0;             // the largest number of fragments per event
    std::uint64_t first_event = 0;        // the oldest event that is kept; 0: none yet
    std::uint64_t closed_event = 0;       // every event before this one is closed
    std::uint32_t state = 0;              // a ReadoutState
    std::uint32_t max_fragment_bytes = 0; // limit of an event: the sum over the groups
    std::uint64_t lease_ns = 0;
};
static_assert(sizeof(Welcome) == 48);

// A RangeSeal follows for each further range that the client would take, up to kMaxRequestRanges with the first one.
// The answer comes as soon as there is a range, and holds those that there are then, of up to `count` events each. At
// the deadline it may hold none.
struct Take {
    std::uint32_t run = 0; // 0: the current run
    std::uint32_t count = 0;
    std::uint32_t deadline_ms = 0;
    std::uint32_t min_count = 1;   // no range is shorter, unless it can never become so long
    std::uint32_t left_behind = 0; // 1: only events that no client asked for although later ones were asked for
    std::uint32_t reserved = 0;
    RangeSeal seal = {}; // the seal of the key with which the first range can be cleared
};
static_assert(sizeof(Take) == 40);

struct Taken {
    std::uint64_t first = 0;
    std::uint32_t run = 0;
    std::uint32_t count = 0; // 0: none
    std::uint32_t ended = 0; // 1: the run is stopped, and no more events will come
    std::uint32_t again = 0; // 1: another client had this range and did not clear it
    // 1: the event numbers continue those of an earlier handler; 0: they start at the beginning.
    std::uint32_t continues = 0;
    std::uint32_t is_over = 0; // 1: the run is over at this handler, which closes no more events
};
static_assert(sizeof(Taken) == 32);

// A further range: it belongs to the next seal of the Take.
struct TakenRange {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t again = 0;
};
static_assert(sizeof(TakenRange) == 16);

// The range lies within one ECR. The answer comes when the whole range is closed, or at the deadline with what there
// is.
struct Get {
    std::uint64_t first = 0;
    std::uint32_t run = 0;
    std::uint32_t count = 0;
    std::uint32_t max_bytes = 0; // limit of the answer; it holds at least one event
    std::uint32_t deadline_ms = 0;
    RangeSeal seal = {}; // as in Take; an observer sends zeros
};
static_assert(sizeof(Get) == 40);

struct EventsHead {
    std::uint64_t first = 0;
    std::uint64_t next = 0; // the first event that this answer does not hold
    std::uint32_t run = 0;
    std::uint32_t count = 0; // next - first
};
static_assert(sizeof(EventsHead) == 24);

struct EventRecord {
    std::uint64_t event = 0;
    std::uint32_t bytes = 0; // size of its fragments, which follow; each fragment has its own length
    EventState state = EventState::not_yet;
    // 1: the handler's run was over before it came to this event, whose state is absent. The next reader of the buffer
    // may have it.
    std::uint8_t is_behind_end = 0;
    std::uint16_t fragments = 0;
};
static_assert(sizeof(EventRecord) == 16);

// All ranges of one message are of one run.
struct Clear {
    std::uint64_t first = 0;
    std::uint32_t run = 0;
    std::uint32_t count = 0;
    RangeKey key = {}; // the key from which the seal was made
};
static_assert(sizeof(Clear) == 32);

struct Cleared {
    std::uint64_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t done = 0; // 1: they are cleared; 0: another client owns some of them now
};
static_assert(sizeof(Cleared) == 16);

// Only the first one of a connection is answered, and only a collector gets memory.
struct Share {
    std::uint64_t bytes = 0; // that the client would have
};
static_assert(sizeof(Share) == 8);

struct Shared {
    std::uint64_t bytes = 0; // size of the memory; 0: none, and all answers come over the socket
};
static_assert(sizeof(Shared) == 8);

struct InMemory {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};
static_assert(sizeof(InMemory) == 16);

struct Release {
    std::uint64_t answers = 0; // since the beginning of the connection, in the order in which they came
};
static_assert(sizeof(Release) == 8);

enum class Refusal : std::uint32_t {
    malformed = 1,   // the connection ends
    not_allowed = 2, // wrong token, or no hello; the connection ends
    wrong_run = 3,
    bad_range = 4, // count 0 or above 4096, more than one ECR, beyond 2^64
    not_owner = 5, // an observer takes or clears
    busy = 6,      // too many connections; the connection ends
};

struct Refused {
    Refusal why = Refusal::malformed;
    std::uint32_t run = 0;
};
static_assert(sizeof(Refused) == 8);

} // namespace thalweg::readout
