#include "thalweg/readout/server/server_thread.h"

#include <exception>
#include <malloc.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include "thalweg/base/clock.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kHelloNs = 2'000 * kMs;   // a client that has said nothing for so long is none
constexpr std::uint64_t kStalledNs = 5'000 * kMs; // who takes nothing for so long goes, where room is short
constexpr std::uint32_t kObserversSendBuffer = 64 << 10;
// Observers have a quarter of the time, and what collectors leave of the rest.
constexpr std::int64_t kObserversShare = 4, kMostCreditNs = 2 * kMs;
constexpr std::uint64_t kObserversKey = ServerThread::kOtherKeys + 1;
constexpr std::size_t kWorthTrimming = 1 << 20;
constexpr std::uint64_t kParkedSleepNs = kMs; // events close without telling us

} // namespace

ServerThread::ServerThread(ServerConfig const& config, std::uint64_t instance, std::string const& name,
                           std::uint32_t number, std::shared_ptr<Guests> guests)
    : desk_{.config = config,
            .guests = std::move(guests),
            .instance = instance,
            .name = name,
            .pin = number,
            .now_ns = base::monotonic_ns()},
      number_(number), turned_ns_(desk_.now_ns) {
    poller_.add(observers_.fd(), kObserversKey);
}

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
            desk_.counters.accept_failures.add(1);
        }
    }
    if (order == obeyed_) return;
    desk_.served = served;
    obeyed_ = order;
    obeyed_.notify_all();
    for (auto* lot : {&desk_.lot, &desk_.observers_lot})
        for (auto const& parked : lot->take_all()) resume(parked); // what was asked of the one before, too
}

