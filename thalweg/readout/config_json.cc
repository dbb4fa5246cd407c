// The JSON of the configuration: what the TOML file says, table by table (docs/readout.md).
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "thalweg/base/error.h"
#include "thalweg/felix/dma_buffer.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/config_table.h"
#include "thalweg/readout/token_file.h"
#include "thalweg/transport/address.h"

namespace thalweg::readout {
namespace {

Mode read_mode(ConfigTable& table, Mode otherwise) {
    return static_cast<Mode>(
        table.read_word("mode", {"build", "relay", "triggerless"}, static_cast<std::size_t>(otherwise)));
}

void read_index(ConfigTable& table, IndexConfig& index) {
    table.read("events", index.events);
    index.when_full = static_cast<WhenFull>(
        table.read_word("when_full", {"busy", "evict"}, static_cast<std::size_t>(index.when_full)));
    table.read("window_events", index.window_events);
    table.read("close_after_events", index.close_after_events);
    table.read_duration_ns("close_after", index.close_after_ns);
    table.read_duration_ns("dead_after", index.dead_after_ns);
    table.read("checksum", index.checksum);
}

void read_trigger(ConfigTable& table, TriggerConfig& trigger) {
    table.read("l1id_offset", trigger.l1id_offset);
    table.read("bcid_offset", trigger.bcid_offset);
    table.read("slice_ticks", trigger.slice_ticks);
}

std::string token_of(std::string const& path, ConfigTable const& table) {
    auto token = token_in(path);
    if (token.empty()) table.refuse("token_file", fmt::format("'{}' cannot be read, or is empty", path));
    return token;
}

void read_server(ConfigTable& table, ServerConfig& server) {
    table.read("allow", server.allow);
    if (table.has("token") && table.has("token_file")) table.refuse("token", "and token_file are both given");
    table.read_secret("token", server.token);
    table.read("token_file", server.token_file);
    if (!server.token_file.empty()) server.token = token_of(server.token_file, table);
    table.read("host_names", server.host_names);
    table.read("threads", server.threads);
    table.read("max_connections", server.max_connections);
    table.read_size_bytes("queued", server.queued_bytes);
    table.read_size_bytes("queued_total", server.queued_total_bytes);
    table.read_size_bytes("shared_memory", server.shared_memory_bytes);
    table.read_duration_ns("lease", server.lease_ns);
    table.read_duration_ns("longest_lease", server.longest_lease_ns);
    table.read("outstanding_events", server.outstanding_events);
    table.read("iovec", server.iovec);
    table.read("congestion_control", server.congestion_control);
    table.read_size_bytes("pacing", server.pacing_bytes_s);
}

void read_hook(ConfigTable& table, HookConfig& hook) {
    table.read("library", hook.library);
    table.read("configuration", hook.configuration);
    table.read_duration_ns("budget", hook.budget_ns);
}

// Reads the tables that stand at the top of the file for all handlers, or in a handler for this one.
void read_common(ConfigTable& table, HandlerConfig& config) {
    table.read_table("index", [&](ConfigTable& index) { read_index(index, config.index); });
    table.read_table("trigger", [&](ConfigTable& trigger) { read_trigger(trigger, config.trigger); });
    table.read_table("server", [&](ConfigTable& server) { read_server(server, config.server); });
    table.read_table("hook", [&](ConfigTable& hook) { read_hook(hook, config.hook); });
}

// Makes a group for each enabled link. Disabled links keep their source ids, so that the others keep theirs, too.
void add_relays(GroupConfig const& group, std::vector<GroupConfig>& out) {
    for (std::size_t i = 0; i < group.elinks.size(); ++i) {
        if (std::find(group.disabled.begin(), group.disabled.end(), group.elinks[i]) != group.disabled.end()) continue;
        GroupConfig relay = group;
        relay.source_id += static_cast<std::uint32_t>(i);
        relay.elinks = {group.elinks[i]};
        relay.disabled.clear();
        out.push_back(relay);
    }
}

void read_group(ConfigTable& table, Mode mode, std::vector<GroupConfig>& out) {
    GroupConfig group;
    table.read("source_id", group.source_id);
    table.read_elinks("elinks", group.elinks);
    table.read_elinks("disabled", group.disabled);
    table.read_size_bytes("fragment_bytes", group.fragment_bytes);
    group.mode = read_mode(table, mode);
    table.finish(); // a misspelt key is reported as such, and not as a missing one
    for (auto const* const key : {"source_id", "elinks"})
        if (!table.has(key)) table.refuse(key, "is missing");
    if (group.mode == Mode::relay)
        add_relays(group, out);
    else
        out.push_back(std::move(group));
}

void read_address(ConfigTable& table, char const* key, std::string& address) {
    table.read(key, address);
    if (address.empty()) return;
    try {
        transport::names_host(address);
    } catch (base::UsageError const& error) {
        table.refuse(key, fmt::format("cannot be used: {}", error.what()));
    }
}

using BufferCounts = std::map<std::string, std::uint32_t>; // by card

// `position` is the index of the handler in the file. Names and addresses that are not given count up with it, and
// buffers with the handlers of their card.
HandlerConfig read_handler(ConfigTable& table, HandlerConfig config, Mode mode, std::size_t position,
                           BufferCounts& buffers) {
    config.name = fmt::format("dh{}", position);
    table.read("name", config.name);
    table.set_where(fmt::format("handler '{}'", config.name));
    if (table.has("buffer") && (table.has("card") || table.has("dma")))
        table.refuse("buffer", "and card are both given");
    std::string card = "felix0";
    table.read("card", card);
    auto dma = buffers[card]++;
    table.read("dma", dma);
    config.buffer = felix::dma_name(card, dma);
    table.read("buffer", config.buffer);
    config.server.listen = fmt::format("127.0.0.1:{}", 7700 + position);
    read_address(table, "listen", config.server.listen);
    read_address(table, "address", config.address);
    read_address(table, "metrics", config.metrics);
    table.read("control_socket", config.control_socket);
    table.read("threads", config.threads);
    table.read("pinning", config.pinning);
    read_common(table, config);
    table.read_tables("group", [&](ConfigTable& group, std::size_t) { read_group(group, mode, config.groups); });
    return config;
}

// Checks that no two handlers use the same name, buffer, address or socket.
class Distinct {
  public:
    void add(std::string const& what, std::string const& value, std::string const& handler) {
        auto const [owner, is_new] = owners_.emplace(std::pair(what, value), handler);
        if (!is_new && owner->second == handler && what != "name")
            base::fail_usage({fmt::format("two parts of handler '{}' have the same {}, {}", handler, what, value), "",
                              what == "address" ? "give `listen` and `metrics` different ones" : "change one"});
        if (!is_new)
            base::fail_usage(
                {fmt::format("handlers '{}' and '{}' have the same {}, {}", owner->second, handler, what, value)});
    }

