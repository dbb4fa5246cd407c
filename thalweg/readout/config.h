// The configuration of a readout (docs/readout.md): one TOML file describes all handlers, and every run keeps a copy.
// The command line turns the file into JSON, which is read here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::readout {

inline constexpr std::size_t kMaxPins = 64; // the largest number of threads that read an index at the same time

enum class Mode : std::uint8_t {
    build,       // the packets of a group's streams become one fragment per event
    relay,       // every link carries whole fragments and is a group of its own
    triggerless, // the key is a slice of time instead of an event
};

enum class WhenFull : std::uint8_t {
    busy,  // reading stops, and so does the card
    evict, // the oldest events make room
};

struct GroupConfig {
    std::uint32_t source_id = 0;
    std::vector<std::uint16_t> elinks;
    std::vector<std::uint16_t> disabled; // those of `elinks` that are neither waited for nor built
    // Limit of a fragment; a payload that does not fit is left out, and the fragment is marked.
    std::uint32_t fragment_bytes = 1024;
    Mode mode = Mode::build;
};

struct HookConfig {
    std::string library;            // a shared object, see readout/builder/hook.h; empty: there is no hook
    std::string configuration;      // text that the hook gets unchanged
    std::uint64_t budget_ns = 1000; // the time that one call may take
};

struct IndexConfig {
    std::uint64_t events = 1 << 17; // slots of a group; a power of two
    WhenFull when_full = WhenFull::busy;
    std::uint64_t window_events = 4096;        // a packet further ahead of the newest event is refused
    std::uint64_t close_after_events = 1024;   // W: an incomplete event closes when every live stream is so far past it
    std::uint64_t close_after_ns = 50'000'000; // T: or when its first packet is so old
    std::uint64_t dead_after_ns = 100'000'000; // a link is dead if it is silent for so long while others go on
    bool checksum = false;
};

struct TriggerConfig {
    std::uint32_t l1id_offset = 0; // offset of the u32 with ECR << 24 | L1ID in a packet; triggerless: of the timestamp
    std::uint32_t bcid_offset = 6; // offset of a u16 in a packet
    std::uint32_t slice_ticks = 1; // triggerless: ticks of the timestamp per slice
};

struct ServerConfig {
    std::string listen = "127.0.0.1:7700";
    std::vector<std::string> allow = {"127.0.0.0/8", "::1/128"};
    std::string token; // the secret that clients share; empty: clients need none, and no client may control over TCP
    std::string token_file; // from which it was read; empty: from none
    // Names of this machine that HTTP clients may use, besides its own name and addresses.
    std::vector<std::string> host_names;
    std::uint32_t threads = 2;
    std::uint32_t max_connections = 10'000;
    std::uint64_t queued_bytes = 8 << 20; // limit for one connection; beyond it the requests of this connection wait
    // The limit for all connections together, including what the kernel holds of their answers. Observers may use a
    // quarter.
    std::uint64_t queued_total_bytes = 256 << 20;
    // The memory for the answers to one client on this host, at most half of `queued_bytes`; 0: there is none.
    std::uint64_t shared_memory_bytes = 4 << 20;
    std::uint64_t lease_ns = 10'000'000'000; // an owner that is silent for so long loses its ranges
    // The longest time that a range stays with an owner that is not silent.
    std::uint64_t longest_lease_ns = 600'000'000'000;
    std::uint64_t outstanding_events = 16'384; // limit for all collectors together; the index must be deeper
    bool iovec = false;                        // send from the slots of the index instead of from one copy
    std::string congestion_control;            // "cubic", "bbr", "reno"; empty: the kernel's choice
    std::uint64_t pacing_bytes_s = 0;          // most that is sent to one client in a second; 0: no limit
};

struct HandlerConfig {
    std::string name = "dh0";
    std::string buffer = "thalweg-felix-felix0-0"; // felix::dma_name
    std::string address;                           // where collectors find it, if that is not `server.listen`
    std::string metrics;                           // address of /metrics, /healthz, /readyz and /control; empty: none
    std::string control_socket;                    // path of a Unix socket for the same pages; empty: none
    std::uint32_t threads = 0;           // threads that build; 0: one for each group, but at most one per processor
    double expected_rate_hz = 1'000'000; // the rate by which depths are converted to seconds
    std::string pinning = "none";        // "none", "auto", or "build=0-2,serve=3-4"
    // The processors on which each building or serving thread may run; resolve_pinning() derives them from `pinning`.
    // An empty list means any processor.
    std::vector<std::vector<std::uint32_t>> build_processors, serve_processors;
    std::uint64_t poll_ns = 30'000; // how long an idle thread sleeps
    std::vector<GroupConfig> groups;
    TriggerConfig trigger;
    IndexConfig index;
    ServerConfig server;
    HookConfig hook;
};

// Throws base::UsageError, which names handler, group and key, if something is unknown, missing, of the wrong type, out
// of range or contradictory (for example an e-link in two groups, or an index that is not deeper than the requests in
// flight need).
std::vector<HandlerConfig> parse_config(std::string_view json);
void validate(HandlerConfig const& config);

// The number of slots that stay free ahead of the newest event: for one window, for a jump behind it, and for the
// packets of one block.
constexpr std::uint64_t slots_ahead(IndexConfig const& index, std::uint32_t block_bytes) {
    return 4 * index.window_events + block_bytes;
}

// Returns where collectors connect to a handler. Throws base::UsageError if it listens on every network and has no
// `address`.
std::string address_for_collectors(HandlerConfig const& config);

// Returns the number of threads that build.
std::uint32_t build_threads(HandlerConfig const& config);

// Return the memory of the index over all groups, and the time that it can bridge at the expected rate.
std::uint64_t index_bytes(HandlerConfig const& config);
double depth_s(HandlerConfig const& config);

} // namespace thalweg::readout
