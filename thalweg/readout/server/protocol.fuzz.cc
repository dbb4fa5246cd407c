// Whatever a client sends, the answers are whole messages, the queue is bounded, and nothing crashes. The test uses no
// sockets: bytes go into a session, and bytes come out. The first byte says whether a hello comes first, how much
// arrives at once, and whether the bytes are sent unchanged or each message gets a fitting head and a body that differs
// from a sensible one by the given bytes.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "thalweg/readout/builder/test_ring.h"
#include "thalweg/readout/server/session.h"
#include "thalweg/readout/server/testing_owners.h"

namespace {

using namespace thalweg;
using namespace thalweg::readout;

void check(bool holds) {
    if (!holds) std::abort();
}

// Takes the answers. Each must be a message of the server.
void read_answers(Outbox& outbox, ByteBuffer& answers) {
    while (!outbox.empty()) {
        auto const bytes = outbox.front();
        answers.append(bytes.data(), bytes.size());
        outbox.pop(bytes.size());
    }
    auto rest = answers.bytes();
    while (!rest.empty()) {
        MessageHead head;
        check(rest.size() >= sizeof head);
        std::memcpy(&head, rest.data(), sizeof head);
        check(head.marker == kProtocolMarker && head.type >= MessageType::welcome &&
              head.type <= MessageType::in_memory);
        check(rest.size() >= sizeof head + head.length_bytes);
        rest = rest.subspan(sizeof head + head.length_bytes);
    }
    answers.clear();
}

void send(Session& session, std::span<std::byte const> bytes, std::size_t at_once) {
    while (!bytes.empty()) {
        auto const room = session.room();
        auto const count = std::min({room.size(), bytes.size(), at_once});
        if (count == 0) return;
        std::memcpy(room.data(), bytes.data(), count);
        session.received(count);
        bytes = bytes.subspan(count);
    }
}

void greet(Session& session, ClientRole role) {
    Hello const hello{role, 0, {1, 1}};
    MessageHead const head{.length_bytes = sizeof hello};
    ByteBuffer bytes;
    bytes.append(head);
    bytes.append(hello);
    send(session, bytes.bytes(), bytes.size());
}

template <class Body>
void add_message(ByteBuffer& out, MessageType type, Body const& body, std::span<std::uint8_t const>& changes) {
    std::array<std::uint8_t, sizeof body> bytes;
    std::memcpy(bytes.data(), &body, sizeof body);
    auto const count = std::min(changes.size(), bytes.size());
    for (std::size_t i = 0; i < count; ++i) bytes[i] ^= changes[i];
    changes = changes.subspan(count);
    out.append(MessageHead{.type = type, .length_bytes = sizeof body});
    out.append(bytes);
}

struct SeveralTakes {
    Take take;
    RangeSeal more[2];
};

// Makes messages: one byte gives the type, the next ones change the expected body.
ByteBuffer messages_of(std::span<std::uint8_t const> data) {
    ByteBuffer out;
    while (!data.empty()) {
        auto const type = data.front() % 8;
        data = data.subspan(1);
        if (type == 0) add_message(out, MessageType::take, Take{.run = 7, .count = 8}, data);
        if (type == 1) add_message(out, MessageType::get, Get{kFirst, 7, 30, 1 << 16, 1000}, data);
        if (type == 2) add_message(out, MessageType::clear, Clear{kFirst, 7, 8}, data);
        if (type == 3) add_message(out, MessageType::hello, Hello{.client = {2, 2}}, data);
        if (type == 4) add_message(out, MessageType::take, SeveralTakes{{.run = 7, .count = 8}, {}}, data);
        if (type == 5)
            add_message(out, MessageType::clear, std::array{Clear{kFirst, 7, 8}, Clear{kFirst + 8, 7, 8}}, data);
        if (type == 6) add_message(out, MessageType::share, Share{1 << 16}, data);
        if (type == 7) add_message(out, MessageType::release, Release{0}, data);
    }
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    TestRing ring(kFirst, 64, 128);
    ring.add(20, 24).skip(3).add(20, 24, kIncomplete);
    Index index({&ring.ring});
    ServerConfig config;
    config.queued_bytes = 1 << 16;
    config.iovec = (data[0] & 1) != 0;
    ServingContext context{.config = config, .name = "dh0"};
    context.served = {.run = 7, .index = &index, .groups = 1, .state = ReadoutState::running};
    ByteBuffer answers;
    {
        Session session(context, 0);
        if ((data[0] & 2) != 0) greet(session, (data[0] & 4) != 0 ? ClientRole::observer : ClientRole::collector);
        auto const rest = std::span(data, size).subspan(1);
        if ((data[0] & 8) != 0)
            send(session, messages_of(rest).bytes(), 1 + data[0]);
        else
            send(session, std::as_bytes(rest), 1 + data[0] / 8u);
        check(session.outbox().bytes() < config.queued_bytes + (1 << 17));
        read_answers(session.outbox(), answers);
        ring.add(20, 24);
        context.served.ended = (data[0] & 128) != 0;
        context.now_ns += 70'000'000'000; // every deadline has come
        while (auto const pending = context.pending.take_due(index.closed_event(), context.now_ns)) {
            session.resume(*pending);
            read_answers(session.outbox(), answers);
        }
        session.proceed();
    }
    check(context.pending.empty());
    return 0;
}
