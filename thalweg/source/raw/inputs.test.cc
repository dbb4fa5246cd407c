// Rows through real pipes and sockets of this machine.
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/source/raw/readers.h"
#include "thalweg/source/raw/testing.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::source::raw {
namespace {

using namespace testing;

constexpr std::size_t kBatchBytes = 1000;

class Input {
  public:
    explicit Input(std::string const& address, Row const& row = synced_row())
        : reader_(parse_input(address).kind == InputAddress::Kind::udp
                      ? open_datagrams(row, parse_input(address))
                      : open_stream(row, parse_input(address), kBatchBytes)) {}

    // Returns the numbers of the next `count` rows; fewer if the stream ends before, or a minute passes.
    std::vector<std::uint32_t> numbers(std::size_t count) {
        std::vector<std::uint32_t> all;
        auto const deadline_ns = base::monotonic_ns() + 60 * base::kSecondNs;
        for (Batch batch; all.size() < count && reader_->next(batch, deadline_ns);) {
            auto const before = all.size();
            all.resize(before + batch.rows);
            std::memcpy(all.data() + before, batch.columns[0].data(), 4 * batch.rows);
        }
        return all;
    }
    // Looks at what there is, without waiting, until the condition holds.
    template <typename Condition> void look_until(Condition const& condition) {
        auto const deadline_ns = base::monotonic_ns() + 60 * base::kSecondNs;
        for (Batch batch; !condition() && base::monotonic_ns() < deadline_ns;)
            if (reader_->next(batch, 0)) ADD_FAILURE() << "there is a row";
        EXPECT_TRUE(condition());
    }
    std::uint64_t count(std::string const& name) const { return reader_->counters().named.at(name); }
    std::string remarks() const {
        auto const remarks = reader_->remarks();
        std::string all;
        for (auto const& each : remarks.missing) all += "missing: " + each + "\n";
        for (auto const& each : remarks.notes) all += "note: " + each + "\n";
        return all;
    }
    StreamReader& reader() { return *reader_; }

  private:
    std::unique_ptr<StreamReader> reader_;
};

struct Pipe {
    base::FileDescriptor out, in;
    Pipe() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        out = base::FileDescriptor(ends[0]);
        in = base::FileDescriptor(ends[1]);
    }
    std::string address() const { return fmt::format("fd:{}", out.get()); }
};

