#include "thalweg/felix/dma_buffer.h"

#include <algorithm>
#include <barrier>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::felix {
namespace {

BlockFormat const kFormat = parse_format("c0ce");
constexpr std::uint64_t kBlocks = 8;

std::string a_name() {
    static int count = 0;
    return fmt::format("thalweg-felix-test-{}-{}", ::getpid(), count++);
}

void number(std::byte* block, std::uint64_t value) { std::memcpy(block + 8, &value, sizeof value); }
std::uint64_t number_of(std::byte const* block) {
    std::uint64_t value;
    std::memcpy(&value, block + 8, sizeof value);
    return value;
}

struct DmaBuffer : ::testing::Test {
    std::string name = a_name();
    DmaWriter writer{name, kFormat, kBlocks* kFormat.block_bytes};

    void write(std::uint64_t blocks) {
        for (; blocks > 0; --blocks) {
            ASSERT_GT(writer.room().blocks, 0u);
            number(writer.room().data, writer.position());
            writer.publish(1);
        }
    }
    std::atomic<std::uint64_t>* pointer_of_writer() {
        return &reinterpret_cast<DmaHead*>(writer.data() - DmaHead::kBytes)->write_pointer;
    }
};

TEST_F(DmaBuffer, BeginsEmptyFillsAndStops) {
    auto reader = DmaReader::attach(name);
    EXPECT_EQ(reader.format(), kFormat);
    EXPECT_EQ(reader.block_count(), kBlocks);
    EXPECT_EQ(reader.published(0), 0u);
    EXPECT_EQ(writer.room().blocks, kBlocks);
    write(kBlocks);
    EXPECT_EQ(writer.room().blocks, 0u);
    EXPECT_EQ(writer.backlog(), kBlocks);
    EXPECT_EQ(reader.published(0), kBlocks); // the same offset as when it was empty: the lap's bit tells
    reader.release(3);
    EXPECT_EQ(writer.room().blocks, 3u);
    EXPECT_EQ(reader.bad_pointers(), 0u);
    for (std::uint64_t position = 3; position < kBlocks; ++position)
        EXPECT_EQ(number_of(reader.block(position)), position);
}

TEST_F(DmaBuffer, RoomNeverReachesAroundTheEnd) {
    auto reader = DmaReader::attach(name);
    write(6);
    reader.release(5);
    EXPECT_EQ(writer.room().blocks, 2u);
    write(2);
    EXPECT_EQ(writer.room().data, writer.data());
    EXPECT_EQ(writer.room().blocks, 5u);
}

TEST_F(DmaBuffer, AnyStepsOverManyLaps) {
    auto reader = DmaReader::attach(name);
    std::mt19937_64 random(2);
    std::uint64_t cursor = 0;
    std::uint64_t released = 0;
    for (int step = 0; step < 20'000; ++step) {
        write(std::min(writer.room().blocks, random() % (kBlocks + 1)));
        auto const published = reader.published(cursor);
        ASSERT_EQ(published, writer.position());
        for (auto const end = cursor + random() % (published - cursor + 1); cursor < end; ++cursor) {
            ASSERT_EQ(number_of(reader.block(cursor)), cursor);
        }
        if (random() % 2 == 0) reader.release(released = released + random() % (cursor - released + 1));
        ASSERT_EQ(writer.backlog(), writer.position() - released);
    }
    EXPECT_GT(writer.position(), 100 * kBlocks);
    EXPECT_EQ(reader.bad_pointers(), 0u);
}

TEST_F(DmaBuffer, AReaderGoesOnWhereTheLastOneStopped) {
    write(7);
    {
        auto reader = DmaReader::attach(name);
        reader.release(5);
        reader.set_newest_event(1234);
        reader.set_closed_event(1200);
    }
    write(5); // into the next lap
    auto reader = DmaReader::attach(name);
    EXPECT_EQ(reader.newest_event(), 1234u);
    EXPECT_EQ(reader.closed_event(), 1200u);
    EXPECT_EQ(reader.published(0), 7u);
    EXPECT_EQ(number_of(reader.block(0)), 5u);
    EXPECT_EQ(number_of(reader.block(6)), 11u);
    reader.release(4); // beyond the end, in the odd lap
    auto moved = std::move(reader);
    EXPECT_EQ(moved.published(4), 7u);
    write(5);
    EXPECT_EQ(moved.published(4), 12u);
    EXPECT_EQ(number_of(moved.block(11)), 16u);
}

TEST_F(DmaBuffer, PointersThatMakeNoSenseAreCounted) {
    auto reader = DmaReader::attach(name);
    write(4);
    ASSERT_EQ(reader.published(0), 4u);
    reader.release(2);
    auto const bytes = kBlocks * kFormat.block_bytes;
    std::uint64_t bad = 0;
    for (std::uint64_t const word : {bytes, std::uint64_t{1}, std::uint64_t{0}, ~std::uint64_t{0},
                                     DmaPointer::kOdd | 3 * kFormat.block_bytes, DmaPointer::kOdd | bytes}) {
        writer.lie(word);
        EXPECT_EQ(reader.published(4), 4u) << word;
        EXPECT_EQ(reader.bad_pointers(), ++bad);
    }
    writer.lie(pointer_of_writer()->load());
    write(2); // not shown
    writer.lie(4 * kFormat.block_bytes);
    EXPECT_EQ(reader.published(4), 4u);
    EXPECT_EQ(reader.bad_pointers(), bad);
    writer.lie(std::nullopt);
    EXPECT_EQ(reader.published(4), 6u);
}

TEST_F(DmaBuffer, OneReader) {
    auto reader = DmaReader::attach(name);
    try {
        DmaReader::attach(name);
        FAIL();
    } catch (base::UsageError const& error) {
        EXPECT_NE(std::string(error.what()).find(fmt::format("process {}", ::getpid())), std::string::npos)
            << error.what();
    }
}

TEST_F(DmaBuffer, TheLockOfADeadReaderIsGone) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    auto const child = ::fork();
    if (child == 0) {
        auto reader = DmaReader::attach(name);
        [[maybe_unused]] auto const written = ::write(ready[1], "x", 1);
        ::pause();
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_THROW(DmaReader::attach(name), base::UsageError);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_NO_THROW(DmaReader::attach(name));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(DmaBuffer, ALiveCardKeepsItsName) {
    EXPECT_THROW(DmaWriter(name, kFormat, 1024), base::UsageError);
    EXPECT_THROW(DmaWriter(a_name(), kFormat, 1000), base::UsageError);
    EXPECT_THROW(DmaWriter(a_name(), kFormat, 0), base::UsageError);
    EXPECT_NO_THROW(DmaReader::attach(name));
}

// Two containers may share /dev/shm: the pid of a card is no process, or another one, where the other card runs.
TEST_F(DmaBuffer, ALiveCardKeepsItsNameInOtherPidNamespaces) {
    enum : int { refused, replaced, not_possible };
    auto const child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWPID) != 0) ::_exit(not_possible);
        auto const in_namespace = ::fork();
        if (in_namespace == 0) {
            try {
                DmaWriter const second(name, kFormat, 1024);
                ::_exit(replaced);
            } catch (base::UsageError const&) {
                ::_exit(refused);
            }
        }
        int status = 0;
        ::waitpid(in_namespace, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : replaced);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == not_possible) GTEST_SKIP() << "this user may not make a pid namespace";
    EXPECT_EQ(WEXITSTATUS(status), refused);
    EXPECT_NO_THROW(DmaReader::attach(name));
}

