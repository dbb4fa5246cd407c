#include "thalweg/transport/tcp.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/transport/poller.h"

namespace thalweg::transport {
namespace {

// Until `fd` can be read or written, half a minute at most.
Ready wait_for(base::FileDescriptor const& socket, bool read, bool write) {
    Poller poller;
    poller.add(socket.get(), 1, read, write);
    auto const ready = poller.wait(30 * base::kSecondNs);
    return ready.empty() ? Ready{} : ready[0];
}

struct Pair {
    explicit Pair(char const* at = "127.0.0.1:0") : listener(listen_at(parse_address(at))) {
        client = begin_connect(listener.address);
        wait_for(listener.socket, true, false);
        auto accepted = accept_from(listener.socket);
        if (!accepted) return;
        server = std::move(accepted->socket);
        peer = accepted->peer;
        wait_for(client, false, true);
    }

    Listener listener;
    base::FileDescriptor client, server;
    Address peer;
};

int option(base::FileDescriptor const& socket, int level, int name) {
    int value = -1;
    socklen_t size_bytes = sizeof value;
    ::getsockopt(socket.get(), level, name, &value, &size_bytes);
    return value;
}

std::string told(auto const& call) {
    try {
        call();
    } catch (base::SystemError const& error) {
        return error.what();
    }
    return "";
}

// Gone without a goodbye: the other side gets a reset.
void vanish(base::FileDescriptor& socket) {
    linger const at_once{1, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    socket.reset();
}

class Tcp : public testing::TestWithParam<char const*> {};

bool has_ipv6() {
    try {
        listen_at(parse_address("[::1]:0"));
        return true;
    } catch (base::SystemError const&) {
        return false;
    }
}

TEST_P(Tcp, CarriesBytesBothWays) {
    if (GetParam()[0] == '[' && !has_ipv6()) GTEST_SKIP() << "this machine has no IPv6";
    Pair pair(GetParam());
    ASSERT_TRUE(pair.server);
    EXPECT_EQ(connect_error(pair.client), 0);
    EXPECT_EQ(pair.listener.address.port() == 0, pair.peer.is_local());
    EXPECT_EQ(pair.peer.port() == 0, pair.peer.is_local());
    std::array<std::byte, 5> const hello{std::byte{'h'}, std::byte{'e'}, std::byte{'l'}, std::byte{'l'},
                                         std::byte{'o'}};
    for (auto const* ends : {&pair, &pair}) {
        std::array<std::byte, 64> room{};
        EXPECT_EQ(send_some(ends->client, hello).bytes, hello.size());
        EXPECT_TRUE(wait_for(ends->server, true, false).readable);
        auto const got = receive_some(ends->server, room);
        EXPECT_EQ(got.bytes, hello.size());
        EXPECT_FALSE(got.closed);
        EXPECT_EQ(room[4], std::byte{'o'});
        std::swap(pair.client, pair.server);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Tcp, testing::Values("127.0.0.1:0", "[::1]:0", "localhost:0", "unix:local.sock"));

TEST(TcpSockets, NeverBlockNorDelayNorReachChildren) {
    Pair pair;
    for (auto const* socket : {&pair.client, &pair.server, &pair.listener.socket}) {
        EXPECT_TRUE(::fcntl(socket->get(), F_GETFL) & O_NONBLOCK);
        EXPECT_TRUE(::fcntl(socket->get(), F_GETFD) & FD_CLOEXEC);
    }
    EXPECT_EQ(option(pair.client, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(pair.server, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(pair.listener.socket, SOL_SOCKET, SO_REUSEADDR), 1);
    std::array<std::byte, 8> room{};
    auto const none = receive_some(pair.server, room);
    EXPECT_TRUE(none.bytes == 0 && !none.closed);
    EXPECT_FALSE(receive_some(pair.server, {}).closed);
    EXPECT_FALSE(accept_from(pair.listener.socket).has_value());
}

TEST(TcpSockets, AFullPipeIsNotAnEnd) {
    Pair pair;
    std::vector<std::byte> const much(1 << 20);
    std::size_t sent_bytes = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const sent = send_some(pair.client, much);
        ASSERT_FALSE(sent.closed);
        if (sent.bytes == 0) break;
        sent_bytes += sent.bytes;
    }
    EXPECT_LT(sent_bytes, 1000u << 20);
    EXPECT_FALSE(wait_for(pair.server, true, false).broken);
}

TEST(TcpSockets, TakeBuffersAndCongestionControl) {
    auto const listener = listen_at(parse_address("127.0.0.1:0"));
    SocketOptions const options{
        .send_buffer_bytes = 65536, .receive_buffer_bytes = 32768, .congestion_control = "reno"};
    auto const client = begin_connect(listener.address, options);
    EXPECT_EQ(option(client, SOL_SOCKET, SO_SNDBUF), 2 * 65536); // the kernel doubles it for its own use
    EXPECT_EQ(option(client, SOL_SOCKET, SO_RCVBUF), 2 * 32768);
    char name[16] = {};
    socklen_t size_bytes = sizeof name;
    ::getsockopt(client.get(), IPPROTO_TCP, TCP_CONGESTION, name, &size_bytes);
    EXPECT_STREQ(name, "reno");
    auto const refusal = told([&] { begin_connect(listener.address, {.congestion_control = "carrier-pigeon"}); });
    EXPECT_NE(refusal.find("carrier-pigeon"), std::string::npos);
    EXPECT_NE(refusal.find("reno"), std::string::npos) << "names those that are there: " << refusal;
}

// The kernel sends the first ten segments, of up to 64 KiB on loopback, without a limit: the rest takes 160 ms.
TEST(TcpSockets, ArePaced) {
    constexpr std::uint64_t kBytesPerSecond = 4'000'000;
    auto const listener = listen_at(parse_address("127.0.0.1:0"));
    auto const client =
        begin_connect(listener.address, {.send_buffer_bytes = 1 << 20, .pacing_bytes_s = kBytesPerSecond});
    EXPECT_EQ(option(client, SOL_SOCKET, SO_MAX_PACING_RATE), static_cast<int>(kBytesPerSecond));
    wait_for(listener.socket, true, false);
    auto const server = accept_from(listener.socket);
    ASSERT_TRUE(server);
    std::vector<std::byte> const bytes(20 * 65'483);
    std::vector<std::byte> room(1 << 20);
    auto const begin_ns = base::monotonic_ns();
    std::size_t sent = 0, received = 0;
    while (received < bytes.size() && base::monotonic_ns() < begin_ns + 60'000'000'000) {
        sent += send_some(client, std::span(bytes).subspan(sent)).bytes;
        wait_for(server->socket, true, false);
        received += receive_some(server->socket, room).bytes;
    }
    EXPECT_EQ(received, bytes.size());
    EXPECT_GT(base::monotonic_ns() - begin_ns, 80'000'000u);
}

TEST(TcpSockets, APortInUseIsSaidWithOneThatIsFree) {
    auto const first = listen_at(parse_address("127.0.0.1:0"));
    auto const refusal = told([&] { listen_at(first.address); });
    EXPECT_NE(refusal.find(first.address.str()), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("choose another port"), std::string::npos) << refusal;
    EXPECT_EQ(refusal.find(" 0 "), std::string::npos) << refusal;
}

TEST(TcpSockets, AListenerComesBackAtOnce) {
    Address address;
    {
        Pair pair;
        address = pair.listener.address;
        pair.server.reset(); // the closing side is left in TIME_WAIT
    }
    EXPECT_NO_THROW(listen_at(address));
}

TEST(TcpSockets, AnAddressOfAnotherProgramIsSaid) {
    auto const refusal = told([] { listen_at(parse_address("192.0.2.1:7700")); });
    EXPECT_NE(refusal.find("192.0.2.1:7700"), std::string::npos);
    EXPECT_NE(refusal.find("127.0.0.1"), std::string::npos);
}

TEST(TcpSockets, ARefusedConnectionIsTold) {
    Address unused;
    { unused = listen_at(parse_address("127.0.0.1:0")).address; }
    auto const socket = begin_connect(unused);
    EXPECT_TRUE(wait_for(socket, false, true).broken);
    EXPECT_EQ(connect_error(socket), ECONNREFUSED);
}

TEST(UnixSockets, HaveNoCongestionControlAndCountWhatIsUnread) {
    Pair pair("unix:counted.sock");
    ASSERT_TRUE(pair.server);
    EXPECT_NO_THROW(begin_connect(pair.listener.address, {.congestion_control = "reno"}));
    EXPECT_EQ(unacknowledged_bytes(pair.server), 0u);
    std::array<std::byte, 100> bytes{};
    EXPECT_EQ(send_some(pair.server, bytes).bytes, bytes.size());
    EXPECT_GE(unacknowledged_bytes(pair.server), bytes.size());
    EXPECT_EQ(receive_some(pair.client, bytes).bytes, bytes.size());
    EXPECT_EQ(unacknowledged_bytes(pair.server), 0u);
}

TEST(TcpSockets, AConnectionNotYetMadeIsNotCalledMade) {
    base::FileDescriptor const socket(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(connect_error(socket), EINPROGRESS);
}

TEST(TcpSockets, AConnectionToItselfCountsAsRefused) {
    base::FileDescriptor const socket(::socket(AF_INET, SOCK_STREAM, 0));
    auto const any = parse_address("127.0.0.1:0");
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr const*>(&any.storage), any.size_bytes), 0);
    Address self{.size_bytes = sizeof(sockaddr_storage)};
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&self.storage), &self.size_bytes);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr const*>(&self.storage), self.size_bytes), 0);
    EXPECT_EQ(connect_error(socket), ECONNREFUSED);
}

TEST(TcpSockets, AHalfClosedPeerStillHears) {
    Pair pair;
    ::shutdown(pair.client.get(), SHUT_WR);
    std::array<std::byte, 8> room{};
    EXPECT_TRUE(wait_for(pair.server, true, false).readable);
    auto const end = receive_some(pair.server, room);
    EXPECT_TRUE(end.closed && end.error == 0);
    EXPECT_EQ(send_some(pair.server, room).bytes, room.size());
    EXPECT_TRUE(wait_for(pair.client, true, false).readable);
    EXPECT_EQ(receive_some(pair.client, room).bytes, room.size());
}

TEST(TcpSockets, AVanishedPeerIsAnErrorAndNoSignal) {
    Pair pair;
    vanish(pair.client);
    EXPECT_TRUE(wait_for(pair.server, false, false).broken) << "told even to a poller that asked for nothing";
    std::array<std::byte, 8> room{};
    auto const end = receive_some(pair.server, room);
    EXPECT_TRUE(end.closed);
    EXPECT_EQ(end.error, ECONNRESET);
    auto const sent = send_some(pair.server, room); // the test ends here where SIGPIPE comes
    EXPECT_TRUE(sent.closed);
    EXPECT_EQ(sent.error, EPIPE);
}

TEST(TcpSockets, WhoVanishesBeforeItIsAcceptedDoesNoHarm) {
    auto const listener = listen_at(parse_address("127.0.0.1:0"));
    auto gone = begin_connect(listener.address);
    wait_for(gone, false, true);
    vanish(gone);
    auto const stays = begin_connect(listener.address);
    wait_for(stays, false, true);
    std::size_t accepted = 0;
    while (accept_from(listener.socket)) ++accepted;
    EXPECT_GE(accepted, 1u);
}

TEST(TcpSockets, WithoutDescriptorsAConnectionWaits) {
    auto const listener = listen_at(parse_address("127.0.0.1:0"));
    auto const client = begin_connect(listener.address);
    wait_for(client, false, true);
    rlimit usual{};
    ::getrlimit(RLIMIT_NOFILE, &usual);
    rlimit const none_left{0, usual.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none_left);
    int code = 0;
    try {
        accept_from(listener.socket);
    } catch (base::SystemError const& error) {
        code = error.code;
    }
    ::setrlimit(RLIMIT_NOFILE, &usual);
    EXPECT_EQ(code, EMFILE);
    EXPECT_TRUE(accept_from(listener.socket).has_value());
}

} // namespace
} // namespace thalweg::transport
