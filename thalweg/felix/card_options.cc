#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/felix/card.h"
#include "thalweg/felix/card_events.h"

namespace thalweg::felix {
namespace {

constexpr std::uint32_t kMostPacketBytes = 1u << 20;

bool parse_number(std::string_view text, std::uint32_t& number) {
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size();
}

void check_links(CardOptions const& options) {
    if (options.elinks == 0 || options.first_elink >= kElinks || options.elinks > kElinks - options.first_elink) {
        base::fail_usage(
            {fmt::format("the card cannot have {} e-links from number {} on", options.elinks, options.first_elink),
             fmt::format("they are numbered from 0 to {}", kElinks - 1), "ask for fewer"});
    }
    if (options.buffers == 0 || options.buffers > options.elinks) {
        base::fail_usage(
            {fmt::format("{} e-links cannot be distributed over {} buffers", options.elinks, options.buffers),
             "each buffer has at least one", "change one of them"});
    }
}

void check_buffer(CardOptions const& options) {
    auto const is_letter = [](char it) {
        return std::isalnum(static_cast<unsigned char>(it)) || it == '_' || it == '-';
    };
    if (options.name.empty() || options.name.size() > 64 || !std::ranges::all_of(options.name, is_letter)) {
        base::fail_usage({fmt::format("a card cannot be called '{}'", options.name), "its buffers are named after it",
                          "use letters, digits, - and _, 64 at most"});
    }
    if (format_of_magic(options.format.magic) != options.format) {
        base::fail_usage({"the card's block format contradicts itself", "", "choose one that parse_format() returns"});
    }
    if (options.buffer_bytes == 0 || options.buffer_bytes % options.format.block_bytes != 0) {
        base::fail_usage({fmt::format("the card cannot have buffers of {} bytes", options.buffer_bytes),
                          fmt::format("they hold blocks of {} bytes", options.format.block_bytes),
                          "choose a multiple of that"});
    }
}

void check_packets(CardOptions const& options) {
    auto const [min_bytes, max_bytes] = options.sizes;
    if (min_bytes > max_bytes || max_bytes > kMostPacketBytes) {
        base::fail_usage({fmt::format("packets cannot have {} to {} bytes", min_bytes, max_bytes), "",
                          fmt::format("begin with the smaller size; the largest is {}", kMostPacketBytes)});
    }
    if (options.l1id_offset > min_bytes || min_bytes - options.l1id_offset < sizeof(PacketHead)) {
        base::fail_usage(
            {fmt::format("packets of {} bytes are too small for a head at byte {}", min_bytes, options.l1id_offset),
             fmt::format("a head has {} bytes", sizeof(PacketHead)), "make them larger"});
    }
}

void check_events(CardOptions const& options) {
    if (!std::isfinite(options.event_rate_hz) || options.event_rate_hz < 0) {
        base::fail_usage({fmt::format("there is no event rate of {} Hz", options.event_rate_hz), "",
                          "write it like 100kHz, or max"});
    }
    auto const period = options.events_per_ecr == 0 ? kEventsOfEcr : options.events_per_ecr;
    if (period > kEventsOfEcr || (options.first_l1id & 0xFFFFFF) >= period) {
        base::fail_usage(
            {fmt::format("the L1ID cannot begin at {} and count {} events", options.first_l1id & 0xFFFFFF, period),
             "it has 24 bits and begins anew with every ECR", "choose smaller numbers"});
    }
}

} // namespace

PacketSizes parse_packet_sizes(std::string_view text) {
    auto const dash = text.find('-');
    PacketSizes sizes;
    bool const is_range = dash != std::string_view::npos;
    bool const is_good = parse_number(text.substr(0, dash), sizes.min_bytes) &&
                         parse_number(is_range ? text.substr(dash + 1) : text, sizes.max_bytes);
    if (is_good && sizes.min_bytes <= sizes.max_bytes) return sizes;
    base::fail_usage({fmt::format("'{}' is no packet size", text), "", "write it in bytes, like 24 or 8-40"});
}

void validate(CardOptions const& options) {
    check_links(options);
    check_buffer(options);
    check_packets(options);
    check_events(options);
}

} // namespace thalweg::felix