TEST(DmaBufferOfADeadCard, IsReplacedAndItsReaderSeesThat) {
    auto const name = a_name();
    auto const child = ::fork();
    if (child == 0) {
        DmaWriter writer(name, kFormat, 8 * 1024);
        number(writer.room().data, 7);
        writer.publish(1);
        ::kill(::getpid(), SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    auto reader = DmaReader::attach(name);
    EXPECT_LT(reader.heartbeat_age_ns(), kCardGoneNs);
    EXPECT_EQ(reader.published(0), 1u); // what it left can be read
    DmaWriter next(name, kFormat, 16 * 1024);
    EXPECT_GT(reader.heartbeat_age_ns(), kCardGoneNs);
    EXPECT_EQ(number_of(reader.block(0)), 7u);
    auto anew = DmaReader::attach(name); // the old lock does not stand in the way
    EXPECT_NE(anew.card_instance(), reader.card_instance());
    EXPECT_EQ(anew.block_count(), 16u);
    EXPECT_FALSE(anew.stopped());
    next.stop();
    next.add_stall_ns(5);
    EXPECT_TRUE(anew.stopped());
    EXPECT_EQ(anew.card_stall_ns(), 5u);
}

TEST(DmaBufferThatSeveralWant, IsThatOfOne) {
    constexpr int kCards = 4;
    for (int round = 0; round < 100; ++round) {
        auto const name = a_name();
        std::vector<std::unique_ptr<DmaWriter>> writers(kCards);
        std::barrier begin(kCards);
        {
            std::vector<std::jthread> threads;
            for (auto& writer : writers) {
                threads.emplace_back([&] {
                    begin.arrive_and_wait();
                    try {
                        writer = std::make_unique<DmaWriter>(name, kFormat, kBlocks * kFormat.block_bytes);
                    } catch (base::UsageError const& error) {
                        EXPECT_NE(std::string(error.what()).find("give this card another name"), std::string::npos);
                    }
                });
            }
        }
        auto const is_made = [](auto const& writer) { return writer != nullptr; };
        ASSERT_EQ(std::ranges::count_if(writers, is_made), 1) << round;
        (*std::ranges::find_if(writers, is_made))->stop();
        EXPECT_TRUE(DmaReader::attach(name).stopped()) << round;
    }
}

TEST(DmaBufferThatIsNone, IsRefused) {
    auto const name = a_name();
    try {
        DmaReader::attach(name);
        FAIL();
    } catch (base::SystemError const& error) {
        EXPECT_EQ(error.code, ENOENT);
    }
    {
        auto const foreign = base::SharedMemory::create(name, 100);
        EXPECT_THROW(DmaReader::attach(name), base::DataError);
    }
    DmaWriter writer(name, kFormat, 8 * 1024);
    auto& head = *reinterpret_cast<DmaHead*>(writer.data() - DmaHead::kBytes);
    for (std::uint64_t const bytes :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{64} << 20, ~std::uint64_t{1023}}) {
        head.buffer_bytes = bytes;
        EXPECT_THROW(DmaReader::attach(name), base::DataError) << bytes;
    }
    head.buffer_bytes = 8 * 1024;
    head.read_pointer = 5;
    EXPECT_THROW(DmaReader::attach(name), base::DataError);
}

TEST(DmaBufferAtSpeed, EveryBlockArrivesOnceAndInOrder) {
    constexpr std::uint64_t kCount = 200'000;
    auto const name = a_name();
    DmaWriter writer(name, kFormat, 64 * 1024);
    auto reader = DmaReader::attach(name);
    std::thread card([&] {
        while (writer.position() < kCount) {
            auto const room = writer.room();
            if (room.blocks == 0) std::this_thread::yield();
            for (std::uint64_t block = 0; block < room.blocks; ++block) {
                number(room.data + block * kFormat.block_bytes, writer.position() + block);
            }
            writer.publish(room.blocks);
        }
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t cursor = 0; cursor < kCount;) {
        auto const published = reader.published(cursor);
        if (published == cursor) std::this_thread::yield();
        for (; cursor < published; ++cursor) wrong += number_of(reader.block(cursor)) != cursor;
        reader.release(cursor);
    }
    card.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(reader.bad_pointers(), 0u);
}

} // namespace
} // namespace thalweg::felix
