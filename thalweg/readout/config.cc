#include "thalweg/readout/config.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "thalweg/base/error.h"
#include "thalweg/base/parallel.h"
#include "thalweg/base/units.h"
#include "thalweg/felix/block.h"
#include "thalweg/readout/fragment.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/transport/address.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kMaxSlots = 1ull << 31;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::uint64_t kLeastPacing = 100'000; // bytes in a second: less is taken for a number without its unit

// The object that is checked, with the name that messages use: "handler 'dh0', group 0x11".
struct CheckedConfig {
    std::string name;

    void demand(bool holds, std::string const& why, std::string const& suggestion = "") const {
        if (!holds) base::fail_usage({name + " cannot work", why, suggestion});
    }
};

void check_links(CheckedConfig const& checked, GroupConfig const& group) {
    checked.demand(!group.elinks.empty(), "it has no e-links");
    checked.demand(group.elinks.size() <= kMaxStreams,
                   fmt::format("it has {} e-links, a group has at most {}", group.elinks.size(), kMaxStreams),
                   "make several groups of them");
    std::set<std::uint16_t> links;
    for (auto const elink : group.elinks) {
        checked.demand(elink < felix::kElinks, fmt::format("e-link {}: they end at {}", elink, felix::kElinks - 1));
        checked.demand(links.insert(elink).second, fmt::format("e-link {} is in it twice", elink));
    }
    for (auto const elink : group.disabled)
        checked.demand(links.count(elink) == 1, fmt::format("e-link {} is disabled, and not of this group", elink));
    std::set<std::uint16_t> const disabled(group.disabled.begin(), group.disabled.end());
    checked.demand(disabled.size() < links.size(), "all its e-links are disabled", "leave the group out");
}

void check_group(CheckedConfig const& checked, GroupConfig const& group) {
    check_links(checked, group);
    auto const streams = static_cast<std::uint32_t>(group.elinks.size());
    auto const least = header_bytes(group.mode == Mode::triggerless ? 0 : streams) + 8;
    checked.demand(
        group.fragment_bytes >= least && group.fragment_bytes <= kMaxFragmentBytes,
        fmt::format("fragment_bytes is {}; {} to {} are possible", group.fragment_bytes, least, kMaxFragmentBytes));
    checked.demand(group.fragment_bytes % kPayloadAlignment == 0,
                   fmt::format("fragment_bytes is {}, and no multiple of 4", group.fragment_bytes));
    checked.demand(group.mode != Mode::relay || streams == 1, "it relays, and has more than one e-link");
}

void check_groups(CheckedConfig const& checked, std::vector<GroupConfig> const& groups) {
    checked.demand(!groups.empty(), "it has no groups", "add [[handler.group]] with source_id and elinks");
    std::map<std::uint16_t, std::uint32_t> owners;
    std::set<std::uint32_t> sources;
    for (auto const& group : groups) {
        check_group({fmt::format("{}, group {:#x}", checked.name, group.source_id)}, group);
        checked.demand(sources.insert(group.source_id).second,
                       fmt::format("source_id {:#x} is given twice", group.source_id));
        for (auto const elink : group.elinks) {
            auto const [owner, is_new] = owners.emplace(elink, group.source_id);
            checked.demand(is_new, fmt::format("e-link {} is in two groups, {:#x} and {:#x}", elink, owner->second,
                                               group.source_id));
        }
        checked.demand((group.mode == Mode::triggerless) == (groups[0].mode == Mode::triggerless),
                       "some of its groups use events, and some use time slices", "give them handlers of their own");
    }
}

void check_index(CheckedConfig const& checked, IndexConfig const& index, std::uint64_t outstanding_events) {
    checked.demand(std::has_single_bit(index.events) && index.events <= kMaxSlots,
                   fmt::format("index.events is {}, and no power of two up to 2^31", index.events));
    checked.demand(index.close_after_events >= 1, "index.close_after_events is 0");
    // A jump of the event number needs four windows. As many again should stay for everything else.
    checked.demand(index.window_events >= 1 && index.window_events <= index.events / 8,
                   fmt::format("index.window_events is {}; 1 to an eighth of index.events ({}) are possible",
                               index.window_events, index.events / 8));
    checked.demand(outstanding_events >= 1, "server.outstanding_events is 0");
    checked.demand(outstanding_events <= kMaxSlots && index.close_after_events <= kMaxSlots,
                   "server.outstanding_events or index.close_after_events is more than 2^31");
    auto const ahead = slots_ahead(index, felix::BlockFormat{}.block_bytes);
    auto const needed = outstanding_events + index.close_after_events + ahead;
    checked.demand(
        needed <= index.events,
        fmt::format("the index holds {} events; what collectors hold ({}), what is still built ({}) and what "
                    "lies ahead ({}: 4 times window_events, and a block) need {}",
                    index.events, outstanding_events, index.close_after_events, ahead, needed),
        "raise index.events, or lower server.outstanding_events or index.window_events");
    checked.demand(index.close_after_ns > 0, "index.close_after is 0");
    checked.demand(index.dead_after_ns >= index.close_after_ns,
                   "index.dead_after is shorter than index.close_after: a link would die before it is late");
}

void check_trigger(CheckedConfig const& checked, TriggerConfig const& trigger) {
    checked.demand(trigger.l1id_offset <= kMaxPayloadBytes - 8 && trigger.bcid_offset <= kMaxPayloadBytes - 2,
                   fmt::format("trigger.l1id_offset is {}, bcid_offset {}: packets have at most {} bytes",
                               trigger.l1id_offset, trigger.bcid_offset, kMaxPayloadBytes));
    checked.demand(trigger.slice_ticks >= 1, "trigger.slice_ticks is 0");
}