void send(base::FileDescriptor const& to, Content const& bytes) {
    EXPECT_EQ(::write(to.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

Content rows(std::uint32_t first, std::uint32_t last) {
    Content bytes;
    for (auto i = first; i <= last; ++i) put(bytes, synced(i));
    return bytes;
}

std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t last) {
    std::vector<std::uint32_t> all;
    for (auto i = first; i <= last; ++i) all.push_back(i);
    return all;
}

// Closes in such a way that the other side sees a reset.
void reset(base::FileDescriptor& socket) {
    linger const at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket.reset();
}

base::FileDescriptor accept(transport::Listener const& listener) {
    for (;;) {
        if (auto accepted = transport::accept_from(listener.socket)) return std::move(accepted->socket);
        transport::wait_for(listener.socket, false, base::kSecondNs);
    }
}

std::uint16_t free_port() { return transport::listen_at(transport::parse_address("127.0.0.1:0")).address.port(); }

base::FileDescriptor connect(std::uint16_t port) {
    auto socket = transport::begin_connect(transport::parse_address(fmt::format("127.0.0.1:{}", port)));
    while (transport::connect_error(socket) == EINPROGRESS) transport::wait_for(socket, true, base::kSecondNs);
    EXPECT_EQ(transport::connect_error(socket), 0);
    return socket;
}

TEST(PipeInput, EndsWithinARowAndSaysHowManyBytesAreLeft) {
    Pipe pipe;
    Input input(pipe.address());
    auto bytes = rows(0, 9);
    bytes.resize(bytes.size() - 3);
    send(pipe.in, bytes);
    EXPECT_EQ(input.numbers(9), range(0, 8));
    pipe.in.reset();
    EXPECT_TRUE(input.numbers(1).empty());
    EXPECT_TRUE(input.reader().ended());
    EXPECT_EQ(input.count("left_over_bytes"), 7u);
    EXPECT_EQ(input.count("cut_rows"), 1u);
    EXPECT_NE(input.remarks().find("missing: " + pipe.address() + ": it ended within a row: 7 bytes are left over"),
              std::string::npos)
        << input.remarks();
}

TEST(PipeInput, SaysIfItsSenderHasToWait) {
    Pipe pipe;
    Input input(pipe.address());
    ::fcntl(pipe.in.get(), F_SETFL, O_NONBLOCK);
    send(pipe.in, rows(0, 0));
    EXPECT_EQ(input.numbers(1).size(), 1u); // now the pipe has its final size
    EXPECT_EQ(input.count("full_reads"), 0u);
    std::uint32_t sent = 1;
    for (Content row = synced(1); ::write(pipe.in.get(), row.data(), row.size()) > 0; row = synced(++sent)) {
    }
    EXPECT_EQ(input.numbers(sent - 1), range(1, sent - 1));
    EXPECT_GE(input.count("full_reads"), 1u);
    EXPECT_NE(input.remarks().find("note: "), std::string::npos);
    EXPECT_EQ(input.remarks().find("missing: "), std::string::npos) << input.remarks();
}

TEST(TcpInput, IsConnectedAgainAfterAReset) {
    auto const listener = transport::listen_at(transport::parse_address("127.0.0.1:0"));
    Input input(fmt::format("tcp://127.0.0.1:{}", listener.address.port()));
    auto first = accept(listener);
    auto bytes = rows(0, 4);
    bytes.resize(bytes.size() - 2);
    send(first, bytes);
    EXPECT_EQ(input.numbers(4), range(0, 3));
    reset(first);
    std::jthread const instrument([&] {
        auto const second = accept(listener);
        send(second, rows(5, 7));
    });
    EXPECT_EQ(input.numbers(3), range(5, 7));
    EXPECT_TRUE(input.numbers(1).empty()); // it has ended in order
    EXPECT_TRUE(input.reader().ended());
    EXPECT_EQ(input.count("reconnects"), 1u);
    EXPECT_EQ(input.count("cut_rows"), 1u);
    EXPECT_EQ(input.reader().counters().lost, 1u); // row 4 by its number
    EXPECT_NE(input.remarks().find("missing"), std::string::npos);
}

TEST(TcpInput, ThatIsNotThereIsAnErrorAtOnce) {
    EXPECT_THROW(Input(fmt::format("tcp://127.0.0.1:{}", free_port())), base::SystemError);
    EXPECT_THROW(Input("unix:/nowhere/rows"), base::SystemError);
    EXPECT_THROW(Input("/nowhere/rows"), base::SystemError);
}

TEST(ListeningInput, RefusesASecondConnectionAndTakesOneAfterTheOther) {
    auto const port = free_port();
    Input input(fmt::format("listen:{}?reconnect=always", port));
    auto first = connect(port);
    send(first, rows(0, 2));
    EXPECT_EQ(input.numbers(3), range(0, 2));
    auto second = connect(port);
    input.look_until([&] { return input.count("refused_connections") == 1; });
    std::byte byte{};
    transport::wait_for(second, false, 10 * base::kSecondNs);
    EXPECT_LE(::recv(second.get(), &byte, 1, 0), 0); // it was closed
    send(first, rows(3, 3));
    first.reset();
    EXPECT_EQ(input.numbers(1), range(3, 3));
    Batch batch;
    EXPECT_FALSE(input.reader().next(batch, 0));
    EXPECT_FALSE(input.reader().ended());
    auto third = connect(port);
    send(third, rows(0, 0)); // it has begun again
    EXPECT_EQ(input.numbers(1), range(0, 0));
    EXPECT_EQ(input.count("reconnects"), 1u);
    EXPECT_EQ(input.reader().counters().lost, 0u);
}

TEST(ListeningInput, TakesASenderThatComesAgainBeforeItsEndIsSeen) {
    auto const port = free_port();
    Input input(fmt::format("listen:{}?reconnect=always", port));
    auto first = connect(port);
    send(first, rows(0, 2));
    first.reset();
    auto second = connect(port);
    send(second, rows(3, 4));
    EXPECT_EQ(input.numbers(5), range(0, 4));
    EXPECT_EQ(input.count("refused_connections"), 0u);
}

TEST(UnixInput, IsReadToItsEnd) {
    auto const path = ::testing::TempDir() + "raw_input_" + std::to_string(::getpid());
    ::unlink(path.c_str());
    base::FileDescriptor const listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un at{.sun_family = AF_UNIX};
    path.copy(at.sun_path, sizeof at.sun_path - 1);
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr const*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    Input input("unix:" + path);
    base::FileDescriptor accepted(::accept(listener.get(), nullptr, nullptr));
    send(accepted, rows(1, 30));
    accepted.reset();
    EXPECT_EQ(input.numbers(31), range(1, 30));
    EXPECT_EQ(input.remarks(), "");
    ::unlink(path.c_str());
}

// A socket that sends to a port of this machine.
class UdpSender {
  public:
    explicit UdpSender(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        auto const to = transport::parse_address(fmt::format("127.0.0.1:{}", port));
        EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr const*>(&to.storage), to.size_bytes), 0);
    }
    void send(Content const& bytes) const { raw::send(socket_, bytes); }
    std::uint16_t port() const {
        transport::Address own{.size_bytes = sizeof(sockaddr_storage)};
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size_bytes);
        return own.port();
    }

  private:
    base::FileDescriptor socket_;
};

