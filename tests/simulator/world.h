// A simulated machine, or several that share a disk: clocks, processes whose threads take turns, memory with names.
// Everything that happens follows from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/disk.h"
#include "tests/simulator/fiber.h"
#include "tests/simulator/random.h"
#include "tests/simulator/shared_names.h"
#include "thalweg/base/stand_in.h"
#include "thalweg/storage/stand_in.h"

namespace thalweg::simulator {

// The only directory of the disk.
inline constexpr char const* kDirectory = "/run";

// The faults of a machine. Numbers count from 0 over the whole history.
struct Weather {
    std::uint64_t steps_per_turn = 100; // approximately: then another thread goes on
    double stall_chance = 0;            // per turn: a thread does not go on for up to `longest_stall_ns`
    std::uint64_t longest_stall_ns = 1'000'000'000;
    // A thread gets no turn until another process has died: with this chance when it asks whether a process is alive,
    // and the thread that would have this turn.
    double freeze_chance = 0;
    std::uint64_t most_freezes = 0; // at questions
    std::uint64_t freeze_turn = kNever;
    std::uint64_t longest_sync_ns = 5'000'000;
    std::uint64_t longest_write_ns = 1'000'000;
    static constexpr std::uint64_t kLargeDiskBytes = std::uint64_t{1} << 40;
    std::uint64_t disk_bytes = kLargeDiskBytes; // that files may have together, between these two times:
    std::uint64_t disk_full_from_ns = 0;        // other programs fill the disk,
    std::uint64_t disk_full_until_ns = kNever;  // and remove their files
    std::uint64_t memory_bytes = std::uint64_t{1} << 30;
    std::uint64_t fail_sync = kNever;
    std::uint64_t fail_write = kNever;
    std::uint64_t refuse_reserve = kNever;
    // The machine cannot say which boot this is, which process, whether one lives, or which file has a name (EMFILE).
    double no_answer_chance = 0;
    // So many lists of folders that this machine asks for next have no answer (EIO).
    std::uint64_t lists_without_answer = 0;
    std::uint32_t without_answer = 0;
    // Lies that no disk tells, for tests of the simulator itself.
    std::string lying_file;              // the end of the file's path
    std::uint32_t lying_to = kNoMachine; // only to this machine; none: to all
};

// One of the machines that share the disk.
struct Machine {
    std::string host = "simulated";
    std::string boot;
    std::uint64_t clock_ns = 0; // ahead of the clocks of the world
    std::uint64_t stopped_until_ns = 0;
    bool is_up = true;

    bool operator==(Machine const&) const = default;
};

// Kept over many machines, which reuse what it holds: making it is expensive.
struct Workshop {
    Stacks stacks;
    Arena arena;
};

class World final : public base::StandIn, public storage::StandIn {
  public:
    static constexpr std::uint64_t kBeginNs = 1'000'000'000'000; // of histories

    // From now on the program asks this machine, until it is destroyed.
    World(Workshop& workshop, std::uint64_t seed, Weather weather, DiskState disk, MemoryState const& memory,
          std::uint64_t now_ns, std::string boot);
    World(World const&) = delete;
    World& operator=(World const&) = delete;
    // Makes several machines: their memory begins with what each has left.
    World(Workshop& workshop, std::uint64_t seed, Weather weather, DiskState disk, MemoryState const& memory,
          std::uint64_t now_ns, std::vector<Machine> machines);
    ~World() override;

