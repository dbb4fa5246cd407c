// Measures what a server needs per fragment, and what a bare write of the same bytes needs, one after the other.
#include <cstring>
#include <memory>

#include "studies/readout/driver/blocks.h"
#include "studies/readout/driver/loopback.h"
#include "studies/readout/driver/measurements.h"
#include "studies/readout/driver/receivers.h"
#include "studies/readout/driver/sender.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/readout/builder/group.h"
#include "thalweg/readout/server/index.h"
#include "thalweg/readout/server/server.h"

namespace thalweg::study {
namespace {

constexpr std::uint32_t kGroups = 3, kStreams = 14, kPacketBytes = 24, kRun = 1;

// The fragments of some ten thousand events, all complete.
class FilledIndex {
  public:
    FilledIndex() : blocks_(kGroups * kStreams, {kPacketBytes, kPacketBytes}, 64 * base::kMiB) {
        blocks_.refill();
        for (std::uint32_t i = 0; i < kGroups; ++i) groups_.push_back(make_group(i));
        for (std::uint64_t i = 0; i < blocks_.count(); ++i) {
            auto const elink = felix::BlockHeader::parse(blocks_.block(i)).elink;
            groups_[elink / kStreams]->take_block(elink % kStreams, blocks_.block(i));
        }
        for (auto const& group : groups_) group->tick(base::monotonic_ns());
    }

    std::vector<readout::EventRing*> rings() const {
        std::vector<readout::EventRing*> rings;
        for (auto const& group : groups_) rings.push_back(&group->ring());
        return rings;
    }

  private:
    std::unique_ptr<readout::Group> make_group(std::uint32_t number) const {
        readout::GroupOptions options;
        options.format = blocks_.format();
        options.run = kRun;
        options.group.source_id = number + 1;
        for (std::uint32_t i = 0; i < kStreams; ++i) {
            options.group.elinks.push_back(static_cast<std::uint16_t>(number * kStreams + i));
        }
        options.index.close_after_ns = 60'000'000'000; // no packet is late here
        return std::make_unique<readout::Group>(options);
    }

    Blocks blocks_;
    std::vector<std::unique_ptr<readout::Group>> groups_;
};

template <class Body> std::vector<std::byte> message(readout::MessageType type, Body const& body) {
    readout::MessageHead const head{.type = type, .length_bytes = sizeof body};
    std::vector<std::byte> bytes(sizeof head + sizeof body);
    std::memcpy(bytes.data(), &head, sizeof head);
    std::memcpy(bytes.data() + sizeof head, &body, sizeof body);
    return bytes;
}

ReceiverOptions receiver_options(std::uint64_t first_event, std::uint64_t end_event, std::uint32_t events,
                                 std::size_t connections) {
    using namespace readout;
    auto const fragment_bytes = header_bytes(kStreams) + kStreams * kPacketBytes;
    ReceiverOptions options;
    options.connections = connections;
    options.greeting = message(MessageType::hello, Hello{.role = ClientRole::collector});
    options.welcome_bytes = sizeof(MessageHead) + sizeof(Welcome);
    options.response_bytes =
        sizeof(MessageHead) + sizeof(EventsHead) + events * (sizeof(EventRecord) + kGroups * fragment_bytes);
    auto const ranges = (end_event - first_event) / events;
    options.request = [=](std::size_t number) {
        return message(MessageType::get, Get{.first = first_event + number % ranges * events,
                                             .run = kRun,
                                             .count = events,
                                             .max_bytes = 1 << 30,
                                             .deadline_ms = 1000});
    };
    return options;
}

struct Served {
    double cpu_ns, fragments, bytes, seconds;
    double client_ns; // for a response
    double in_memory; // share of the responses
};

Served serve(readout::Index& index, ReceiverOptions& options, std::uint64_t duration_ns, bool iovec,
             std::string const& listen) {
    Child receivers([&](StopSign const& stop) {
        options.server = transport::parse_address(stop.wait_for_line());
        return receive_and_drop(options, stop);
    });
    readout::ServerConfig config;
    config.listen = listen;
    config.threads = 1;
    config.iovec = iovec;
    config.congestion_control = kCongestionControl;
    readout::Server server(config, 1, "dh0");
    server.begin_run(kRun, index, kGroups, kGroups * readout::GroupConfig{}.fragment_bytes);
    server.set_state(readout::ReadoutState::running);
    receivers.tell(server.address());
    for (int i = 0; i < 6000 && server.fragments_sent() == 0; ++i) // until all have connected
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(500)); // warms up
    auto const begin_ns = base::monotonic_ns();
    auto const cpu_ns = server.cpu_ns(), fragments = server.fragments_sent(), bytes = server.bytes_sent();
    std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns));
    Served served{static_cast<double>(server.cpu_ns() - cpu_ns),
                  static_cast<double>(server.fragments_sent() - fragments),
                  static_cast<double>(server.bytes_sent() - bytes),
                  static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-9,
                  0,
                  0};
    auto const received = receivers.finish();
    served.client_ns = received["cpu_ns"].get<double>() / received["responses"].get<double>();
    served.in_memory = received["in_memory"].get<double>() / received["responses"].get<double>();
    if (served.fragments == 0) base::fail_system({"no fragment was sent"});
    return served;
}

