// One thread of a server: its connections, its poller, and the requests that wait.
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

    // From any thread.
    void hand_over(base::FileDescriptor socket);
    // As many that have not said hello as may be, with those that were handed over and wait.
    bool is_crowded() const { return silent_or_waiting_.load(std::memory_order_relaxed) >= most_silent_; }
    // Returns once the thread works with it: what it served before is not touched again.
    void serve(ServedRun const& served);
    void wake() { poller_.wake(); }
    ServerCounters const& counters() const { return context_.counters; }
    std::uint64_t cpu_ns() const;

    // For `each_turn`, which the thread calls between two looks at its sockets and which says how long it may sleep.
    transport::Poller& poller() { return poller_; }
    ServedRun const& served() const { return context_.served; }
    std::uint64_t now_ns() const { return context_.now_ns; }
    ServerCounters& own_counters() { return context_.counters; }

    static constexpr std::uint64_t kOtherKeys = std::uint64_t{1} << 62; // from here on they are not connections

  private:
    struct Connection {
        Connection(ServingContext& context, std::uint64_t key, base::FileDescriptor fd)
            : socket(std::move(fd)), session(context, key, &socket), since_ns(context.now_ns) {}
        base::FileDescriptor socket;
        Session session;
        std::uint64_t sent_bytes = 0; // that are counted
        std::uint64_t held_bytes = 0; // of memory, that are counted: queued here, and in the kernel
        std::uint64_t moved_ns = 0;   // its client last took something of what is held
        std::uint64_t since_ns;       // it is here, or has been told to go
        bool is_silent = true;        // it has not said hello
        bool observes = false;        // its socket is watched with those of observers
        bool is_unfinished = false;   // its key is among those that wait for a turn
        bool reads = true;
        bool writes = false;
        bool was_over = false;
        bool gone = false;
    };
    using Connections = std::unordered_map<std::uint64_t, std::unique_ptr<Connection>>;

    void run();
    void turn(std::uint64_t sleep_ns);
    void take_orders();
    void add(base::FileDescriptor socket);
    void serve_socket(transport::Ready const& ready);
    static void take_final_messages(Connection& connection);
    void resume(PendingRequest const& pending);
    template <typename Work> void with(std::uint64_t key, Work&& work);
    void serve_observers();
    void serve_unfinished(Role role);
    void serve_pending(PendingRequests& requests);
    void serve_takes();
    void greet(std::uint64_t key, Connection& connection);
    void hold(Connection& connection);
    bool is_over_budget() const { return observers_credit_ns_ <= 0; }
    void settle(std::uint64_t key, Connection& connection); // after anything that may have changed it
    void remove(std::uint64_t key);
    void remove_idle();
    void remove_oldest_silent();
    void no_longer_silent(Connection& connection);
    void look_for_room();
    transport::Poller& poller_of(Connection const& connection) { return connection.observes ? observers_ : poller_; }

    ServingContext context_;
    std::uint32_t number_;
    transport::Poller poller_;
    transport::Poller observers_; // their sockets; in poller_ as one
    Connections connections_;
    std::deque<std::uint64_t> silent_; // keys, the oldest first; some may have said hello since, or be gone
    std::size_t silent_count_ = 0;
    std::size_t most_silent_;                        // then the one that is silent for longest goes
    std::atomic<std::size_t> silent_or_waiting_ = 0; // with those that are handed over and not taken yet
    std::vector<std::uint64_t> unfinished_[2];       // keys, by role: their sessions have more to do
    std::int64_t observers_credit_ns_ = 0;           // time that observers may still have
    std::uint64_t turned_ns_ = 0;                    // the last turn began
    bool watches_observers_ = true;
    bool observers_are_ready_ = false;
    std::uint64_t freed_bytes_ = 0;  // with connections that went, since the last round
    std::size_t first_observer_ = 0; // of those that are ready: not always the same
    std::uint64_t next_look_for_room_ns_ = 0;
    std::uint64_t next_key_ = 0;
    std::uint64_t next_round_ns_ = 0;      // of remove_idle
    std::uint64_t next_slow_takes_ns_ = 0; // of takes after the end of a run, and of those of what was left behind
    std::function<std::uint64_t()> each_turn_;

    base::Mutex orders_mutex_;
    std::vector<base::FileDescriptor> handed_over_ THALWEG_GUARDED_BY(orders_mutex_);
    ServedRun to_serve_ THALWEG_GUARDED_BY(orders_mutex_);
    std::uint64_t ordered_ THALWEG_GUARDED_BY(orders_mutex_) = 0; // runs to serve, so far
    std::atomic<std::uint64_t> obeyed_ = 0;
    std::atomic<bool> has_orders_ = false;
    std::atomic<bool> stop_ = false;
    std::uint64_t last_cpu_ns_ = 0;
    std::thread thread_;
};

} // namespace thalweg::readout