void check_text(CheckedConfig const& checked, char const* key, std::string const& text) {
    bool const printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '"' && c < 127; });
    checked.demand(!text.empty() && text.size() <= kMaxNameBytes && printable,
                   fmt::format("its {} is to have 1 to {} letters, digits and signs, no blanks", key, kMaxNameBytes));
}

void check_server(CheckedConfig const& checked, HandlerConfig const& config) {
    auto const& server = config.server;
    checked.demand(!server.listen.empty(), "server.listen is empty");
    checked.demand(
        !server.listen.starts_with("unix:") || server.listen.starts_with("unix:/"),
        fmt::format("the path of its socket is relative ({}): collectors may run in another folder", server.listen));
    checked.demand(!server.allow.empty(), "server.allow is empty: no client could connect");
    transport::Networks const networks(server.allow);
    checked.demand(server.token.size() <= kMaxTokenBytes,
                   fmt::format("the token has {} bytes, more than {}", server.token.size(), kMaxTokenBytes));
    // The token is also sent in a header of HTTP, which allows printable characters only.
    bool const printable =
        std::all_of(server.token.begin(), server.token.end(), [](char c) { return c >= ' ' && c < 127; });
    checked.demand(printable && !server.token.starts_with(' ') && !server.token.ends_with(' '),
                   "the token has signs other than ASCII, or begins or ends with a blank (it is not shown here)");
    for (auto const& name : server.host_names) check_text(checked, "server.host_names", name);
    checked.demand(server.threads >= 1 && server.threads < kMaxPins,
                   fmt::format("server.threads is {}; 1 to {} are possible", server.threads, kMaxPins - 1));
    checked.demand(server.max_connections >= 1, "server.max_connections is 0");
    checked.demand(server.queued_total_bytes >= 4 * server.queued_bytes,
                   fmt::format("server.queued_total is {} bytes, and four answers of server.queued may have {}",
                               server.queued_total_bytes, 4 * server.queued_bytes));
    checked.demand(server.pacing_bytes_s == 0 || server.pacing_bytes_s >= kLeastPacing,
                   fmt::format("server.pacing is {} bytes a second", server.pacing_bytes_s),
                   fmt::format("write at least {}, with its unit, such as \"20MB\", or leave it out", kLeastPacing));
    checked.demand(server.lease_ns > 0, "server.lease is 0");
    checked.demand(server.longest_lease_ns >= server.lease_ns, "server.longest_lease is shorter than server.lease");
    std::uint64_t event_bytes = sizeof(MessageHead) + sizeof(EventsHead) + sizeof(EventRecord);
    for (auto const& group : config.groups) event_bytes += group.fragment_bytes;
    checked.demand(
        server.queued_bytes >= event_bytes,
        fmt::format("server.queued is {} bytes, and one event may have {}", server.queued_bytes, event_bytes));
}

} // namespace

void validate(HandlerConfig const& config) {
    check_text({"a handler"}, "name", config.name);
    CheckedConfig const checked{fmt::format("handler '{}'", config.name)};
    check_text(checked, "buffer", config.buffer);
    checked.demand(config.buffer.find('/') == std::string::npos, fmt::format("buffer '{}' has a '/'", config.buffer));
    check_groups(checked, config.groups);
    checked.demand(config.threads <= config.groups.size(),
                   fmt::format("threads is {}, and there are {} groups: a group is built by one thread", config.threads,
                               config.groups.size()));
    checked.demand(std::isfinite(config.expected_rate_hz) && config.expected_rate_hz > 0, "expected_rate is 0");
    checked.demand(config.poll_ns <= 100'000'000, "poll is longer than 100 ms");
    checked.demand(config.pinning == "none" || config.pinning == "auto" ||
                       config.pinning.find('=') != std::string::npos,
                   fmt::format("pinning is '{}'", config.pinning), "write none, auto, or build=0-2,serve=3-4");
    check_index(checked, config.index, config.server.outstanding_events);
    check_trigger(checked, config.trigger);
    check_server(checked, config);
    checked.demand(!config.hook.library.empty() || config.hook.configuration.empty(),
                   "hook.configuration is given, and hook.library is not");
    checked.demand(config.hook.budget_ns > 0, "hook.budget is 0");
}

std::string address_for_collectors(HandlerConfig const& config) {
    if (!config.address.empty()) return config.address;
    auto const& listen = config.server.listen;
    bool const is_everywhere = listen.starts_with("0.0.0.0:") || listen.starts_with("[::]:");
    if (is_everywhere)
        base::fail_usage({fmt::format("collectors cannot find handler '{}'", config.name),
                          fmt::format("it listens at {}, which means every network, and is no address", listen),
                          "add its `address`, such as address = \"host:7700\""});
    return listen;
}

std::uint32_t build_threads(HandlerConfig const& config) {
    if (config.threads != 0) return config.threads;
    return std::min(base::usable_cores(), static_cast<std::uint32_t>(config.groups.size()));
}

std::uint64_t index_bytes(HandlerConfig const& config) {
    std::uint64_t bytes = 0;
    for (auto const& group : config.groups)
        bytes += config.index.events * base::round_up(group.fragment_bytes + kOverhangBytes, 64);
    return bytes;
}

double depth_s(HandlerConfig const& config) {
    return static_cast<double>(config.index.events) / config.expected_rate_hz;
}

} // namespace thalweg::readout
