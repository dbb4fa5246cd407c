// Answers through memory: what the client and the server owe each other, and what neither can do to the other.
#include <deque>
#include <fcntl.h>
#include <sys/mman.h>

#include "thalweg/readout/server/testing.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kAnswerBytes = sizeof(EventsHead) + 100 * (16 + 64 + 336);

class ServerMemory : public ServerTest {
  protected:
    ServerMemory() {
        config.threads = 1;
        TestClient::asks_for_memory = false;
    }
    // A client with so much memory.
    TestClient sharer(std::uint64_t bytes, std::uint64_t id = 1) {
        TestClient client(server->address(), id);
        EXPECT_EQ(client.share(bytes), bytes);
        return client;
    }
    double held() const { return sample("held_bytes", "collector"); }
    static Get hundred(std::uint64_t offset = 0) { return {kFirst + offset, kRun, 100, kAll, 0}; }
};

INSTANTIATE_TEST_SUITE_P(Memory, ServerMemory, testing::Values(Way::memory));

TEST_P(ServerMemory, AnswersAreTheSameThroughMemoryAndOverTheSocket) {
    start();
    ring->add(1000).skip(7).add(500, 96, kIncomplete);
    auto plain = collector(1);
    auto client = sharer(1 << 20);
    for (std::uint64_t first = 0; first < 1600; first += 37) {
        Get const get{kFirst + first, kRun, 1 + static_cast<std::uint32_t>(first % 90), kAll, 0};
        auto const one = plain.ask(get), other = client.ask(get);
        EXPECT_EQ(one.head.type, other.head.type);
        ASSERT_TRUE(one.body == other.body) << "from event " << first << " on";
    }
    EXPECT_EQ(client.answers_in_memory(), 44u);
    EXPECT_TRUE(becomes("memory_full_total", 0));
}

TEST_P(ServerMemory, WithoutRoomAnAnswerGoesOverTheSocketUntilTheClientReleasesSome) {
    start();
    ring->add(1000);
    auto client = sharer(128 << 10);
    client.releases = false;
    std::vector<Received> answers;
    for (int i = 0; i < 4; ++i) answers.push_back(client.ask(hundred()));
    EXPECT_EQ(client.answers_in_memory(), 2u) << "there is room for two of " << kAnswerBytes << " bytes";
    for (auto const& answer : answers) EXPECT_TRUE(answer.body == answers[0].body);
    EXPECT_TRUE(reaches("memory_full_total", 2));
    EXPECT_TRUE(soon([&] { return held() >= 2 * kAnswerBytes; })) << "what the client holds is counted";
    client.release(2);
    EXPECT_EQ(client.ask(hundred()).states(), std::string(100, 'c'));
    EXPECT_EQ(client.answers_in_memory(), 3u);
    EXPECT_EQ(client.last_place().offset, 0u) << "an empty ring begins again";
    client.release(3);
    EXPECT_TRUE(becomes("held_bytes", 0, "collector"));
    for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(client.ask(hundred()).body == answers[0].body);
        client.release(client.answers_in_memory());
    }
    EXPECT_EQ(client.answers_in_memory(), 53u);
}

TEST_P(ServerMemory, NothingThatTheClientHoldsIsWrittenAgain) {
    start();
    ring->add(4000);
    auto client = sharer(256 << 10);
    client.releases = false;
    std::deque<std::pair<InMemory, std::vector<std::byte>>> held;
    std::uint64_t released = 0;
    for (std::uint32_t i = 0; i < 3000; ++i) {
        client.get({kFirst + i % 3900, kRun, 1 + i * 7 % 100, kAll, 0}, i);
        auto const answer = client.receive();
        ASSERT_EQ(answer.head.tag, i);
        if (answer.head.type == MessageType::events && client.answers_in_memory() > released + held.size())
            held.emplace_back(client.last_place(), answer.body);
        while (held.size() > i % 5) {
            auto const& [place, bytes] = held.front();
            ASSERT_EQ(0, std::memcmp(client.memory().data() + place.offset, bytes.data(), bytes.size()));
            held.pop_front();
            ++released;
        }
        client.release(released);
    }
    EXPECT_GT(client.answers_in_memory(), 2000u);
}

TEST_P(ServerMemory, AReleaseOfWhatWasNotGivenEndsTheConnectionAndNoOther) {
    start();
    ring->add(1000);
    auto good = sharer(128 << 10);
    auto const ends = [&](auto const& lie) {
        auto bad = sharer(128 << 10, 2);
        bad.releases = false;
        bad.ask(hundred());
        lie(bad);
        auto const refused = bad.receive();
        EXPECT_EQ(refused.head.type, MessageType::refused);
        EXPECT_EQ(refused.as<Refused>().why, Refusal::malformed);
        EXPECT_TRUE(bad.receive().end);
        return refused.sentence();
    };
    EXPECT_EQ(ends([](TestClient& bad) { bad.release(2); }),
              "2 answers in memory are released, and there were not so many");
    ends([](TestClient& bad) { bad.release(~0ull); });
    ends([](TestClient& bad) { bad.release(1), bad.release(0); });
    EXPECT_EQ(ends([](TestClient& bad) {
                  Share const again{4096};
                  bad.send(MessageType::share, &again, sizeof again);
              }),
              "a client asks for memory once");
    auto plain = collector(3);
    plain.release(0);
    EXPECT_EQ(plain.receive().head.type, MessageType::refused);
    EXPECT_EQ(good.ask(hundred()).states(), std::string(100, 'c'));
    EXPECT_EQ(good.answers_in_memory(), 1u);
    EXPECT_TRUE(becomes("shared_memory_bytes", 128 << 10)) << "the memory of the others has gone";
}

