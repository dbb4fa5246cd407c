#include "thalweg/readout/server/server_thread.h"

#include <exception>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include "thalweg/base/clock.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kHelloNs = 5'000 * kMs; // a client that has said nothing for so long is none
constexpr std::uint64_t kParkedSleepNs = kMs;   // events close without telling us

} // namespace

ServerThread::ServerThread(ServerConfig const& config, std::uint64_t instance, std::string const& name,
                           std::uint32_t number, std::atomic<std::uint32_t>& open)
    : desk_{.config = config, .instance = instance, .name = name, .pin = number, .now_ns = base::monotonic_ns()},
      number_(number), open_(open) {}

void ServerThread::start(std::function<void(std::uint32_t)> const& at_start, std::function<std::uint64_t()> each_turn) {
    each_turn_ = std::move(each_turn);
    thread_ = std::thread([this, at_start] {
        ::pthread_setname_np(::pthread_self(), ("serve-" + std::to_string(number_)).c_str());
        if (at_start) at_start(number_);
        run();
    });
}

void ServerThread::stop() {
    if (!thread_.joinable()) return;
    stop_ = true;
    wake();
    thread_.join();
    connections_.clear();
}

std::uint64_t ServerThread::cpu_ns() const {
    clockid_t clock;
    timespec time{};
    auto& thread = const_cast<std::thread&>(thread_); // native_handle() is not const
    if (!thread.joinable() || ::pthread_getcpuclockid(thread.native_handle(), &clock) != 0 ||
        ::clock_gettime(clock, &time) != 0)
        return last_cpu_ns_;
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void ServerThread::hand_over(base::FileDescriptor socket) {
    {
        std::lock_guard const lock(orders_mutex_);
        handed_over_.push_back(std::move(socket));
        has_orders_ = true;
    }
    wake();
}

void ServerThread::serve(ServedRun const& served) {
    std::uint64_t order;
    {
        std::lock_guard const lock(orders_mutex_);
        to_serve_ = served;
        order = ++ordered_;
        has_orders_ = true;
    }
    wake();
    for (auto obeyed = obeyed_.load(); obeyed < order; obeyed = obeyed_.load()) obeyed_.wait(obeyed);
}

void ServerThread::take_orders() {
    if (!has_orders_.exchange(false)) return;
    std::vector<base::FileDescriptor> sockets;
    ServedRun served;
    std::uint64_t order;
    {
        std::lock_guard const lock(orders_mutex_);
        sockets.swap(handed_over_);
        served = to_serve_;
        order = ordered_;
    }
    for (auto& socket : sockets) {
        try {
            add(std::move(socket));
        } catch (std::exception const&) { // out of memory, or of what the kernel needs to watch it
            --open_;
            desk_.counters.accept_failures.add(1);
        }
    }
    if (order == obeyed_) return;
    desk_.served = served;
    obeyed_ = order;
    obeyed_.notify_all();
    for (auto const& parked : desk_.lot.take_all()) // what was asked of the one before, too
        resume(parked);
}

void ServerThread::run() {
    while (!stop_) {
        try {
            turn(std::min(each_turn_(), desk_.lot.empty() ? 100 * kMs : kParkedSleepNs));
        } catch (std::exception const&) { // the machine is out of something: we try again
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    take_orders(); // somebody may wait for us to obey
    last_cpu_ns_ = base::thread_cpu_ns();
}

void ServerThread::turn(std::uint64_t sleep_ns) {
    auto const ready = poller_.wait(sleep_ns);
    desk_.now_ns = base::monotonic_ns();
    take_orders();
    for (auto const& it : ready)
        if (it.key < kOtherKeys) serve_socket(it);
    serve_parked();
    if (desk_.now_ns >= next_round_ns_) remove_idle();
    desk_.counters.parked.set(desk_.lot.size());
    desk_.counters.connections.set(connections_.size());
}

void ServerThread::add(base::FileDescriptor socket) {
    int const on = 1; // a machine that vanished is noticed
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    auto const key = next_key_++;
    auto connection = std::make_unique<Connection>(desk_, key, std::move(socket));
    poller_.add(connection->socket.get(), key);
    connections_.emplace(key, std::move(connection));
}

// One connection's trouble - no memory for its answer - is not the others'.
template <typename Work> void ServerThread::with(std::uint64_t key, Work&& work) {
    auto const it = connections_.find(key);
    if (it == connections_.end()) return;
    try {
        work(*it->second);
        settle(key, *it->second);
    } catch (std::exception const&) {
        desk_.counters.broken.add(1);
        remove(key);
    }
}

void ServerThread::serve_socket(transport::Ready const& ready) {
    with(ready.key, [&](Connection& connection) {
        auto& session = connection.session;
        connection.gone = ready.broken;
        if (ready.writable) session.outbox().writable();
        if (!ready.readable || ready.broken) return;
        auto const room = session.room();
        auto const moved = transport::receive_some(connection.socket, room);
        connection.gone = moved.closed;
        session.received(moved.bytes);
    });
}

// What came together with the end of the connection, or could not be answered before.
void ServerThread::hear_last_words(Connection& connection) {
    auto& session = connection.session;
    std::size_t bytes = 0;
    do {
        session.last_words(bytes);
        bytes = transport::receive_some(connection.socket, session.space()).bytes;
    } while (bytes > 0 && !session.over());
}

void ServerThread::resume(ParkingLot::Parked const& parked) {
    with(parked.connection, [&](Connection& connection) { connection.session.resume(parked); });
}

void ServerThread::settle(std::uint64_t key, Connection& connection) {
    auto& outbox = connection.session.outbox();
    outbox.send();
    connection.session.proceed(); // what was sent made room
    outbox.send();
    auto const sent = outbox.sent_bytes();
    desk_.counters.bytes.add(sent - std::exchange(connection.sent_bytes, sent));
    if (connection.gone || outbox.broken()) {
        hear_last_words(connection);
        return remove(key);
    }
    if (connection.session.over() && outbox.empty()) return remove(key);
    if (connection.session.over() && !std::exchange(connection.was_over, true)) connection.since_ns = desk_.now_ns;
    bool const reads = !connection.session.room().empty();
    bool const writes = outbox.blocked();
    if (reads == connection.reads && writes == connection.writes) return;
    poller_.change(connection.socket.get(), key, reads, writes);
    connection.reads = reads;
    connection.writes = writes;
}

void ServerThread::serve_parked() {
    if (desk_.lot.empty()) return;
    auto const closed = desk_.served.index ? desk_.served.index->closed_event() : 0;
    while (auto const parked = desk_.lot.take_due(closed, desk_.now_ns)) resume(*parked);
    serve_takes();
}

void ServerThread::serve_takes() {
    auto const serve = [&](ParkingLot::Parked const parked) {
        bool served = false;
        with(parked.connection, [&](Connection& connection) {
            served = connection.session.try_take(parked.request);
            if (!served) return;
            desk_.lot.remove(parked.id);
            connection.session.left_lot(parked.id);
        });
        return served;
    };
    if (!desk_.served.ended) {
        while (auto const* parked = desk_.lot.easiest_take())
            if (!serve(*parked)) break;
    }
    if (desk_.now_ns < next_slow_takes_ns_) return;
    next_slow_takes_ns_ = desk_.now_ns + 10 * kMs;
    if (!desk_.served.ended) {
        while (auto const* parked = desk_.lot.take_of_left_behind())
            if (!serve(*parked)) break;
        return;
    }
    // At the end each one's answer depends on what the others hold.
    for (auto const id : desk_.lot.takes())
        if (auto const* parked = desk_.lot.find(id)) serve(*parked);
}

void ServerThread::remove(std::uint64_t key) {
    auto const it = connections_.find(key);
    auto& outbox = it->second->session.outbox();
    if (outbox.broken() || !outbox.empty()) desk_.counters.broken.add(1);
    poller_.remove(it->second->socket.get());
    connections_.erase(it);
    --open_;
}

void ServerThread::remove_idle() {
    next_round_ns_ = desk_.now_ns + 1000 * kMs;
    std::vector<std::uint64_t> idle;
    std::uint64_t queued = 0;
    for (auto const& [key, connection] : connections_) {
        auto const& session = connection->session;
        queued += connection->session.outbox().bytes();
        bool const waits_for_nothing = !session.has_said_hello() || session.over();
        if (waits_for_nothing && desk_.now_ns - connection->since_ns > kHelloNs) idle.push_back(key);
    }
    for (auto const key : idle) remove(key);
    desk_.counters.queued_bytes.set(queued);
}

} // namespace thalweg::readout
