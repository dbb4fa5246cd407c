// The configuration of a readout: one TOML file for all its handlers, kept with every run (docs/readout.md). Here as
// the JSON into which the command line turns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::readout {

inline constexpr std::size_t kMaxPins = 64; // threads that read an index at the same time

enum class Mode : std::uint8_t {
    build,       // packets of a group's streams become one fragment an event
    relay,       // every link carries whole fragments: a group for each
    triggerless, // the key is a slice of time, not an event
};

enum class WhenFull : std::uint8_t {
    busy,  // reading stops, and with it the card
    evict, // the oldest events make room
};

struct GroupConfig {
    std::uint32_t source_id = 0;
    std::vector<std::uint16_t> elinks;
    std::vector<std::uint16_t> disabled; // of these: neither waited for nor built
    std::uint32_t fragment_bytes = 1024; // at most; what does not fit is left out, and marked
    Mode mode = Mode::build;
};

struct HookConfig {
    std::string library;            // a shared object, see readout/builder/hook.h; empty: none
    std::string configuration;      // handed to it as it is
    std::uint64_t budget_ns = 1000; // of one call
};

struct IndexConfig {
    std::uint64_t events = 1 << 17; // slots of a group: a power of two
    WhenFull when_full = WhenFull::busy;
    std::uint64_t window_events = 4096;        // packets further ahead of the newest event are refused
    std::uint64_t close_after_events = 1024;   // W: every live stream is so far past an incomplete event
    std::uint64_t close_after_ns = 50'000'000; // T: or so long ago its first packet came
    std::uint64_t dead_after_ns = 100'000'000; // a link that is silent for so long, while others go on, is dead
    bool checksum = false;
};

struct TriggerConfig {
    std::uint32_t l1id_offset = 0; // in a packet, of the u32 with ECR << 24 | L1ID; triggerless: of the timestamp
    std::uint32_t bcid_offset = 6; // of a u16
    std::uint32_t slice_ticks = 1; // triggerless: ticks of the timestamp in a slice
};

struct ServerConfig {
    std::string listen = "127.0.0.1:7700";
    std::vector<std::string> allow = {"127.0.0.0/8", "::1/128"};
    std::string token;                   // shared with clients; empty: none is asked for, and none may control over TCP
    std::vector<std::string> host_names; // by which HTTP clients call this machine, besides its own name and addresses
    std::uint32_t threads = 2;
    std::uint32_t max_connections = 10'000;
    std::uint64_t queued_bytes = 8 << 20; // of one connection; beyond that its requests wait
    // Of all connections, with what the kernel holds of their answers; of observers a quarter of it.
    std::uint64_t queued_total_bytes = 256 << 20;
    std::uint64_t lease_ns = 10'000'000'000;          // an owner that is silent for so long loses its ranges
    std::uint64_t longest_lease_ns = 600'000'000'000; // nor may one that talks keep a range for longer
    std::uint64_t outstanding_events = 16'384;        // that all collectors together may hold: the index must be deeper
    bool iovec = false;                               // send from the index as it lies, instead of a flattened copy
    std::string congestion_control;                   // "cubic", "bbr", "reno"; empty: the kernel's
};

struct HandlerConfig {
    std::string name = "dh0";
    std::string buffer = "thalweg-felix-felix0-0"; // felix::dma_name
    std::string metrics;                           // address of /metrics, /healthz, /readyz, /control; empty: none
    std::string control_socket;                    // path of a Unix socket for the same; empty: none
    std::uint32_t threads = 0;                     // that build; 0: one for each group, but no more than processors
    double expected_rate_hz = 1'000'000;           // what depths are told in seconds for
    std::string pinning = "none";                  // "none", "auto", or "build=0-2,serve=3-4"
    // Where each thread that builds, or serves, may run; from `pinning`, see resolve_pinning. Empty: anywhere.
    std::vector<std::vector<std::uint32_t>> build_processors, serve_processors;
    std::uint64_t poll_ns = 30'000; // how long idle threads sleep
    std::vector<GroupConfig> groups;
    TriggerConfig trigger;
    IndexConfig index;
    ServerConfig server;
    HookConfig hook;
};

// Throws base::UsageError that names handler, group and key: of what is unknown, missing, of the wrong type, out of
// range or contradictory (an e-link in two groups, an index that is less deep than outstanding requests need).
std::vector<HandlerConfig> parse_config(std::string_view json);
void validate(HandlerConfig const& config);

// Slots ahead of the newest event that stay free: for a window, for a jump behind it, and for the packets of one block.
constexpr std::uint64_t slots_ahead(IndexConfig const& index, std::uint32_t block_bytes) {
    return 4 * index.window_events + block_bytes;
}

// The number of threads that build.
std::uint32_t build_threads(HandlerConfig const& config);

// Of the index, all groups; what the handler holds at most.
std::uint64_t index_bytes(HandlerConfig const& config);
double depth_s(HandlerConfig const& config);

} // namespace thalweg::readout