TEST(UdpInput, DatagramsHoldWholeRowsOrAreLeftOut) {
    auto const port = free_port();
    Input input(fmt::format("udp://127.0.0.1:{}", port));
    UdpSender const sender(port);
    sender.send(rows(0, 0));
    auto cut = rows(1, 2);
    cut.pop_back();
    sender.send(cut);
    auto without_sync = rows(1, 1);
    without_sync[0] ^= std::byte{1};
    sender.send(without_sync);
    sender.send(rows(3, 7));
    EXPECT_EQ(input.numbers(6), (std::vector<std::uint32_t>{0, 3, 4, 5, 6, 7}));
    EXPECT_EQ(input.count("bad_datagrams"), 2u);
    EXPECT_EQ(input.count("lost_by_sequence"), 2u);
    EXPECT_EQ(input.count("lost_by_kernel"), 0u);
    EXPECT_NE(input.remarks().find("missing: "), std::string::npos);
}

TEST(UdpInput, RefusesStrangersIfThePeerIsKnown) {
    auto const port = free_port();
    UdpSender const instrument(port), stranger(port);
    Input input(fmt::format("udp://127.0.0.1:{}?peer=127.0.0.1:{}", port, instrument.port()));
    stranger.send(rows(100, 100));
    instrument.send(rows(0, 1));
    EXPECT_EQ(input.numbers(2), range(0, 1));
    EXPECT_EQ(input.count("strangers"), 1u);
}

TEST(UdpInput, APeerWithoutAPortIsAMachine) {
    auto const port = free_port();
    UdpSender const instrument(port);
    Input input(fmt::format("udp://127.0.0.1:{}?peer=127.0.0.1", port));
    instrument.send(rows(0, 1));
    EXPECT_EQ(input.numbers(2), range(0, 1));
    Input other(fmt::format("udp://127.0.0.1:{}?peer=127.0.0.2", port + 1));
    UdpSender(static_cast<std::uint16_t>(port + 1)).send(rows(0, 1));
    other.look_until([&] { return other.count("strangers") == 1; });
}

TEST(UdpInput, CountsRowsOfOtherSendersIfNoPeerIsGiven) {
    auto const port = free_port();
    Input input(fmt::format("udp://127.0.0.1:{}", port));
    UdpSender const first(port), other(port);
    first.send(rows(0, 0));
    other.send(rows(1, 1));
    EXPECT_EQ(input.numbers(2), range(0, 1));
    EXPECT_EQ(input.count("other_senders"), 1u);
    EXPECT_NE(input.remarks().find("note: "), std::string::npos);
}

TEST(UdpInput, WhatTheKernelDropsIsCountedTwice) {
    auto const port = free_port();
    Input input(fmt::format("udp://127.0.0.1:{}?buffer=4KiB", port));
    UdpSender const sender(port);
    constexpr std::uint32_t kSent = 500;
    for (std::uint32_t i = 0; i < kSent; ++i) sender.send(rows(i, i));
    std::vector<std::uint32_t> got;
    Batch batch;
    while (input.reader().next(batch, 0)) {
        got.resize(got.size() + batch.rows);
        std::memcpy(got.data() + got.size() - batch.rows, batch.columns[0].data(), 4 * batch.rows);
    }
    ASSERT_LT(got.size(), kSent);
    EXPECT_EQ(input.count("lost_by_kernel"), kSent - got.size());
    EXPECT_EQ(input.count("lost_by_sequence"), 0u); // nothing has come after them
    sender.send(rows(kSent, kSent));
    EXPECT_EQ(input.numbers(1), range(kSent, kSent));
    EXPECT_EQ(input.count("lost_by_sequence"), kSent - got.size());
    EXPECT_EQ(input.reader().counters().triggers, kSent + 1);
}

TEST(UdpInput, SaysIfTheKernelGaveASmallerBuffer) {
    Input input(fmt::format("udp://127.0.0.1:{}?buffer=1TB", free_port()));
    EXPECT_NE(input.remarks().find("note: "), std::string::npos) << input.remarks();
    EXPECT_NE(input.remarks().find("instead of 1.00 TB"), std::string::npos) << input.remarks();
}

TEST(UdpInput, PausedItTakesWhatHasComeAndNothingElse) {
    auto const port = free_port();
    Input input(fmt::format("udp://127.0.0.1:{}", port));
    UdpSender const sender(port);
    sender.send(rows(0, 3));
    input.reader().pause();
    EXPECT_EQ(input.numbers(4), range(0, 3));
    Batch batch;
    EXPECT_FALSE(input.reader().next(batch, 0));
    sender.send(rows(4, 9));
    EXPECT_FALSE(input.reader().next(batch, base::monotonic_ns() + base::kMsNs));
    EXPECT_EQ(input.count("paused_datagrams"), 1u);
    input.reader().resume();
    sender.send(rows(10, 10));
    EXPECT_EQ(input.numbers(1), range(10, 10));
    EXPECT_EQ(input.count("lost_by_sequence"), 0u);
    EXPECT_EQ(input.count("paused_datagrams"), 1u);
    auto const notes = input.reader().remarks().notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](auto const& note) {
        return note.find("1 datagrams came while the run was paused and are left out") != std::string::npos;
    }));
}

} // namespace
} // namespace thalweg::source::raw
