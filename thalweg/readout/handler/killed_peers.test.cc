// A client, or a server, is killed after each message of a conversation and in the middle of each: the other one notes
// it, keeps nothing of it, and goes on. This is so over TCP, over a Unix socket and through memory.
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/readout/handler/test_one_handler.h"

namespace thalweg::readout {
namespace {

constexpr std::uint32_t kCount = 50;

// One collector's conversation, message by message.
struct Conversation {
    Conversation(std::string const& address, bool uses_memory) : client(address) {
        steps.emplace_back([this] { client.hello(1), said = MessageType::welcome; });
        if (uses_memory)
            steps.emplace_back([this] { said = client.share() > 0 ? MessageType{} : MessageType::refused; });
        steps.emplace_back([this] { client.take(Take{.count = kCount}), said = MessageType::taken; });
        steps.emplace_back([this] { client.get({kFirst, kRun, kCount, ~0u, 0}), said = MessageType::events; });
        steps.emplace_back([this] { client.clear({kFirst, kRun, kCount}), said = MessageType::cleared; });
        steps.emplace_back([this] { client.bye(), said = {}; });
    }
    // Does the first `count` steps; it reads the answer of the last one if `reads`.
    void go(std::size_t count, bool reads = true) {
        for (std::size_t i = 0; i < count; ++i) {
            steps[i]();
            if (said == MessageType{} || (i + 1 == count && !reads)) continue;
            last = client.receive();
            EXPECT_EQ(last.head.type, said);
        }
    }
    void send_half_of_a_message() {
        MessageHead const head{.type = MessageType::get, .length_bytes = sizeof(Get)};
        client.send_bytes(&head, sizeof head);
    }

    TestClient client;
    std::vector<std::function<void()>> steps;
    MessageType said = {};
    Received last;
};

class Process {
  public:
    explicit Process(std::function<void()> const& work) : pid_(::fork()) {
        if (pid_ != 0) return;
        work();
        ::raise(SIGKILL);
    }
    Process(Process const&) = delete;
    Process& operator=(Process const&) = delete;
    ~Process() { kill(); }
    void kill() {
        if (pid_ > 0) ::kill(pid_, SIGKILL);
        wait();
    }
    void wait() {
        if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

  private:
    pid_t pid_;
};

class KilledPeers : public ::testing::TestWithParam<Way> {
  protected:
    KilledPeers() { OneHandler::way = GetParam(); }
    ~KilledPeers() override { OneHandler::way = Way::flattened; }
    bool uses_memory() const { return GetParam() == Way::memory; }
    std::size_t steps() const { return uses_memory() ? 6 : 5; }
};

INSTANTIATE_TEST_SUITE_P(Tcp, KilledPeers, ::testing::Values(Way::flattened));
INSTANTIATE_TEST_SUITE_P(Local, KilledPeers, ::testing::Values(Way::local));
INSTANTIATE_TEST_SUITE_P(Memory, KilledPeers, ::testing::Values(Way::memory));

bool becomes_zero(OneHandler const& handler, std::string const& name) {
    for (int i = 0; i < 3000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
        double sum = 0;
        for (auto const& it : handler.server->samples())
            if (it.name == "thalweg_readout_" + name) sum += it.value;
        if (sum == 0) return true;
    }
    return false;
}

TEST_P(KilledPeers, AClientIsKilledAfterEachMessageAndInTheMiddleOfOne) {
    OneHandler one(60'000'000'000);
    one.begin(kFirst, kEvents);
    auto const address = one.address();
    Conversation other(address, uses_memory());
    other.go(steps() - 3); // it has not asked for events
    for (std::size_t count = 1; count <= steps(); ++count)
        for (int way = 0; way < 3; ++way) {
            Process client([&] {
                Conversation talk(address, uses_memory());
                talk.client.releases = way == 2;
                talk.go(count, way != 1);
                if (way == 2) talk.send_half_of_a_message();
            });
            client.wait();
        }
    other.client.get({kFirst, kRun, kCount, ~0u, 0});
    EXPECT_EQ(other.client.receive().records().size(), kCount);
    { auto const gone = std::move(other.client); }
    EXPECT_TRUE(becomes_zero(one, "connections"));
    EXPECT_TRUE(becomes_zero(one, "held_bytes"));
    EXPECT_TRUE(becomes_zero(one, "shared_memory_bytes"));
}

TEST_P(KilledPeers, AServerIsKilledAfterEachMessageAndWhatItGaveIsStillThere) {
    for (std::size_t count = 1; count <= steps() - 1; ++count) {
        int ends[2];
        ASSERT_EQ(0, ::pipe(ends));
        base::FileDescriptor const from(ends[0]), to(ends[1]);
        Process server([&] {
            OneHandler one(60'000'000'000);
            one.begin(kFirst, kEvents);
            auto const address = one.address();
            if (::write(to.get(), address.data(), address.size()) > 0) ::pause();
        });
        std::string address(200, ' ');
        auto const bytes = ::read(from.get(), address.data(), address.size());
        ASSERT_GT(bytes, 0);
        address.resize(static_cast<std::size_t>(bytes));
        Conversation talk(address, uses_memory());
        talk.client.releases = false;
        talk.go(count);
        server.kill();
        EXPECT_TRUE(talk.client.receive().end);
        if (talk.client.answers_in_memory() == 0) continue;
        auto const place = talk.client.last_place();
        std::span const in_memory(talk.client.memory().data() + place.offset, place.bytes);
        EXPECT_GT(in_memory.size(), kCount * 100u);
        EXPECT_EQ(std::to_integer<int>(in_memory[0]), static_cast<int>(kFirst & 0xFF)) << "the first event";
    }
}

} // namespace
} // namespace thalweg::readout