TEST_P(ServerMemory, ItIsForCollectorsOnThisHost) {
    start();
    auto watcher = observer();
    EXPECT_EQ(watcher.share(), 0u);
    EXPECT_TRUE(becomes("memory_missing_total", 0));
    config.listen = "127.0.0.1:0";
    Server tcp(config, 1, "dh1");
    TestClient far(tcp.address(), std::uint64_t{1});
    EXPECT_EQ(far.share(), 0u);
    config.listen = free_address(Way::memory);
    config.shared_memory_bytes = 0;
    Server without(config, 1, "dh2");
    TestClient near(without.address(), std::uint64_t{1});
    EXPECT_EQ(near.share(), 0u);
}

TEST_P(ServerMemory, ItHasAtMostHalfOfWhatOneConnectionAndAllOfThemMayQueue) {
    config.queued_bytes = 256 << 10;
    config.queued_total_bytes = 1 << 20;
    start(8192);
    ring->add(8000);
    std::deque<TestClient> clients;
    for (std::uint64_t i = 0; i < 4; ++i) {
        clients.emplace_back(server->address(), 1 + i);
        EXPECT_EQ(clients.back().share(~0ull), 128u << 10);
        clients.back().releases = false;
    }
    EXPECT_TRUE(becomes("memory_missing_total", 0));
    TestClient late(server->address(), std::uint64_t{9});
    EXPECT_EQ(late.share(), 0u);
    EXPECT_TRUE(becomes("memory_missing_total", 1));
    // All memory is full, and none of it is released: all clients still get their answers.
    for (int i = 0; i < 20; ++i)
        for (auto& client : clients) ASSERT_EQ(client.ask(hundred()).states(), std::string(100, 'c'));
    EXPECT_EQ(late.ask(hundred()).states(), std::string(100, 'c'));
    clients.pop_back();
    EXPECT_TRUE(becomes("shared_memory_bytes", 3 * (128 << 10)));
    TestClient later(server->address(), std::uint64_t{10});
    EXPECT_EQ(later.share(), 128u << 10);
}

// Many more requests than may wait are on their way, and the release comes behind all of them.
TEST_P(ServerMemory, AFullMemoryNeverKeepsTheServerFromReadingARelease) {
    config.queued_bytes = 256 << 10;
    start();
    ring->add(1000);
    auto client = sharer(128 << 10);
    client.releases = false;
    client.get_often(hundred(), 300);
    client.release(2);
    for (std::uint32_t tag = 0; tag < 300; ++tag) ASSERT_EQ(client.receive().head.tag, tag);
    auto const answers = client.answers_in_memory();
    EXPECT_GE(answers, 2u);
    client.release(answers);
    EXPECT_EQ(client.ask(hundred()).states(), std::string(100, 'c'));
    EXPECT_EQ(client.answers_in_memory(), answers + 1);
}

TEST_P(ServerMemory, WhoHasTheFileCannotHurtTheServer) {
    start();
    ring->add(1000);
    auto bad = sharer(128 << 10), good = sharer(128 << 10, 2);
    auto const before = bad.ask(hundred()).body;
    auto const file = bad.memory_file().get();
    EXPECT_NE(0, ::ftruncate(file, 0));
    EXPECT_NE(0, ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 128 << 10));
    EXPECT_EQ(MAP_FAILED, ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    EXPECT_LT(::pwrite(file, "x", 1, 0), 0);
    flock lock{.l_type = F_RDLCK, .l_whence = SEEK_SET};
    ::fcntl(file, F_SETLK, &lock);
    EXPECT_TRUE(bad.ask(hundred()).body == before);
    EXPECT_TRUE(good.ask(hundred()).body == before);
}

TEST_P(ServerMemory, AClientThatCannotReceiveFilesGoesOnWithoutMemory) {
    start();
    ring->add(1000);
    TestClient client(server->address(), std::uint64_t{1});
    Share const share{128 << 10};
    client.send(MessageType::share, &share, sizeof share);
    EXPECT_EQ(client.receive().as<Shared>().bytes, 128u << 10) << "the kernel closes a file that is not received";
    TestClient other(server->address(), std::uint64_t{2});
    EXPECT_EQ(other.ask(hundred()).states(), std::string(100, 'c'));
}

} // namespace
} // namespace thalweg::readout
