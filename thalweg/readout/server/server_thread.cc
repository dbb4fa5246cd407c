#include "thalweg/readout/server/server_thread.h"

#include <algorithm>
#include <exception>
#include <malloc.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kMostSilent = 512; // connections without a hello, over all threads
constexpr std::uint32_t kObserversSendBuffer = 64 << 10;
// Observers get a quarter of the time, and what collectors leave of the rest.
constexpr std::int64_t kObserversShare = 4, kMostCreditNs = 2 * base::kMsNs;
constexpr std::uint64_t kObserversKey = ServerThread::kOtherKeys + 1;
constexpr std::uint64_t kPendingSleepNs = base::kMsNs; // events close without a wake-up

} // namespace

ServerThread::ServerThread(ServerConfig const& config, std::uint64_t instance, std::string const& name,
                           std::uint32_t number, std::shared_ptr<ConnectionQuota> quota)
    : context_{.config = config,
               .quota = std::move(quota),
               .instance = instance,
               .name = name,
               .pin = number,
               .now_ns = base::monotonic_ns()},
      number_(number), most_silent_(std::max<std::size_t>(kMostSilent / config.threads, 1)),
      turned_ns_(context_.now_ns) {
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
        base::Lock const lock(orders_mutex_);
        handed_over_.push_back(std::move(socket));
        ++silent_or_waiting_;
        has_orders_ = true;
    }
    wake();
}

void ServerThread::serve(ServedRun const& served) {
    std::uint64_t order;
    {
        base::Lock const lock(orders_mutex_);
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
        base::Lock const lock(orders_mutex_);
        sockets.swap(handed_over_);
        served = to_serve_;
        order = ordered_;
    }
    for (auto& socket : sockets) {
        try {
            add(std::move(socket));
        } catch (std::exception const&) { // no memory, or no kernel resource to watch it
            --silent_or_waiting_;
            context_.counters.accept_failures.add(1);
        }
        remove_oldest_silent();
    }
    if (order == obeyed_) return;
    THALWEG_ASSERT(order > obeyed_, "orders are obeyed in their order");
    context_.served = served;
    obeyed_ = order;
    obeyed_.notify_all();
    for (auto* requests : {&context_.pending, &context_.pending_of_observers})
        for (auto const& pending : requests->take_all()) resume(pending); // including requests for the previous run
}

