// One thread of a server: its connections, its poller, and its pending requests.
//
// A connection moves through these states. Only its own thread moves it:
//   handed over  hand_over() put it into handed_over_; take_orders(), add() -> silent
//   silent       no hello yet; greet() -> greeted; remove_oldest_silent(), remove_idle() -> removed
//   greeted      collector in poller_, observer in observers_
//                settle(), after each piece of work, decides what it waits for:
//                  for bytes of the client, for room in its socket, or for its next turn (unfinished_)
//   over         refused or said bye; its last answer is sent: settle(), remove_idle() -> removed
//   gone         the client closed it: take_final_messages() still obeys clear and bye -> removed
//
// Invariants:
//   1. Every silent connection is in silent_, and silent_count_ is their number. silent_ may also have keys of others,
//      which are skipped.
//   2. A key is in unfinished_ at most once: is_unfinished notes it. settle() adds it, serve_unfinished() takes it out.
//      Keys of removed connections may stay, and are skipped.
//   3. The bytes that the quota counts for a connection are its held_bytes: hold() and remove() change both.
//   4. Observers get time only from observers_credit_ns_; collectors are always served first.
//   5. An error in one connection ends this connection and no other: with().
//   6. serve() returns after the thread has begun to use the new run: the old index is never touched again.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/readout/server/serving_context.h"
#include "thalweg/readout/server/session.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout {

class ServerThread {
  public:
    ServerThread(ServerConfig const& config, std::uint64_t instance, std::string const& name, std::uint32_t number,
                 std::shared_ptr<ConnectionQuota> quota);
    ~ServerThread() { stop(); }

    void start(std::function<void(std::uint32_t)> const& at_start, std::function<std::uint64_t()> each_turn);
    void stop();

    // Call it from any thread.
    void hand_over(base::FileDescriptor socket);
    // Returns whether the number of connections without a hello, including those handed over, has reached its limit.
    bool is_crowded() const { return silent_or_waiting_.load(std::memory_order_relaxed) >= most_silent_; }
    // Returns after the thread has begun to use it: what it served before is not touched again.
    void serve(ServedRun const& served);
    void wake() { poller_.wake(); }
    ServerCounters const& counters() const { return context_.counters; }
    std::uint64_t cpu_ns() const;

    // These are for `each_turn`, which the thread calls between two checks of its sockets. `each_turn` returns how long
    // the thread may sleep.
    transport::Poller& poller() { return poller_; }
    // Returns the number of collectors that have asked for events and do not know that the run has ended.
    std::uint64_t uninformed() const { return context_.uninformed.get(); }
    ServedRun const& served() const { return context_.served; }
    std::uint64_t now_ns() const { return context_.now_ns; }
    ServerCounters& own_counters() { return context_.counters; }

    static constexpr std::uint64_t kOtherKeys = std::uint64_t{1} << 62; // keys from here on are not connections

  private:
    struct ClientConnection {
        ClientConnection(ServingContext& context, std::uint64_t key, base::FileDescriptor fd)
            : socket(std::move(fd)), session(context, key, &socket), since_ns(context.now_ns) {}
        base::FileDescriptor socket;
        Session session;
        std::uint64_t sent_bytes = 0; // as counted so far
        std::uint64_t held_bytes = 0; // memory queued here and in the kernel, as counted in the quota
        std::uint64_t moved_ns = 0;   // the client took some of the held bytes then
        std::uint64_t since_ns;       // time of its beginning, or of its being over
        bool is_silent = true;        // it has not said hello
        bool observes = false;        // its socket is watched together with those of observers
        bool is_unfinished = false;   // its key is in unfinished_
        bool reads = true;
        bool writes = false;
        bool was_over = false;
        bool gone = false;
    };
    using Connections = std::unordered_map<std::uint64_t, std::unique_ptr<ClientConnection>>;

    void run();
    void turn(std::uint64_t sleep_ns);
    void take_orders();
    void add(base::FileDescriptor socket);
    void serve_socket(transport::Ready const& ready);
    static void take_final_messages(ClientConnection& connection);
    void resume(PendingRequest const& pending);
    template <typename Work> void with(std::uint64_t key, Work&& work, bool settles = true);
    void serve_observers();
    void serve_unfinished(ClientRole role);
    void serve_pending(PendingRequests& requests);
    void serve_takes();
    bool answer_take(PendingRequest const& pending);
    void answer_takes();
    void greet(std::uint64_t key, ClientConnection& connection);
    void hold(ClientConnection& connection);
    bool is_over_budget() const { return observers_credit_ns_ <= 0; }
    void settle(std::uint64_t key, ClientConnection& connection); // after anything that may have changed it
    void remove(std::uint64_t key);
    void remove_idle();
    void remove_oldest_silent();
    void no_longer_silent(ClientConnection& connection);
    void look_for_room();
    transport::Poller& poller_of(ClientConnection const& connection) {
        return connection.observes ? observers_ : poller_;
    }

    ServingContext context_;
    std::uint32_t number_;
    transport::Poller poller_;
    transport::Poller observers_; // observers' sockets; poller_ watches all of them as one
    Connections connections_;
    std::deque<std::uint64_t> silent_; // keys, the oldest first; some may have said hello or be removed
    std::size_t silent_count_ = 0;
    std::size_t most_silent_;                        // limit; beyond it the connection that is silent for longest goes
    std::atomic<std::size_t> silent_or_waiting_ = 0; // including those that are handed over and not added yet
    std::vector<std::uint64_t> unfinished_[2];       // keys, by role: their sessions have more to do
    std::vector<std::uint64_t> answered_;            // keys of clients whose takes were answered in this turn
    std::int64_t observers_credit_ns_ = 0;           // time that observers may still use
    std::uint64_t turned_ns_ = 0;                    // beginning of the last turn
    bool watches_observers_ = true;
    bool observers_are_ready_ = false;
    std::uint64_t freed_bytes_ = 0;  // memory of connections removed since the last round
    std::size_t first_observer_ = 0; // the ready observer that is served first; it changes each turn
    std::uint64_t next_look_for_room_ns_ = 0;
    std::uint64_t next_key_ = 0;
    std::uint64_t next_round_ns_ = 0; // of remove_idle()
    // The next time for takes after the end of a run, and for takes of events that were left behind.
    std::uint64_t next_slow_takes_ns_ = 0;
    std::function<std::uint64_t()> each_turn_;

    base::Mutex orders_mutex_;
    std::vector<base::FileDescriptor> handed_over_ THALWEG_GUARDED_BY(orders_mutex_);
    ServedRun to_serve_ THALWEG_GUARDED_BY(orders_mutex_);
    std::uint64_t ordered_ THALWEG_GUARDED_BY(orders_mutex_) = 0; // number of orders to serve a run so far
    std::atomic<std::uint64_t> obeyed_ = 0;
    std::atomic<bool> has_orders_ = false;
    std::atomic<bool> stop_ = false;
    std::uint64_t last_cpu_ns_ = 0;
    std::thread thread_;
};

} // namespace thalweg::readout
