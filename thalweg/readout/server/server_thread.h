// One thread of a server: its connections, its poller, and the requests that wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "thalweg/readout/server/desk.h"
#include "thalweg/readout/server/session.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout {

class ServerThread {
  public:
    ServerThread(ServerConfig const& config, std::uint64_t instance, std::string const& name, std::uint32_t number,
                 std::atomic<std::uint32_t>& open);
    ~ServerThread() { stop(); }

    void start(std::function<void(std::uint32_t)> const& at_start, std::function<std::uint64_t()> each_turn);
    void stop();

    // From any thread.
    void hand_over(base::FileDescriptor socket);
    // Returns once the thread works with it: what it served before is not touched again.
    void serve(ServedRun const& served);
    void wake() { poller_.wake(); }
    ServerCounters const& counters() const { return desk_.counters; }
    std::uint64_t cpu_ns() const;

    // For `each_turn`, which the thread calls between two looks at its sockets and which says how long it may sleep.
    transport::Poller& poller() { return poller_; }
    ServedRun const& served() const { return desk_.served; }
    std::uint64_t now_ns() const { return desk_.now_ns; }
    ServerCounters& own_counters() { return desk_.counters; }

    static constexpr std::uint64_t kOtherKeys = std::uint64_t{1} << 62; // from here on they are not connections

  private:
    struct Connection {
        Connection(Desk& desk, std::uint64_t key, base::FileDescriptor fd)
            : socket(std::move(fd)), session(desk, key, &socket), since_ns(desk.now_ns) {}
        base::FileDescriptor socket;
        Session session;
        std::uint64_t sent_bytes = 0; // that are counted
        std::uint64_t since_ns;       // it is here, or has been told to go
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
    static void hear_last_words(Connection& connection);
    void resume(ParkingLot::Parked const& parked);
    template <typename Work> void with(std::uint64_t key, Work&& work);
    void serve_parked();
    void serve_takes();
    void settle(std::uint64_t key, Connection& connection); // after anything that may have changed it
    void remove(std::uint64_t key);
    void remove_idle();

    Desk desk_;
    std::uint32_t number_;
    std::atomic<std::uint32_t>& open_; // connections of all threads
    transport::Poller poller_;
    Connections connections_;
    std::uint64_t next_key_ = 0;
    std::uint64_t next_round_ns_ = 0;       // of remove_idle
    std::uint64_t next_slow_takes_ns_ = 0;  // of takes after the end of a run, and of those of what was left behind
    std::function<std::uint64_t()> each_turn_;

    std::mutex orders_mutex_;
    std::vector<base::FileDescriptor> handed_over_;
    ServedRun to_serve_;
    std::uint64_t ordered_ = 0; // runs to serve, so far
    std::atomic<std::uint64_t> obeyed_ = 0;
    std::atomic<bool> has_orders_ = false;
    std::atomic<bool> stop_ = false;
    std::uint64_t last_cpu_ns_ = 0;
    std::thread thread_;
};

} // namespace thalweg::readout