  private:
    std::map<std::pair<std::string, std::string>, std::string> owners_;
};

void check_distinct(std::vector<HandlerConfig> const& handlers) {
    Distinct distinct;
    for (auto const& handler : handlers) {
        distinct.add("name", handler.name, handler.name);
        distinct.add("buffer", handler.buffer, handler.name);
        for (auto const& address : {handler.server.listen, handler.metrics}) // port 0 means any free port
            if (!address.empty() && address != "0" && !address.ends_with(":0"))
                distinct.add("address", address, handler.name);
        if (!handler.address.empty() && handler.address != handler.server.listen)
            distinct.add("address", handler.address, handler.name);
        if (!handler.control_socket.empty()) distinct.add("control_socket", handler.control_socket, handler.name);
        for (auto const& group : handler.groups)
            distinct.add("source_id", fmt::format("{:#x}", group.source_id), handler.name);
    }
}

std::vector<HandlerConfig> read_all(ConfigTable::Json const& json) {
    HandlerConfig common;
    Mode mode = Mode::build;
    BufferCounts buffers;
    std::vector<HandlerConfig> handlers;
    ConfigTable table(json, "the configuration");
    table.read_table("readout", [&](ConfigTable& readout) {
        readout.read_rate_hz("expected_rate", common.expected_rate_hz);
        mode = read_mode(readout, mode);
        readout.read_duration_ns("poll", common.poll_ns);
        readout.read("pinning", common.pinning);
    });
    read_common(table, common);
    table.read_tables("handler", [&](ConfigTable& handler, std::size_t position) {
        handlers.push_back(read_handler(handler, common, mode, position, buffers));
    });
    table.finish();
    return handlers;
}

} // namespace

std::vector<HandlerConfig> parse_config(std::string_view json) {
    auto const parsed = ConfigTable::Json::parse(json, nullptr, false);
    if (parsed.is_discarded()) base::fail_usage({"the configuration of the readout is not JSON"});
    auto handlers = read_all(parsed);
    if (handlers.empty())
        base::fail_usage({"the configuration has no handlers", "", "add [[handler]] and [[handler.group]]"});
    for (auto const& handler : handlers) validate(handler);
    check_distinct(handlers);
    return handlers;
}

} // namespace thalweg::readout