    // Starts a process with one thread, which ends with it. Returns its pid, which is unique over all machines.
    std::int32_t start_process(std::function<void()> main, std::uint32_t machine = 0);
    bool is_running(std::int32_t pid) const;
    // Sends SIGKILL. It takes effect later if the process is inside a library that it must not leave.
    void kill(std::int32_t pid);
    // Cuts the power of a machine: its processes, its memory, and those of its writes that do not survive are gone.
    void kill_machine(std::uint32_t machine, Survival const& survival);
    // Stops the machine with all its processes for so long. It takes effect later if one is inside a library.
    void stop_machine(std::uint32_t machine, std::uint64_t duration_ns);
    // A machine that stands still goes on so much later than now.
    void let_go_on(std::uint32_t machine, std::uint64_t in_ns) {
        machines_[machine].stopped_until_ns = now_ns_ + in_ns;
    }
    std::vector<Machine> const& machines() const { return machines_; }
    std::uint32_t current_machine() const { return current_ == nullptr ? 0 : current_->machine; }
    // Its threads get no turns until they are thawed, another process dies, or all others wait.
    void freeze(std::int32_t pid);
    void thaw(std::int32_t pid);
    // From now on the calling process may only touch files whose names begin with `prefix`; anything else is a fault.
    void allow_only(std::string prefix) { allowed_[current_pid()] = std::move(prefix); }
    void check_allowed(std::string const& name);
    // Returns a process with a frozen thread.
    std::optional<std::int32_t> frozen_process() const;
    // Runs until no process is left, or `is_over`, which is called between turns, returns true.
    void run(std::function<bool()> const& is_over);

    // Between any two steps of a thread another one may get its turn.
    void step() {
        ++steps_;
        if (current_ != nullptr && steps_ >= turn_end_ && forbidden_ == 0) yield();
    }
    void yield();
    bool is_shared(void const* address) const { return names.contains(address); }
    // While one of these exists, the thread keeps its turn.
    class Undivided {
      public:
        explicit Undivided(World& world) : world_(world) { ++world_.forbidden_; }
        Undivided(Undivided const&) = delete;
        Undivided& operator=(Undivided const&) = delete;
        ~Undivided() { --world_.forbidden_; }

      private:
        World& world_;
    };

    // While one of these exists, every question is answered.
    class Answering {
      public:
        explicit Answering(World& world) : world_(world) { ++world_.answering_; }
        Answering(Answering const&) = delete;
        Answering& operator=(Answering const&) = delete;
        ~Answering() { --world_.answering_; }

      private:
        World& world_;
    };

    // Something happened that must never happen.
    void blame(std::string text);
    std::vector<std::string> const& faults() const { return faults_; }
    // Notes what happened, and when, for a developer who replays a seed.
    void tell(std::string const& text);
    std::vector<std::string> const& events() const { return events_; }
    std::uint64_t now_ns() const { return now_ns_; }
    std::uint64_t turns() const { return turns_; }
    // Differs almost surely if anything went differently.
    std::uint64_t trace() const { return trace_; }
    void note(std::uint64_t event) { trace_ = mix(trace_ ^ event); }
    std::int32_t current_pid() const;

    Random random;
    Weather weather;
    DiskState disk;
    SharedNames names;
    std::uint64_t syncs = 0, writes = 0, reserves = 0; // so far
    // Returns whether the disk has reported a failure, or would report one to a process that needs more room.
    bool disk_may_have_failed() const {
        return syncs > weather.fail_sync || writes > weather.fail_write || reserves > weather.refuse_reserve ||
               weather.disk_bytes < Weather::kLargeDiskBytes;
    }
    std::uint64_t disk_bytes() {
        auto const now = time_ns();
        bool const is_full = now >= weather.disk_full_from_ns && now < weather.disk_full_until_ns;
        return is_full ? weather.disk_bytes : Weather::kLargeDiskBytes;
    }
    std::uint64_t directory_syncs = 0;
    std::uint64_t questions = 0; // number of questions whether a process is alive
    std::uint64_t unanswered = 0;