void ServerThread::run() {
    while (!stop_) {
        try {
            bool const looks_again = !desk_.lot.empty() || !desk_.observers_lot.empty() || !watches_observers_;
            bool const goes_on = !waiting_[0].empty() && desk_.guests->has_room(Role::collector);
            bool const is_short = !waiting_[0].empty() || !waiting_[1].empty();
            turn(std::min(each_turn_(), goes_on ? 0 : looks_again || is_short ? kParkedSleepNs : 100 * kMs));
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
    auto const elapsed_ns = static_cast<std::int64_t>(desk_.now_ns - std::exchange(turned_ns_, desk_.now_ns));
    observers_credit_ns_ = std::min(observers_credit_ns_ + elapsed_ns / kObserversShare, kMostCreditNs);
    take_orders();
    for (auto const& it : ready)
        if (it.key < kOtherKeys)
            serve_socket(it);
        else
            observers_are_ready_ |= it.key == kObserversKey;
    serve_waiting(Role::collector);
    serve_parked(desk_.lot);
    serve_takes();
    serve_observers();
    if (desk_.now_ns >= next_look_for_room_ns_) look_for_room();
    if (desk_.now_ns >= next_round_ns_) remove_idle();
    desk_.counters.parked.set(desk_.lot.size() + desk_.observers_lot.size());
    desk_.counters.connections.set(connections_.size());
}

void ServerThread::add(base::FileDescriptor socket) {
    int const on = 1; // a machine that vanished is noticed
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    auto const key = next_key_++;
    auto connection = std::make_unique<Connection>(desk_, key, std::move(socket));
    poller_.add(connection->socket.get(), key);
    connections_.emplace(key, std::move(connection));
    silent_.push_back(key);
    ++silent_count_;
    desk_.guests->accepted();
    remove_oldest_silent();
}

// Whoever may not say hello can still connect: they may only push each other out.
void ServerThread::remove_oldest_silent() {
    auto const most = std::max<std::size_t>(Guests::kMostSilent / desk_.config.threads, 1);
    while (!silent_.empty()) {
        auto const found = connections_.find(silent_.front());
        bool const is_silent = found != connections_.end() && found->second->is_silent;
        if (is_silent && silent_count_ <= most) return;
        if (is_silent) {
            desk_.counters.silent.add(1);
            transport::forget_unsent(found->second->socket);
            remove(silent_.front());
        }
        silent_.pop_front();
    }
}

void ServerThread::no_longer_silent(Connection& connection) {
    connection.is_silent = false;
    --silent_count_;
    desk_.guests->no_longer_silent();
}

// From now on it is known who it is.
void ServerThread::greet(std::uint64_t key, Connection& connection) {
    no_longer_silent(connection);
    if (connection.session.role() != Role::observer) return;
    transport::set_send_buffer(connection.socket, kObserversSendBuffer);
    poller_.remove(connection.socket.get());
    connection.observes = true;
    observers_.add(connection.socket.get(), key, connection.reads, connection.writes);
}

// What it keeps in memory, here and in the kernel.
void ServerThread::hold(Connection& connection) {
    auto const& outbox = connection.session.outbox();
    auto const now = outbox.held_bytes() + transport::unacknowledged_bytes(connection.socket);
    if (now < connection.held_bytes || connection.held_bytes == 0) connection.moved_ns = desk_.now_ns;
    desk_.guests->holds(connection.session.role(), std::exchange(connection.held_bytes, now), now);
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
        session.begin_turn();
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
    hold(connection);
    if (connection.is_silent && connection.session.has_said_hello()) greet(key, connection);
    if (connection.session.has_more_to_do() && !std::exchange(connection.is_waiting, true))
        waiting_[connection.observes].push_back(key);
    if (connection.session.over() && outbox.empty()) return remove(key);
    if (connection.session.over() && !std::exchange(connection.was_over, true)) connection.since_ns = desk_.now_ns;
    bool const reads = !connection.session.room().empty();
    bool const writes = outbox.blocked();
    if (reads == connection.reads && writes == connection.writes) return;
    poller_of(connection).change(connection.socket.get(), key, reads, writes);
    connection.reads = reads;
    connection.writes = writes;
}

// Those that went on to the next turn, and those that waited for memory.
void ServerThread::serve_waiting(Role role) {
    auto& waiting = waiting_[role == Role::observer];
    if (waiting.empty() || !desk_.guests->has_room(role)) return;
    std::size_t done = 0;
    for (auto const keys = std::exchange(waiting, {}); auto const key : keys) {
        if (done++, role == Role::observer && is_over_budget()) {
            waiting.insert(waiting.end(), keys.begin() + static_cast<std::ptrdiff_t>(done) - 1, keys.end());
            return;
        }
        auto const begin_ns = base::monotonic_ns();
        if (auto const it = connections_.find(key); it != connections_.end()) it->second->is_waiting = false;
        with(key, [](Connection& connection) { connection.session.begin_turn(); }); // settle() does the rest
        if (role == Role::observer) observers_credit_ns_ -= static_cast<std::int64_t>(base::monotonic_ns() - begin_ns);
    }
}

// After collectors, and only for as long as they may: what is ready stays so.
void ServerThread::serve_observers() {
    auto begin_ns = base::monotonic_ns();
    auto const spend = [&] {
        auto const now_ns = base::monotonic_ns();
        observers_credit_ns_ -= static_cast<std::int64_t>(now_ns - std::exchange(begin_ns, now_ns));
    };
    if (!is_over_budget()) {
        serve_waiting(Role::observer);
        begin_ns = base::monotonic_ns();
        auto const closed = desk_.served.index ? desk_.served.index->closed_event() : 0;
        while (!is_over_budget()) {
            auto const parked = desk_.observers_lot.take_due(closed, desk_.now_ns);
            if (!parked) break;
            resume(*parked);
            spend();
        }
    }
    if (!is_over_budget() && std::exchange(observers_are_ready_, false)) {
        auto const ready = observers_.wait(0);
        for (std::size_t i = 0; i < ready.size() && !is_over_budget(); ++i) {
            serve_socket(ready[(first_observer_ + i) % ready.size()]);
            spend();
        }
        ++first_observer_;
    }
    if (bool const watches = !is_over_budget(); watches != std::exchange(watches_observers_, watches))
        poller_.change(observers_.fd(), kObserversKey, watches, false);
}

void ServerThread::serve_parked(ParkingLot& lot) {
    if (lot.empty()) return;
    auto const closed = desk_.served.index ? desk_.served.index->closed_event() : 0;
    while (auto const parked = lot.take_due(closed, desk_.now_ns)) resume(*parked);
}

void ServerThread::serve_takes() {
    if (desk_.lot.empty()) return;
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
    poller_of(*it->second).remove(it->second->socket.get());
    desk_.guests->holds(it->second->session.role(), it->second->held_bytes, 0);
    freed_bytes_ += it->second->held_bytes;
    if (it->second->is_silent) no_longer_silent(*it->second);
    connections_.erase(it);
}

// What clients have taken meanwhile is free again. Where there is no room all the same, who has taken nothing for long
// goes: a client that comes back asks again.
void ServerThread::look_for_room() {
    next_look_for_room_ns_ = desk_.now_ns + 10 * kMs;
    for (auto const role : {Role::collector, Role::observer}) {
        if (desk_.guests->has_room(role)) continue;
        std::vector<std::uint64_t> stalled;
        for (auto const& [key, connection] : connections_) {
            if (connection->session.role() != role || connection->held_bytes == 0) continue;
            hold(*connection);
            if (connection->held_bytes > 0 && desk_.now_ns > connection->moved_ns + kStalledNs) stalled.push_back(key);
        }
        for (auto const key : stalled) {
            if (desk_.guests->has_room(role)) break;
            desk_.counters.stalled.add(1);
            transport::forget_unsent(connections_.at(key)->socket);
            remove(key);
        }
    }
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
    // What an attack needed is the system's again.
    if (std::exchange(freed_bytes_, 0) + desk_.pool.trim() >= kWorthTrimming) ::malloc_trim(0);
}

} // namespace thalweg::readout