void ServerThread::run() {
    while (!stop_) {
        try {
            bool const looks_again =
                !context_.pending.empty() || !context_.pending_of_observers.empty() || !watches_observers_;
            bool const goes_on = !unfinished_[0].empty() && context_.quota->has_room(ClientRole::collector);
            bool const is_short = !unfinished_[0].empty() || !unfinished_[1].empty();
            turn(std::min(each_turn_(), goes_on ? 0 : looks_again || is_short ? kPendingSleepNs : 100 * base::kMsNs));
        } catch (std::exception const&) { // the machine ran out of a resource: the next turn tries again
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    take_orders(); // another thread may wait for this one to obey
    last_cpu_ns_ = base::thread_cpu_ns();
}

void ServerThread::turn(std::uint64_t sleep_ns) {
    auto const ready = poller_.wait(sleep_ns);
    context_.now_ns = base::monotonic_ns();
    auto const elapsed_ns = static_cast<std::int64_t>(context_.now_ns - std::exchange(turned_ns_, context_.now_ns));
    observers_credit_ns_ = std::min(observers_credit_ns_ + elapsed_ns / kObserversShare, kMostCreditNs);
    take_orders();
    for (auto const& it : ready)
        if (it.key < kOtherKeys)
            serve_socket(it);
        else
            observers_are_ready_ |= it.key == kObserversKey;
    serve_unfinished(ClientRole::collector);
    serve_pending(context_.pending);
    serve_takes();
    serve_observers();
    if (context_.now_ns >= next_look_for_room_ns_) look_for_room();
    if (context_.now_ns >= next_round_ns_) remove_idle();
    context_.counters.pending.set(context_.pending.size() + context_.pending_of_observers.size());
    context_.counters.connections.set(connections_.size());
}

void ServerThread::add(base::FileDescriptor socket) {
    int const on = 1; // notices a machine that vanished
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    auto const key = next_key_++;
    silent_.push_back(key);
    auto connection = std::make_unique<ClientConnection>(context_, key, std::move(socket));
    poller_.add(connection->socket.get(), key);
    connections_.emplace(key, std::move(connection));
    ++silent_count_;
}

void ServerThread::no_longer_silent(ClientConnection& connection) {
    THALWEG_ASSERT(connection.is_silent && silent_count_ > 0 && silent_or_waiting_ > 0,
                   "a silent connection is counted");
    connection.is_silent = false;
    --silent_count_;
    --silent_or_waiting_;
}

// The client has said its role.
void ServerThread::greet(std::uint64_t key, ClientConnection& connection) {
    no_longer_silent(connection);
    if (connection.session.role() != ClientRole::observer) return;
    transport::set_send_buffer(connection.socket, kObserversSendBuffer);
    poller_.remove(connection.socket.get());
    connection.observes = true;
    observers_.add(connection.socket.get(), key, connection.reads, connection.writes);
}

// Counts the answers of the connection, here, in its memory and in the kernel.
void ServerThread::hold(ClientConnection& connection) {
    auto const& outbox = connection.session.outbox();
    auto const now =
        outbox.held_bytes() + connection.session.memory_bytes() + transport::unacknowledged_bytes(connection.socket);
    if (now < connection.held_bytes || connection.held_bytes == 0) connection.moved_ns = context_.now_ns;
    context_.quota->holds(connection.session.role(), std::exchange(connection.held_bytes, now), now);
}

// Does work for one connection, and sends what came of it if it `settles`. An error, for example no memory for its
// answer, ends this connection and no other.
template <typename Work> void ServerThread::with(std::uint64_t key, Work&& work, bool settles) {
    auto const it = connections_.find(key);
    if (it == connections_.end()) return;
    try {
        work(*it->second);
        if (settles) settle(key, *it->second);
    } catch (std::exception const&) {
        context_.counters.broken.add(1);
        remove(key);
    }
}

void ServerThread::serve_socket(transport::Ready const& ready) {
    with(ready.key, [&](ClientConnection& connection) {
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

// Handles what arrived together with the end of the connection, or could not be handled before.
void ServerThread::take_final_messages(ClientConnection& connection) {
    auto& session = connection.session;
    std::size_t bytes = 0;
    do {
        session.take_final_messages(bytes);
        bytes = transport::receive_some(connection.socket, session.space()).bytes;
    } while (bytes > 0 && !session.over());
}

void ServerThread::resume(PendingRequest const& pending) {
    with(pending.connection, [&](ClientConnection& connection) { connection.session.resume(pending); });
}

void ServerThread::settle(std::uint64_t key, ClientConnection& connection) {
    auto& outbox = connection.session.outbox();
    outbox.send();
    connection.session.proceed(); // sent bytes made room
    outbox.send();
    auto const sent = outbox.sent_bytes();
    context_.counters.bytes.add(sent - std::exchange(connection.sent_bytes, sent));
    if (connection.gone || outbox.broken()) {
        take_final_messages(connection);
        return remove(key);
    }
    hold(connection);
    if (connection.is_silent && connection.session.has_said_hello()) greet(key, connection);
    if (connection.session.has_more_to_do() && !std::exchange(connection.is_unfinished, true))
        unfinished_[connection.observes].push_back(key);
    if (connection.session.over() && outbox.empty()) return remove(key);
    if (connection.session.over() && !std::exchange(connection.was_over, true)) connection.since_ns = context_.now_ns;
    bool const reads = !connection.session.room().empty();
    bool const writes = outbox.blocked();
    if (reads == connection.reads && writes == connection.writes) return;
    poller_of(connection).change(connection.socket.get(), key, reads, writes);
    connection.reads = reads;
    connection.writes = writes;
}

// Serves sessions that reached the limit of their turn, and those that waited for memory.
void ServerThread::serve_unfinished(ClientRole role) {
    auto& unfinished = unfinished_[role == ClientRole::observer];
    if (unfinished.empty() || !context_.quota->has_room(role)) return;
    std::size_t done = 0;
    for (auto const keys = std::exchange(unfinished, {}); auto const key : keys) {
        if (done++, role == ClientRole::observer && is_over_budget()) {
            unfinished.insert(unfinished.end(), keys.begin() + static_cast<std::ptrdiff_t>(done) - 1, keys.end());
            return;
        }
        auto const begin_ns = base::monotonic_ns();
        if (auto const it = connections_.find(key); it != connections_.end()) it->second->is_unfinished = false;
        with(key,
             [](ClientConnection& connection) { connection.session.begin_turn(); }); // settle() sends what comes of it
        if (role == ClientRole::observer)
            observers_credit_ns_ -= static_cast<std::int64_t>(base::monotonic_ns() - begin_ns);
    }
}

// Serves observers after collectors, and only within their time. Ready sockets stay ready.
void ServerThread::serve_observers() {
    auto begin_ns = base::monotonic_ns();
    auto const spend = [&] {
        auto const now_ns = base::monotonic_ns();
        observers_credit_ns_ -= static_cast<std::int64_t>(now_ns - std::exchange(begin_ns, now_ns));
    };
    if (!is_over_budget()) {
        serve_unfinished(ClientRole::observer);
        begin_ns = base::monotonic_ns();
        auto const closed = context_.served.index ? context_.served.index->closed_event() : 0;
        while (!is_over_budget()) {
            auto const pending = context_.pending_of_observers.take_due(closed, context_.now_ns);
            if (!pending) break;
            resume(*pending);
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

void ServerThread::serve_pending(PendingRequests& requests) {
    if (requests.empty()) return;
    auto const closed = context_.served.index ? context_.served.index->closed_event() : 0;
    while (auto const pending = requests.take_due(closed, context_.now_ns)) resume(*pending);
}

// Several takes of one client are answered in a turn, and their answers are sent together.
void ServerThread::serve_takes() {
    if (context_.pending.empty()) return;
    answer_takes();
    std::ranges::sort(answered_);
    answered_.erase(std::unique(answered_.begin(), answered_.end()), answered_.end());
    for (auto const key : std::exchange(answered_, {})) with(key, [](ClientConnection&) {});
}

bool ServerThread::answer_take(PendingRequest const& given) {
    auto const pending = given; // it is removed
    bool served = false;
    auto const answer = [&](ClientConnection& connection) {
        served = connection.session.try_take(pending.request);
        if (!served) return;
        context_.pending.remove(pending.id);
        connection.session.no_longer_pending(pending.id);
    };
    with(pending.connection, answer, false);
    if (served) answered_.push_back(pending.connection);
    return served;
}

void ServerThread::answer_takes() {
    if (!context_.served.ended) {
        while (auto const* pending = context_.pending.easiest_take())
            if (!answer_take(*pending)) break;
    }
    if (context_.now_ns < next_slow_takes_ns_) return;
    next_slow_takes_ns_ = context_.now_ns + 10 * base::kMsNs;
    if (!context_.served.ended) {
        while (auto const* pending = context_.pending.take_of_left_behind())
            if (!answer_take(*pending)) break;
        return;
    }
    // At the end each answer depends on what the other clients hold.
    for (auto const id : context_.pending.takes())
        if (auto const* pending = context_.pending.find(id)) answer_take(*pending);
}

void ServerThread::remove(std::uint64_t key) {
    auto const it = connections_.find(key);
    auto& outbox = it->second->session.outbox();
    if (outbox.broken() || !outbox.empty()) context_.counters.broken.add(1);
    poller_of(*it->second).remove(it->second->socket.get());
    context_.quota->holds(it->second->session.role(), it->second->held_bytes, 0);
    freed_bytes_ += it->second->held_bytes;
    if (it->second->is_silent) no_longer_silent(*it->second);
    connections_.erase(it);
}

} // namespace thalweg::readout