// Serves the same number of bytes to the same receivers: `cold`, from memory as large as the index, so that they come
// from as far; otherwise always from one buffer, which never leaves the cache.
Sender::Sent bare_write(ReceiverOptions options, std::uint64_t duration_ns, bool cold) {
    Pieces pieces({options.response_bytes}, 1);
    Sender sender(cold ? Way::writev : Way::ready, pieces);
    options.server = sender.address();
    options.greeting.clear();
    options.welcome_bytes = 0;
    options.memory_bytes = 0;
    Child receivers([&](StopSign const& stop) { return receive_and_drop(options, stop); });
    auto const sent = sender.measure(options.connections, duration_ns);
    receivers.finish();
    return sent;
}

} // namespace

Json measure_serve(Arguments& arguments) {
    auto const events = static_cast<std::uint32_t>(arguments.number("events", 64));
    auto const duration_ns = arguments.number("milliseconds", 1000) * 1'000'000;
    auto const connections = arguments.number("connections", 64);
    FilledIndex filled;
    readout::Index index(filled.rings());
    auto options = receiver_options(index.first_event(), index.closed_event(), events, connections);
    options.memory_bytes = arguments.number("memory-bytes", 0);
    auto const served =
        serve(index, options, duration_ns, arguments.number("iovec", 0) != 0, arguments.text("listen", "127.0.0.1:0"));
    auto const bare = bare_write(options, duration_ns, true), warm = bare_write(options, duration_ns, false);
    auto const fragments = static_cast<double>(events * kGroups);
    auto const ns = served.cpu_ns / served.fragments, bare_ns = bare.cpu_ns / bare.responses / fragments;
    auto const warm_ns = warm.cpu_ns / warm.responses / fragments;
    return {{"item", "fragment"},
            {"ns_per_item", ns},
            {"client_ns", served.client_ns / fragments}, // of a client that drops what it receives
            {"in_memory", served.in_memory},
            {"bare_ns", bare_ns},
            {"times_bare_write", ns / bare_ns},
            {"warm_ns", warm_ns},
            {"times_warm_write", ns / warm_ns},
            {"items", served.fragments},
            {"M_items_per_s", served.fragments / served.seconds * 1e-6},
            {"GB_per_s", served.bytes / served.seconds * 1e-9},
            {"response_bytes", options.response_bytes},
            {"fragments_of_response", fragments},
            {"connections", connections},
            {"cores", served.cpu_ns * 1e-9 / served.seconds},
            {"seconds", served.seconds}};
}

} // namespace thalweg::study
