// The options of a handler without a card, for tests: its events, and its faults.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "thalweg/readout/fragment.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout::testing {

// Makes a fragment with one payload, of stream 0. Its bytes follow from event and source.
inline std::vector<std::byte> make_fragment(std::uint32_t run, std::uint64_t event, std::uint32_t source,
                                            std::uint32_t payload_bytes, bool checksum = false) {
    FragmentHeader header{.header_bytes = static_cast<std::uint16_t>(header_bytes(1))};
    header.length_bytes = header.header_bytes + (payload_bytes + 3) / 4 * 4;
    header.event = event;
    header.run = run;
    header.source_id = source;
    header.stream_map = header.enabled_map = 1;
    header.stream_count = 1;
    header.bcid = static_cast<std::uint16_t>(event % 3564);
    header.trigger_type = 0x80;
    header.build_us = static_cast<std::uint32_t>(5 + event % 40);
    std::vector<std::byte> bytes(header.length_bytes);
    PayloadEntry const entry{static_cast<std::uint16_t>(header.header_bytes / 4),
                             static_cast<std::uint16_t>(payload_bytes)};
    std::memcpy(bytes.data() + sizeof header, &entry, sizeof entry);
    for (std::uint32_t i = 0; i < payload_bytes; ++i)
        bytes[header.header_bytes + i] = static_cast<std::byte>(event * 7 + source * 13 + i);
    std::memcpy(bytes.data(), &header, sizeof header);
    if (checksum) {
        header.checksum = checksum_of(bytes);
        std::memcpy(bytes.data(), &header, sizeof header);
    }
    return bytes;
}

struct TestHandlerOptions {
    std::uint32_t run = 7;
    ReadoutState state = ReadoutState::running; // that its welcome says; otherwise the run before is over
    std::uint64_t first_event = 1000;
    std::uint64_t events = 5000; // the run ends after so many
    std::vector<std::uint32_t> sources = {1, 2};
    std::uint32_t payload_bytes = 100;
    bool checksum = true;
    std::uint64_t lease_ns = 10'000'000'000;
    bool cheap = false; // for measurements: fragments differ in their event number only

    // The faults. 0: none; n: at every n-th event, or answer.
    std::uint64_t absent_every = 0;
    std::uint64_t incomplete_every = 0;
    std::uint64_t evicted_every = 0;
    std::uint64_t wrong_marker_every = 0;
    std::uint64_t wrong_event_every = 0;
    std::uint64_t lie_every = 0;      // the answer's lengths do not add up
    std::uint64_t cut_every = 0;      // half an answer, and the connection is closed
    std::uint64_t not_yet_every = 0;  // answers in which no event is closed yet
    std::uint64_t ignore_every = 0;   // no answer
    std::uint64_t most_events = 4096; // limit of an answer
    std::size_t reorder = 1;          // so many requests are collected, then answered from the last to the first
    bool refuse_clears = false;
    bool goes_on = false;   // the run does not end with its last event: a client that wants more events waits
    bool continues = false; // the event numbers continue those of an earlier handler
    bool silent = false;    // sends a welcome and nothing else
    std::string token;
    std::uint16_t version = kProtocolVersion; // of another release: it refuses this client
};

} // namespace thalweg::readout::testing
