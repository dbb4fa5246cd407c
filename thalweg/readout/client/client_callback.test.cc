// Tests what a callback may do without harm: take long, and throw.
#include <array>
#include <chrono>
#include <thread>

#include "thalweg/base/error.h"
#include "thalweg/readout/client/testing.h"

namespace thalweg::readout {
namespace {

using namespace testing;
using namespace std::chrono_literals;

TEST(ClientCallback, ThatTakesLongIsNotTheSilenceOfHandlers) {
    // Answers that no socket accepts as a whole: they are still on their way when the callback returns.
    TestHandler one({.events = 320, .payload_bytes = 60'000, .checksum = false, .cheap = true}),
        two({.events = 320, .sources = {3}, .payload_bytes = 60'000, .checksum = false, .cheap = true});
    auto options = options_for({&one, &two});
    options.deadline_ms = 50;
    options.answer_ns = 3'000'000'000;
    options.credit_bytes = 256 << 20;
    Client client(options);
    std::uint64_t events = 0;
    client.run({.event =
                    [&](Event const&) {
                        if (++events == 1) std::this_thread::sleep_for(4s);
                    },
                .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    EXPECT_EQ(events, 320u);
    EXPECT_EQ(client.counters().reconnects, 0u);
}

TEST(ClientCallback, ThatTakesLongIsNotTheirImpatience) {
    TestHandler one({.events = 64}), two({.events = 64, .sources = {3}});
    two.set_not_yet(true);
    auto options = options_for({&one, &two});
    options.patience_ns = 2'000'000'000;
    Client client(options);
    int turns = 0;
    client.run({.event = [](Event const&) {},
                .idle =
                    [&] {
                        if (++turns != 20) return; // it was asked, and has closed nothing yet
                        std::this_thread::sleep_for(3s);
                        two.set_not_yet(false);
                    }});
    EXPECT_EQ(client.counters().complete, 64u);
    EXPECT_EQ(client.counters().parts_lost, 0u);
}

TEST(ClientCallback, ThatThrowsIsHandedThatEventAgainAndNoneBefore) {
    TestHandler one({.events = 640, .incomplete_every = 10}), two({.events = 640, .sources = {3}, .absent_every = 7});
    Client client(options_for({&one, &two}));
    std::map<std::uint64_t, int> seen;
    std::uint64_t throws = 0, ends = 0;
    bool ends_throws = true;
    EventSink const sink{.event =
                             [&](Event const& event) {
                                 if (++seen[event.event] == 1 && event.event % 50 == 7)
                                     throw std::runtime_error(std::to_string(++throws));
                             },
                         .end_of_range =
                             [&](RangeId const& range) {
                                 if (++ends == 3 && std::exchange(ends_throws, false)) throw std::runtime_error("end");
                                 client.commit(range);
                             }};
    for (bool ended = false; !ended;) {
        try {
            client.run(sink);
            ended = true;
        } catch (std::runtime_error const&) {
            std::uint64_t whole = 0;
            for (auto const& [event, times] : seen) whole += times == 1 && event % 50 == 7 ? 0 : 1;
            EXPECT_EQ(client.counters().events, whole) << "counters are true when run() has thrown";
        }
    }
    EXPECT_EQ(throws, 13u);
    ASSERT_EQ(seen.size(), 640u);
    for (auto const& [event, times] : seen) EXPECT_EQ(times, event % 50 == 7 ? 2 : 1) << event;
    EXPECT_TRUE(client.settle(5'000'000'000));
    EXPECT_EQ(one.cleared(), 640u);
    EXPECT_EQ(client.counters().duplicates, 0u);
    expect_balance(client.counters(), 640);
}

TEST(ClientCallback, OfAnObserverThatThrowsLeavesNothingThatHangs) {
    TestHandler one({.events = 640});
    auto options = options_for({&one});
    options.role = ClientRole::observer;
    auto const begin = std::chrono::steady_clock::now();
    {
        Client client(options);
        EXPECT_THROW(client.run({.event = [](Event const&) { throw std::runtime_error("enough"); }}),
                     std::runtime_error);
        EXPECT_THROW(client.run({.idle = [] { throw std::runtime_error("of this"); }}), std::runtime_error);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

// A handler that sends a welcome and then reads nothing for a while: the client's clears fill all buffers between them.
class DeafHandler {
  public:
    DeafHandler() : listener_(transport::listen_at(transport::parse_address("127.0.0.1:0"))) {}
    std::string address() const { return listener_.address.str(); }
    void greet() {
        while (!(socket_ = accept())) std::this_thread::sleep_for(1ms);
        while (in_.size() < sizeof(MessageHead) + sizeof(Hello)) receive();
        std::vector<std::byte> out(sizeof(MessageHead) + sizeof(Welcome));
        MessageHead const head{.type = MessageType::welcome, .length_bytes = sizeof(Welcome)};
        Welcome const welcome{.instance = 1, .run = 7, .lease_ns = 10'000'000'000};
        std::memcpy(out.data(), &head, sizeof head);
        std::memcpy(out.data() + sizeof head, &welcome, sizeof welcome);
        transport::send_some(socket_, out);
    }
    void say_what_is_not_read() { transport::send_some(socket_, std::vector<std::byte>(10'000)); }
    // Returns the last message after the other side has gone.
    MessageType listen() {
        while (receive()) {
        }
        socket_.reset();
        MessageHead head;
        for (std::size_t at = 0; in_.size() - at >= sizeof head; at += sizeof head + head.length_bytes)
            std::memcpy(&head, in_.data() + at, sizeof head);
        return head.type;
    }

  private:
    base::FileDescriptor accept() {
        auto accepted = transport::accept_from(listener_.socket);
        return accepted ? std::move(accepted->socket) : base::FileDescriptor();
    }
    bool receive() {
        std::array<std::byte, 65536> room;
        auto const moved = transport::receive_some(socket_, room);
        in_.insert(in_.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
        if (moved.bytes == 0) std::this_thread::sleep_for(100us);
        return !moved.closed;
    }

    transport::Listener listener_;
    base::FileDescriptor socket_;
    std::vector<std::byte> in_;
};

TEST(ClientCallback, TheByeArrivesBehindWhateverIsStillOnItsWay) {
    DeafHandler handler;
    std::atomic<bool> greeted = false, committed = false;
    std::jthread const client([&] {
        Client leaving({.handlers = {handler.address()}});
        leaving.run({.idle = [&] {
            if (!greeted || leaving.run_number() != 0) return;
            for (std::uint64_t i = 0; i < 300'000; ++i) leaving.commit({7, 1000 * i, 10}); // 10 MB
            leaving.stop();
        }});
        committed = true;
    });
    handler.greet();
    std::this_thread::sleep_for(20ms);
    greeted = true;
    while (!committed) std::this_thread::sleep_for(1ms);
    handler.say_what_is_not_read();
    std::this_thread::sleep_for(50ms); // it is about to go
    EXPECT_EQ(handler.listen(), MessageType::bye);
}

} // namespace
} // namespace thalweg::readout