    // base::StandIn
    std::uint64_t monotonic_ns() override;
    std::string utc_now() override;
    std::uint64_t unix_seconds() override;
    void sleep_ns(std::uint64_t duration_ns) override;
    void wait_for(void const* what, std::uint64_t timeout_ns) override;
    void wake(void const* what) override;
    std::uint64_t start_thread(std::function<void()> work) override;
    void join_thread(std::uint64_t thread) override;
    void enter_library() override;
    void leave_library() override;
    base::ProcessId this_process() override;
    bool is_alive(base::ProcessId const& process) override;
    bool is_in_use(std::int32_t pid) override;
    std::string boot_id() override {
        ask("which boot this is");
        return boot();
    }
    std::string const& boot() const { return machines_[current_machine()].boot; }
    std::string const& first_boot() const { return machines_.front().boot; }
    std::string host_name() override { return machines_[current_machine()].host; }
    std::uint64_t random_word() override { return random.word(); }
    std::span<std::byte> create_memory(std::string const& name, std::size_t size_bytes) override;
    std::span<std::byte> attach_memory(std::string const& name) override;
    void unlink_memory(std::string const& name) override;
    void link_memory(std::string const& name, std::string const& other) override;
    std::vector<std::string> list_memory(std::string const& prefix) override;
    int open_file(std::string const& path, int flags) override;
    void close_file(int fd) override;
    bool try_lock_file(int fd, bool exclusive) override;
    base::FileIdentity identity_of(int fd) override;
    std::optional<base::FileIdentity> identity_of(std::string const& path) override;
    bool is_directory(std::string const& path) override;
    bool remove_file(std::string const& path) override;
    std::vector<std::string> list_directory(std::string const& path) override;
    void sync_directory_of(std::string const& path) override;
    bool make_directory(std::string const& path) override;
    void remove_directory(std::string const& path) override;
    bool make_label(std::string const& path, std::string const& text) override;
    std::optional<std::string> read_label(std::string const& path) override;
    bool lies(std::string const& path) const;
    // Returns the time on the clock of the world.
    std::uint64_t time_ns();
    // Returns the name of a segment among those of all machines.
    std::string on_machine(std::string const& name) const;
    // storage::StandIn
    std::unique_ptr<storage::Storage> open(std::string const& path, storage::OpenMode mode) override;
    storage::Space space() override;

  private:
    struct Process {
        std::uint64_t start_ticks = 0;
        bool alive = true;
        bool doomed = false; // killed as soon as it leaves the library
    };
    struct Thread {
        std::uint64_t number = 0;
        std::int32_t pid = 0;
        std::uint32_t machine = 0;
        std::unique_ptr<Fiber> fiber;
        std::uint64_t wake_ns = 0; // it waits until then
        void const* waits_for = nullptr;
        bool frozen = false;
    };
    struct OpenFile {
        std::uint64_t inode = 0;
        std::int32_t pid = 0;
        std::uint32_t machine = 0;
        bool locked = false;
        bool exclusive = false;
    };

    std::uint64_t add_thread(std::int32_t pid, std::function<void()> work);
    Thread* choose();
    void take_turn(Thread& thread);
    void end_process(std::int32_t pid);
    bool owns_library(std::int32_t pid) const;
    bool owns_library_on(std::uint32_t machine) const;
    void end_machine(std::uint32_t machine);
    void end_what_is_doomed();
    std::uint64_t wakes_ns(Thread const& thread) const {
        return std::max(thread.wake_ns, machines_[thread.machine].stopped_until_ns);
    }
    std::int32_t pid_on_machine(std::int32_t pid) const;
    void freeze_in_question();
    // Throws base::SystemError if the machine has no answer.
    void ask(std::string const& what);
    void thaw_all();

    Workshop& workshop_;
    std::vector<Machine> machines_;
    std::map<std::uint32_t, Survival> doomed_machines_;       // they die as soon as they are in no library
    std::map<std::uint32_t, std::uint64_t> machines_to_stop_; // for how long
    std::uint64_t now_ns_;
    std::uint64_t steps_ = 0, turn_begin_ = 0, turn_end_ = 0, turns_ = 0, trace_ = 0;
    int forbidden_ = 0, answering_ = 0;
    Thread* current_ = nullptr;
    std::list<Thread> threads_; // of living processes
    std::uint64_t freezes_ = 0; // at questions, so far
    std::map<std::int32_t, std::string> allowed_;
    std::map<std::int32_t, Process> processes_;
    std::vector<std::int32_t> next_pids_; // by machine
    std::uint64_t next_thread_ = 1;
    std::uint64_t library_owner_ = 0;
    std::uint64_t library_depth_ = 0;
    std::map<int, OpenFile> open_files_;
    int next_fd_ = 1000;
    std::vector<std::string> faults_;
    std::vector<std::string> events_;
};

std::uint32_t machine_of_segment(std::string const& name);

// The current machine; nullptr: the real one.
extern World* this_world;

} // namespace thalweg::simulator
