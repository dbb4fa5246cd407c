#include "thalweg/readout/config.h"

#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "thalweg/base/error.h"

namespace thalweg::readout {
namespace {

using Json = nlohmann::json;

Json one_handler() { return {{"handler", {{{"group", {{{"source_id", 0x11}, {"elinks", {"0-13"}}}}}}}}}; }

HandlerConfig parse_one(Json const& json) { return parse_config(json.dump()).at(0); }

std::string refusal(std::string const& json) {
    try {
        parse_config(json);
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "taken";
}

// Expects that the handler's configuration with one changed value is refused for this reason.
void expect_refused(std::string const& pointer, Json const& value, std::string const& why) {
    auto json = one_handler();
    json[Json::json_pointer(pointer)] = value;
    auto const text = refusal(json.dump());
    EXPECT_NE(text.find(why), std::string::npos) << pointer << " = " << value << ": " << text << "\n  and not: " << why;
}

TEST(ReadoutConfig, WhatIsNotGivenIsAsInTheStructs) {
    auto const config = parse_one(one_handler());
    HandlerConfig const defaults;
    EXPECT_EQ(config.name, "dh0");
    EXPECT_EQ(config.buffer, "thalweg-felix-felix0-0");
    EXPECT_EQ(config.server.listen, "127.0.0.1:7700");
    EXPECT_EQ(config.index.events, defaults.index.events);
    EXPECT_EQ(config.index.close_after_ns, defaults.index.close_after_ns);
    EXPECT_EQ(config.server.queued_bytes, defaults.server.queued_bytes);
    EXPECT_EQ(config.server.pacing_bytes_s, 0u);
    EXPECT_EQ(config.expected_rate_hz, 1e6);
    ASSERT_EQ(config.groups.size(), 1u);
    EXPECT_EQ(config.groups[0].source_id, 0x11u);
    EXPECT_EQ(config.groups[0].elinks.size(), 14u);
    EXPECT_EQ(config.groups[0].elinks.back(), 13u);
    EXPECT_EQ(config.groups[0].fragment_bytes, 1024u);
    EXPECT_DOUBLE_EQ(depth_s(config), 0.131072);
    EXPECT_EQ(index_bytes(config), 131072u * 1088u);
}

TEST(ReadoutConfig, EveryKeyIsRead) {
    auto json = one_handler();
    json["readout"] = {{"expected_rate", "1.1MHz"}, {"poll", "50us"}, {"pinning", "auto"}, {"mode", "triggerless"}};
    json["index"] = {{"events", 65536},           {"when_full", "evict"}, {"window_events", 1000},
                     {"close_after_events", 100}, {"close_after", 0.05},  {"dead_after", "500 ms"},
                     {"checksum", true}};
    json["trigger"] = {{"l1id_offset", 8}, {"bcid_offset", 14}, {"slice_ticks", 1000}};
    json["server"] = {{"allow", {"10.0.0.0/8"}}, {"token", "secret"}, {"threads", 3},
                      {"max_connections", 50},   {"queued", "1MiB"},  {"lease", "3s"},
                      {"outstanding_events", 5}, {"iovec", true},     {"host_names", {"daq.lan"}},
                      {"pacing", "2MB"}};
    json["hook"] = {{"library", "./hook.so"}, {"configuration", "x"}, {"budget", "2us"}};
    json["handler"][0].update({{"name", "a"}, {"buffer", "b"}, {"listen", "0"}, {"metrics", "9200"}, {"threads", 1}});
    json["handler"][0]["control_socket"] = "a.sock";
    json["handler"][0]["group"][0].update({{"disabled", {3, "5-6"}}, {"fragment_bytes", "4KiB"}});
    auto const config = parse_one(json);
    EXPECT_EQ(config.expected_rate_hz, 1.1e6);
    EXPECT_EQ(config.poll_ns, 50'000u);
    EXPECT_EQ(config.pinning, "auto");
    EXPECT_EQ(config.index.events, 65536u);
    EXPECT_EQ(config.index.when_full, WhenFull::evict);
    EXPECT_EQ(config.index.window_events, 1000u);
    EXPECT_EQ(config.index.close_after_events, 100u);
    EXPECT_EQ(config.index.close_after_ns, 50'000'000u);
    EXPECT_EQ(config.index.dead_after_ns, 500'000'000u);
    EXPECT_TRUE(config.index.checksum);
    EXPECT_EQ(config.trigger.l1id_offset, 8u);
    EXPECT_EQ(config.trigger.bcid_offset, 14u);
    EXPECT_EQ(config.trigger.slice_ticks, 1000u);
    EXPECT_EQ(config.server.allow, std::vector<std::string>{"10.0.0.0/8"});
    EXPECT_EQ(config.server.token, "secret");
    EXPECT_EQ(config.server.host_names, std::vector<std::string>{"daq.lan"});
    EXPECT_EQ(config.control_socket, "a.sock");
    EXPECT_EQ(config.server.threads, 3u);
    EXPECT_EQ(config.server.max_connections, 50u);
    EXPECT_EQ(config.server.queued_bytes, 1u << 20);
    EXPECT_EQ(config.server.lease_ns, 3'000'000'000u);
    EXPECT_EQ(config.server.outstanding_events, 5u);
    EXPECT_TRUE(config.server.iovec);
    EXPECT_EQ(config.server.pacing_bytes_s, 2'000'000u);
    EXPECT_EQ(config.hook.library, "./hook.so");
    EXPECT_EQ(config.hook.configuration, "x");
    EXPECT_EQ(config.hook.budget_ns, 2000u);
    EXPECT_EQ(config.name, "a");
    EXPECT_EQ(config.buffer, "b");
    EXPECT_EQ(config.server.listen, "0");
    EXPECT_EQ(config.metrics, "9200");
    EXPECT_EQ(config.threads, 1u);
    EXPECT_EQ(config.groups[0].mode, Mode::triggerless);
    EXPECT_EQ(config.groups[0].disabled, (std::vector<std::uint16_t>{3, 5, 6}));
    EXPECT_EQ(config.groups[0].fragment_bytes, 4096u);
}

TEST(ReadoutConfig, HandlersCountUpAndMayDiffer) {
    auto json = one_handler();
    json["index"] = {{"events", 65536}};
    json["handler"].push_back({{"index", {{"when_full", "evict"}}},
                               {"card", "felix1"},
                               {"group", {{{"source_id", 0x20}, {"elinks", 7}, {"mode", "build"}}}}});
    auto const handlers = parse_config(json.dump());
    ASSERT_EQ(handlers.size(), 2u);
    EXPECT_EQ(handlers[1].name, "dh1");
    EXPECT_EQ(handlers[1].buffer, "thalweg-felix-felix1-0");
    EXPECT_EQ(handlers[1].server.listen, "127.0.0.1:7701");
    EXPECT_EQ(handlers[1].index.events, 65536u);
    EXPECT_EQ(handlers[1].index.when_full, WhenFull::evict);
    EXPECT_EQ(handlers[0].index.when_full, WhenFull::busy);
    EXPECT_EQ(handlers[1].groups[0].elinks, std::vector<std::uint16_t>{7});
    json["handler"][1]["card"] = "felix0";
    EXPECT_EQ(parse_config(json.dump())[1].buffer, "thalweg-felix-felix0-1") << "buffers count up for each card";
}

TEST(ReadoutConfig, RelayedLinksAreGroupsOfTheirOwn) {
    auto json = one_handler();
    json["handler"][0]["group"][0] = {
        {"source_id", 0x100}, {"elinks", {"4-6", 9}}, {"disabled", {5}}, {"mode", "relay"}, {"fragment_bytes", 2048}};
    auto const groups = parse_one(json).groups;
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_EQ(groups[1].source_id, 0x102u); // as if link 5 were not disabled
    EXPECT_EQ(groups[1].elinks, std::vector<std::uint16_t>{6});
    EXPECT_TRUE(groups[1].disabled.empty());
    EXPECT_EQ(groups[2].source_id, 0x103u);
    EXPECT_EQ(groups[2].mode, Mode::relay);
    EXPECT_EQ(groups[2].fragment_bytes, 2048u);
}

TEST(ReadoutConfig, TheTokenMayLieInAFileOfItsOwn) {
    auto const path = testing::TempDir() + "readout-token";
    auto json = one_handler();
    json["server"] = {{"token_file", path}};
    for (auto const* content : {"open sesame", "open sesame\n", "open sesame\r\nmore\n"}) {
        std::ofstream(path) << content;
        EXPECT_EQ(parse_one(json).server.token, "open sesame");
    }
    std::ofstream(path) << "\r\n";
    EXPECT_NE(refusal(json.dump()).find("is empty"), std::string::npos);
    std::remove(path.c_str());
    EXPECT_NE(refusal(json.dump()).find(path), std::string::npos);
    json["server"]["token"] = "both";
    EXPECT_NE(refusal(json.dump()).find("token and token_file are both given"), std::string::npos);
}

TEST(ReadoutConfig, NoMessageShowsAToken) {
    auto json = one_handler();
    for (Json const& token :
         {Json(4711), Json::array({"4711"}), Json("4711\n"), Json("4711 "), Json(" 4711"), Json("4711\xc3\xa4")}) {
        json["server"]["token"] = token;
        auto const said = refusal(json.dump());
        EXPECT_NE(said.find("token"), std::string::npos) << said;
        EXPECT_EQ(said.find("4711"), std::string::npos) << said;
    }
}

TEST(ReadoutConfig, UnknownKeysAreNamedWithTheTableTheyAreIn) {
    expect_refused("/indx", Json::object(), "the configuration: there is no 'indx': there are readout, index, trigger");
    expect_refused("/readout", {{"rate", 1}}, "the configuration, [readout]: there is no 'rate'");
    expect_refused("/index", {{"event", 1}},
                   "the configuration, [index]: there is no 'event': there are events, when_full");
    expect_refused("/handler/0/prot", 1, "handler 'dh0': there is no 'prot'");
    expect_refused("/handler/0/index", {{"x", 1}}, "handler 'dh0', [index]: there is no 'x'");
    expect_refused("/handler/0/group/0", {{"source_id", 1}, {"elink", 2}},
                   "handler 'dh0', group 1: there is no 'elink'");
    expect_refused("/handler/0/group/0", {{"source_id", 1}}, "handler 'dh0', group 1: elinks is missing");
    expect_refused("/handler/0/group/0", {{"elinks", 1}}, "group 1: source_id is missing");
}

TEST(ReadoutConfig, ValuesOfTheWrongKindAreQuoted) {
    expect_refused("/index", 5, "[index] is not a table");
    expect_refused("/handler", Json::object(), "write [[handler]]");
    expect_refused("/handler", Json::array(), "no handlers");
    expect_refused("/index", {{"events", "many"}}, "events is \"many\": write a whole number from 0 to");
    expect_refused("/index", {{"events", -1}}, "events is -1");
    expect_refused("/index", {{"events", 2.5}}, "events is 2.5");
    expect_refused("/index", {{"checksum", 1}}, "write true or false");
    expect_refused("/index", {{"when_full", "stop"}}, "when_full is \"stop\": there are busy, evict");
    expect_refused("/index", {{"close_after", "soon"}}, "'soon' is not a duration");
    expect_refused("/index", {{"close_after", -1}}, "'-1' is not a duration");
    expect_refused("/index", {{"close_after", true}}, "write a duration");
    expect_refused("/readout", {{"expected_rate", "fast"}}, "write a rate");
    expect_refused("/readout", {{"expected_rate", "MHz"}}, "write a rate");
    expect_refused("/readout", {{"expected_rate", 0}}, "write a rate");
    expect_refused("/readout", {{"mode", "relays"}}, "there are build, relay, triggerless");
    expect_refused("/server", {{"threads", 4294967296}}, "threads is 4294967296");
    expect_refused("/server", {{"queued", "8 miles"}}, "'8 miles' is not a size");
    expect_refused("/server", {{"allow", "10.0.0.0/8"}}, "write a list of texts");
    expect_refused("/handler/0/name", 7, "name is 7: write a text");
    expect_refused("/handler/0/group/0/fragment_bytes", "8GiB", "more than 4294967295 bytes");
    for (Json const& elinks : {Json("13-0"), Json("0-2048"), Json("a-b"), Json("1-"), Json("-1"), Json("1-2-3"),
                               Json(""), Json(2048), Json(-1), Json(1.5), Json(nullptr), Json("4294967296")})
        expect_refused("/handler/0/group/0/elinks", elinks, "write numbers up to 2047");
    EXPECT_NE(refusal("{").find("not JSON"), std::string::npos);
    EXPECT_NE(refusal("[]").find("is not a table"), std::string::npos);
}

TEST(ReadoutConfig, WhatCannotWorkIsRefusedWithItsReason) {
    auto const group = "/handler/0/group/0/";
    expect_refused(group + std::string("elinks"), Json::array(), "group 0x11 cannot work (it has no e-links)");
    expect_refused(group + std::string("elinks"), {1, "0-3"}, "has e-link 1 twice");
    expect_refused(group + std::string("elinks"), "0-64", "it has 65 e-links, a group has at most 64");
    expect_refused(group + std::string("disabled"), {14}, "e-link 14 is disabled, and not of this group");
    expect_refused(group + std::string("disabled"), "0-13", "all its e-links are disabled");
    expect_refused(group + std::string("fragment_bytes"), 100, "fragment_bytes is 100; 128 to 262144");
    expect_refused(group + std::string("fragment_bytes"), "1MiB", "fragment_bytes is 1048576");
    expect_refused(group + std::string("fragment_bytes"), 1001, "no multiple of 4");
    expect_refused("/handler/0/group", Json::array(), "handler 'dh0' cannot work (it has no groups)");
    expect_refused("/handler/0/group/1", {{"source_id", 0x12}, {"elinks", 5}},
                   "e-link 5 is in two groups, 0x11 and 0x12");
    expect_refused("/handler/0/group/1", {{"source_id", 0x11}, {"elinks", 50}}, "source_id 0x11 is given twice");
    expect_refused("/handler/0/group/1", {{"source_id", 1}, {"elinks", 50}, {"mode", "triggerless"}}, "time slices");
    expect_refused("/handler/0/threads", 2, "threads is 2, and there are 1 groups");
    expect_refused("/handler/0/pinning", "tight", "pinning is 'tight'");
    expect_refused("/handler/0/name", "", "its name is to have");
    expect_refused("/handler/0/name", "a\"b", "its name is to have");
    expect_refused("/handler/0/buffer", "../x", "has a '/'");
    expect_refused("/index", {{"events", 100'000}}, "no power of two");
    expect_refused("/index", {{"events", 0}}, "no power of two");
    expect_refused("/index", {{"events", 16384}, {"close_after_events", 1024}, {"window_events", 1024}},
                   "what collectors hold (16384), what is still built (1024)");
    expect_refused("/index", {{"window_events", 262'144}}, "window_events is 262144");
    expect_refused("/index", {{"window_events", 0}}, "window_events is 0");
    expect_refused("/index", {{"close_after_events", 0}}, "close_after_events is 0");
    expect_refused("/index", {{"close_after_events", ~0ull}}, "close_after_events is more than 2^31");
    expect_refused("/index", {{"close_after", 0}}, "close_after is 0");
    expect_refused("/index", {{"dead_after", "1ms"}}, "dead_after is shorter");
    expect_refused("/trigger", {{"l1id_offset", 65535}}, "l1id_offset is 65535");
    expect_refused("/trigger", {{"slice_ticks", 0}}, "slice_ticks is 0");
    expect_refused("/server", {{"allow", Json::array()}}, "no client could connect");
    expect_refused("/server", {{"allow", {"10.0.0.0/99"}}}, "10.0.0.0/99");
    expect_refused("/server", {{"threads", 0}}, "server.threads is 0");
    expect_refused("/server", {{"threads", 64}}, "server.threads is 64");
    expect_refused("/server", {{"token", std::string(257, 'x')}}, "the token has 257 bytes");
    expect_refused("/server", {{"host_names", {"a b"}}}, "its server.host_names is to have");
    expect_refused("/server", {{"host_names", {""}}}, "its server.host_names is to have");
    expect_refused("/server", {{"queued", 1000}}, "one event may have 1080");
    expect_refused("/server", {{"outstanding_events", 0}}, "outstanding_events is 0");
    expect_refused("/server", {{"pacing", 20}}, "server.pacing is 20 bytes a second");
    expect_refused("/hook", {{"configuration", "x"}}, "hook.library is not");
    expect_refused("/hook", {{"budget", 0}}, "hook.budget is 0");
    expect_refused("/readout", {{"poll", "1s"}}, "poll is longer");
}

TEST(ReadoutConfig, CollectorsNeedAnAddressThatIsOne) {
    EXPECT_EQ(address_for_collectors(parse_one(one_handler())), "127.0.0.1:7700");
    for (std::string const everywhere : {"0.0.0.0:7700", "[::]:7700"}) {
        auto json = one_handler();
        json["handler"][0]["listen"] = everywhere;
        try {
            address_for_collectors(parse_one(json)); // the handler itself needs no address
            FAIL() << everywhere;
        } catch (base::UsageError const& error) {
            EXPECT_NE(std::string(error.what()).find("'dh0' (it listens at " + everywhere), std::string::npos)
                << error.what();
        }
        json["handler"][0]["address"] = "dh0.readout:7700";
        EXPECT_EQ(address_for_collectors(parse_one(json)), "dh0.readout:7700");
    }
}

TEST(ReadoutConfig, AnAddressThatIsNoneIsNamedWithItsHandlerAndKey) {
    for (auto const* const key : {"listen", "address", "metrics"}) {
        auto json = one_handler();
        json["handler"][0][key] = "127.0.0.1";
        auto const said = refusal(json.dump());
        EXPECT_NE(said.find(std::string("handler 'dh0': ") + key + " cannot be used: \"127.0.0.1\" is no address"),
                  std::string::npos)
            << said;
    }
}

TEST(ReadoutConfig, AUnixSocketHasAWholePath) {
    auto json = one_handler();
    json["handler"][0]["listen"] = "unix:/run/dh0.sock";
    EXPECT_EQ(address_for_collectors(parse_one(json)), "unix:/run/dh0.sock");
    json["handler"][0]["listen"] = "unix:dh0.sock";
    EXPECT_NE(refusal(json.dump()).find("the path of its socket is relative (unix:dh0.sock)"), std::string::npos);
}

TEST(ReadoutConfig, HandlersDoNotShareWhatOnlyOneCanHave) {
    auto const second = [](Json changes) {
        Json handler = {{"group", {{{"source_id", 0x20}, {"elinks", {1}}}}}};
        handler.update(changes);
        return handler;
    };
    expect_refused("/handler/1", second({{"name", "dh0"}}), "handlers 'dh0' and 'dh0' have the same name");
    expect_refused("/handler/1", second({{"dma", 0}}), "'dh0' and 'dh1' have the same buffer, thalweg-felix-felix0-0");
    expect_refused("/handler/1", second({{"listen", "127.0.0.1:7700"}}), "the same address, 127.0.0.1:7700");
    expect_refused("/handler/1", second({{"metrics", "127.0.0.1:7701"}}), "the same address, 127.0.0.1:7701");
    expect_refused("/handler/1", second({{"group", {{{"source_id", 0x11}, {"elinks", {1}}}}}}), "same source_id, 0x11");
    auto json = one_handler();
    json["handler"][0]["listen"] = json["handler"][0]["metrics"] = "127.0.0.1:7700";
    EXPECT_NE(refusal(json.dump()).find("two parts of handler 'dh0' have the same address, 127.0.0.1:7700"),
              std::string::npos);
    json = one_handler();
    json["handler"][0]["control_socket"] = "a.sock";
    json["handler"].push_back(second({{"control_socket", "a.sock"}}));
    EXPECT_NE(refusal(json.dump()).find("the same control_socket, a.sock"), std::string::npos);
    json = one_handler();
    json["handler"][0]["address"] = "readout:7700";
    json["handler"].push_back(second({{"address", "readout:7700"}}));
    EXPECT_NE(refusal(json.dump()).find("the same address, readout:7700"), std::string::npos);
    json = one_handler();
    json["handler"][0]["listen"] = "127.0.0.1:0";
    json["handler"].push_back(second({{"listen", "127.0.0.1:0"}}));
    EXPECT_EQ(refusal(json.dump()), "taken");
}

} // namespace
} // namespace thalweg::readout
