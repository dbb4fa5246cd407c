// A client whose handler puts answers into memory. The handler here is the test itself, so it can break every rule.
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "thalweg/readout/client/client_link.h"
#include "thalweg/transport/passed_memory.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kBytes = 1 << 16;
constexpr std::uint64_t kMost = 1 << 20;

class ClientMemory : public ::testing::Test {
  protected:
    ClientMemory() { begin(); }
    // Connects, and is greeted.
    void begin() {
        peer.reset();
        link.connect();
        while (!peer)
            if (auto accepted = transport::accept_from(listener.socket)) peer = std::move(accepted->socket);
        while (link.phase() == ClientLink::Phase::connecting) link.finish_connecting();
        link.greeted();
    }
    void ask() {
        link.ask_for_memory(kBytes);
        link.flush();
        EXPECT_EQ(said<Share>(MessageType::share).bytes, kBytes);
    }
    // Returns what the client says next.
    template <class Body> Body said(MessageType type) {
        std::array<std::byte, sizeof(MessageHead) + sizeof(Body)> room;
        transport::wait_for(peer, false, 30'000'000'000);
        EXPECT_EQ(transport::receive_some(peer, room).bytes, room.size());
        MessageHead head;
        Body body;
        std::memcpy(&head, room.data(), sizeof head);
        std::memcpy(&body, room.data() + sizeof head, sizeof body);
        EXPECT_EQ(head.type, type);
        return body;
    }
    template <class Body> std::vector<std::byte> message(MessageType type, Body const& body, std::uint32_t tag = 0) {
        MessageHead const head{.type = type, .length_bytes = sizeof body, .tag = tag};
        std::vector<std::byte> bytes(sizeof head + sizeof body);
        std::memcpy(bytes.data(), &head, sizeof head);
        std::memcpy(bytes.data() + sizeof head, &body, sizeof body);
        return bytes;
    }
    void pass(base::FileDescriptor const& file, std::uint64_t bytes = kBytes) {
        ASSERT_TRUE(transport::send_with_file(peer, message(MessageType::shared, Shared{bytes}), file));
    }
    void answer(InMemory const& place, std::uint32_t tag = 0) {
        auto const bytes = message(MessageType::in_memory, place, tag);
        ASSERT_EQ(transport::send_some(peer, bytes).bytes, bytes.size());
    }
    void expect_end(std::string const& why) {
        EXPECT_FALSE(link.receive(pool, kMost));
        EXPECT_EQ(link.phase(), ClientLink::Phase::away);
        EXPECT_NE(link.failure().find(why), std::string::npos) << link.failure();
    }

    std::string path = "unix:" + ::testing::TempDir() + "thalweg-link-" + std::to_string(::getpid());
    transport::Listener listener = transport::listen_at(transport::parse_address(path));
    transport::Poller poller;
    MessagePool pool;
    ClientLink link{transport::MovingAddress(path), poller, 0};
    base::FileDescriptor peer;
    transport::SealedMemory memory = transport::SealedMemory::make(kBytes);
};

TEST_F(ClientMemory, AnAnswerInMemoryLooksLikeOneOverTheSocketAndIsReleasedInOrder) {
    ask();
    pass(memory.file);
    std::memcpy(memory.mapping.data() + 128, "fragments", 9);
    answer({128, 9}, 5), answer({256, 10}, 6), answer({512, 11}, 7);
    std::vector<ReceivedMessage> got;
    for (std::uint32_t tag = 5; tag < 8; ++tag) {
        auto message = link.receive(pool, kMost);
        ASSERT_TRUE(message);
        EXPECT_EQ(message->head.type, MessageType::events);
        EXPECT_EQ(message->head.tag, tag);
        EXPECT_EQ(message->body().size(), tag + 4u);
        got.push_back(std::move(*message));
    }
    EXPECT_EQ(got[0].body().data()[0], std::byte{'f'});
    pool.give_back(std::move(got[1].memory));
    link.flush();
    std::array<std::byte, 8> none;
    EXPECT_EQ(transport::receive_some(peer, none).bytes, 0u) << "the first one is still needed";
    pool.give_back(std::move(got[0].memory));
    link.flush();
    EXPECT_EQ(said<Release>(MessageType::release).answers, 2u);
}

TEST_F(ClientMemory, AReleaseComesBeforeTheNextRequestSoThatThereIsRoomForItsAnswer) {
    ask();
    pass(memory.file);
    answer({0, 9});
    pool.give_back(std::move(link.receive(pool, kMost)->memory));
    link.send(MessageType::get, 1, Get{});
    link.flush();
    EXPECT_EQ(said<Release>(MessageType::release).answers, 1u);
    said<Get>(MessageType::get);
}

TEST_F(ClientMemory, WhatIsNeededStaysWhenTheConnectionHasEnded) {
    ask();
    pass(memory.file);
    std::memcpy(memory.mapping.data(), "fragments", 9);
    answer({0, 9});
    auto message = link.receive(pool, kMost);
    ASSERT_TRUE(message);
    link.fail("the handler has gone");
    memory = {};
    EXPECT_EQ(0, std::memcmp(message->body().data(), "fragments", 9));
    begin();
    ask();
    pool.give_back(std::move(message->memory));
    link.flush();
    std::array<std::byte, 8> none;
    EXPECT_EQ(transport::receive_some(peer, none).bytes, 0u) << "it belongs to another connection";
}

TEST_F(ClientMemory, AHandlerWithoutMemorySaysSo) {
    ask();
    auto const none = message(MessageType::shared, Shared{});
    ASSERT_EQ(transport::send_some(peer, none).bytes, none.size());
    EXPECT_FALSE(link.receive(pool, kMost));
    EXPECT_EQ(link.phase(), ClientLink::Phase::ready);
    answer({0, 24});
    expect_end("the memory does not hold them");
}

TEST_F(ClientMemory, MemoryThatCouldBeShrunkIsRefused) {
    ask();
    base::FileDescriptor const file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(0, ::ftruncate(file.get(), kBytes));
    pass(file);
    expect_end("it passed memory that it could shrink");
}

TEST_F(ClientMemory, MemoryOfAnotherSizeIsRefused) {
    ask();
    pass(memory.file, kBytes * 2);
    expect_end("it says that there are 131072");
}

TEST_F(ClientMemory, AnswersBeyondTheMemoryAreRefused) {
    for (auto const& place : {InMemory{0, kBytes + 1}, InMemory{kBytes - 10, 11}, InMemory{~0ull, 2},
                              InMemory{kBytes + 1, 0}, InMemory{8, ~0ull}}) {
        ask();
        pass(memory.file);
        answer(place);
        expect_end("the memory does not hold them");
        begin();
    }
}

TEST_F(ClientMemory, MemoryThatWasNotAskedForIsRefused) {
    pass(memory.file);
    expect_end("it passed memory that was not asked for");
    begin();
    ask();
    pass(memory.file), pass(memory.file);
    expect_end("it passed memory that was not asked for");
}

// Otherwise a client without descriptors would connect for ever.
TEST_F(ClientMemory, AClientThatCannotMapItConnectsAgainWithoutIt) {
    ask();
    auto const without = message(MessageType::shared, Shared{kBytes});
    ASSERT_EQ(transport::send_some(peer, without).bytes, without.size());
    expect_end("cannot ask for the size of passed memory");
    begin();
    link.ask_for_memory(kBytes);
    link.flush();
    std::array<std::byte, 8> none;
    EXPECT_EQ(transport::receive_some(peer, none).bytes, 0u);
}

} // namespace
} // namespace thalweg::readout
