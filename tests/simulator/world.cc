#include "tests/simulator/world.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::simulator {
namespace {

constexpr std::uint64_t kStepNs = 20;
constexpr std::uint64_t kMostTurns = 3'000'000; // a history usually ends after some ten thousand
constexpr std::int32_t kFirstPid = 100, kPidsOfMachine = 1'000'000;

} // namespace

World* this_world = nullptr;

World::World(Workshop& workshop, std::uint64_t seed, Weather plan, DiskState state, MemoryState const& memory,
             std::uint64_t now_ns, std::string boot)
    : World(workshop, seed, std::move(plan), std::move(state), memory, now_ns,
            std::vector<Machine>{{.boot = std::move(boot)}}) {}

World::World(Workshop& workshop, std::uint64_t seed, Weather plan, DiskState state, MemoryState const& memory,
             std::uint64_t now_ns, std::vector<Machine> machines)
    : random(seed), weather(std::move(plan)), disk(std::move(state)), names(workshop.arena, memory),
      workshop_(workshop), machines_(std::move(machines)), now_ns_(now_ns) {
    for (std::size_t i = 0; i < machines_.size(); ++i)
        next_pids_.push_back(kFirstPid + static_cast<std::int32_t>(i) * kPidsOfMachine);
    names.limit_bytes = weather.memory_bytes;
    this_world = this;
    base::stand_in = this;
    storage::stand_in = this;
}

World::~World() {
    this_world = nullptr;
    base::stand_in = nullptr;
    storage::stand_in = nullptr;
}

// Processes of two machines may have the same pid on their machines, and the same start time.
std::int32_t World::start_process(std::function<void()> main, std::uint32_t machine) {
    auto const pid = next_pids_.at(machine)++;
    processes_[pid] = {now_ns_ / 10'000'000 + static_cast<std::uint64_t>(pid % kPidsOfMachine)};
    add_thread(pid, [this, pid, work = std::move(main)] {
        try {
            work();
        } catch (std::exception const& error) {
            blame(fmt::format("process {} ended on an exception: {}", pid, error.what()));
        }
        end_process(pid);
    });
    return pid;
}

std::uint64_t World::add_thread(std::int32_t pid, std::function<void()> work) {
    auto& thread = threads_.emplace_back();
    thread.number = next_thread_++;
    thread.pid = pid;
    thread.machine = static_cast<std::uint32_t>(pid / kPidsOfMachine);
    thread.fiber = std::make_unique<Fiber>(workshop_.stacks, std::move(work));
    thread.wake_ns = now_ns_;
    return thread.number;
}

bool World::is_running(std::int32_t pid) const {
    auto const found = processes_.find(pid);
    return found != processes_.end() && found->second.alive;
}

void World::kill(std::int32_t pid) {
    if (owns_library(pid))
        processes_.at(pid).doomed = true;
    else
        end_process(pid);
}

bool World::owns_library(std::int32_t pid) const {
    return library_depth_ > 0 && std::any_of(threads_.begin(), threads_.end(), [&](Thread const& thread) {
               return thread.pid == pid && thread.number == library_owner_;
           });
}

bool World::owns_library_on(std::uint32_t machine) const {
    return library_depth_ > 0 && std::ranges::any_of(threads_, [&](Thread const& thread) {
               return thread.machine == machine && thread.number == library_owner_;
           });
}

void World::kill_machine(std::uint32_t machine, Survival const& survival) {
    doomed_machines_[machine] = survival;
    end_what_is_doomed();
}

void World::stop_machine(std::uint32_t machine, std::uint64_t duration_ns) {
    machines_to_stop_[machine] = duration_ns;
    end_what_is_doomed();
}

// Ends doomed processes between two turns. No process is stopped inside a library, because only here all processes
// share it.
void World::end_what_is_doomed() {
    std::erase_if(machines_to_stop_, [&](auto const& each) {
        if (owns_library_on(each.first)) return false;
        auto& until_ns = machines_[each.first].stopped_until_ns;
        until_ns = std::max(until_ns, now_ns_ + each.second);
        return true;
    });
    std::vector<std::uint32_t> ending;
    for (auto const& [machine, survival] : doomed_machines_) {
        if (!owns_library_on(machine)) ending.push_back(machine);
    }
    for (auto const machine : ending) end_machine(machine);
}

void World::end_machine(std::uint32_t machine) {
    auto const survival = doomed_machines_.extract(machine).mapped();
    std::vector<std::int32_t> pids;
    for (auto const& [pid, process] : processes_) {
        if (process.alive && static_cast<std::uint32_t>(pid / kPidsOfMachine) == machine) pids.push_back(pid);
    }
    for (auto const pid : pids) end_process(pid);
    std::erase_if(names.segments, [&](auto const& each) { return machine_of_segment(each.first) == machine; });
    lose_machine(disk, machine, survival, random);
    machines_[machine].boot += "'";
    machines_[machine].is_up = false;
    machines_[machine].stopped_until_ns = 0;
}

// Its threads never go on, whatever they were doing.
void World::end_process(std::int32_t pid) {
    processes_.at(pid).alive = false;
    std::erase_if(open_files_, [&](auto const& each) { return each.second.pid == pid; });
    for (auto& flight : disk.flights) flight.orphaned = flight.orphaned || flight.pid == pid;
    std::erase_if(threads_, [&](Thread const& thread) { return thread.pid == pid && &thread != current_; });
    note(static_cast<std::uint64_t>(pid));
    thaw_all();
}

void World::freeze(std::int32_t pid) {
    for (auto& thread : threads_) thread.frozen = thread.frozen || thread.pid == pid;
}

void World::thaw(std::int32_t pid) {
    for (auto& thread : threads_) thread.frozen = thread.frozen && thread.pid != pid;
}

void World::thaw_all() {
    for (auto& thread : threads_) thread.frozen = false;
}

void World::check_allowed(std::string const& name) {
    auto const allowed = allowed_.find(current_pid());
    if (allowed != allowed_.end() && !name.starts_with(allowed->second))
        blame(fmt::format("a process that may touch only {}* touches {}", allowed->second, name));
}

std::optional<std::int32_t> World::frozen_process() const {
    for (auto const& thread : threads_) {
        if (thread.frozen) return thread.pid;
    }
    return std::nullopt;
}

// A process that asks has looked at something before, and acts on what it was then.
void World::freeze_in_question() {
    ++questions;
    if (current_ == nullptr || forbidden_ > 0 || freezes_ >= weather.most_freezes) return;
    if (!random.chance(weather.freeze_chance)) return;
    ++freezes_;
    current_->frozen = true;
    yield();
}

void World::run(std::function<bool()> const& is_over) {
    while (!threads_.empty()) {
        disk.land(now_ns_);
        if (!doomed_machines_.empty() || !machines_to_stop_.empty()) end_what_is_doomed();
        if (!faults_.empty() || (is_over && is_over()) || threads_.empty()) return;
        auto* const thread = choose();
        if (thread == nullptr && !frozen_process()) return blame("all threads wait for each other");
        if (++turns_ > kMostTurns) return blame("no end after three million turns");
        if (thread == nullptr) {
            thaw_all();
            continue;
        }
        if (turns_ >= weather.freeze_turn) {
            weather.freeze_turn = kNever;
            thread->frozen = true;
            continue;
        }
        if (random.chance(weather.stall_chance)) {
            thread->wake_ns = now_ns_ + random.any_size(weather.longest_stall_ns);
            continue;
        }
        take_turn(*thread);
    }
}

World::Thread* World::choose() {
    while (true) {
        std::uint64_t ready = 0, next_ns = kNever;
        for (auto const& thread : threads_) {
            if (thread.frozen) continue;
            ready += wakes_ns(thread) <= now_ns_;
            next_ns = std::min(next_ns, wakes_ns(thread));
        }
        if (ready > 0) {
            auto skip = random.below(ready);
            for (auto& thread : threads_) {
                if (!thread.frozen && wakes_ns(thread) <= now_ns_ && skip-- == 0) return &thread;
            }
        }
        if (next_ns == kNever) return nullptr;
        now_ns_ = next_ns;
        disk.land(now_ns_);
    }
}

void World::take_turn(Thread& thread) {
    current_ = &thread;
    disk.machine = thread.machine;
    turn_begin_ = steps_;
    turn_end_ = steps_ + random.any_size(2 * weather.steps_per_turn);
    thread.waits_for = nullptr;
    note(thread.number);
    thread.fiber->resume();
    now_ns_ += (steps_ - turn_begin_) * kStepNs + 100;
    note(steps_);
    current_ = nullptr;
    disk.machine = 0;
    if (!thread.fiber->ended()) {
        if (processes_.at(thread.pid).doomed && !owns_library(thread.pid)) end_process(thread.pid);
        if (!doomed_machines_.empty() || !machines_to_stop_.empty()) end_what_is_doomed();
        return;
    }
    auto const number = thread.number;
    std::erase_if(threads_, [&](Thread const& each) { return each.number == number; });
    for (auto& other : threads_) other.wake_ns = std::min(other.wake_ns, other.waits_for == this ? now_ns_ : kNever);
}

void World::yield() {
    if (current_ != nullptr && forbidden_ == 0) current_->fiber->suspend();
}

void World::blame(std::string text) { faults_.push_back(std::move(text)); }

void World::tell(std::string const& text) {
    events_.push_back(fmt::format("turn {}, {:.6f} s, machine {}, process {}: {}", turns_,
                                  static_cast<double>(now_ns_) / 1e9, current_machine() + 1, current_pid(), text));
}

std::int32_t World::current_pid() const { return current_ == nullptr ? 1 : current_->pid; }

std::uint64_t World::time_ns() {
    ++steps_;
    return now_ns_ + (current_ == nullptr ? 0 : (steps_ - turn_begin_) * kStepNs);
}

std::uint64_t World::monotonic_ns() { return time_ns() + machines_[current_machine()].clock_ns; }

std::string World::utc_now() { return fmt::format("2026-01-01T00:00:00.{:06}Z", now_ns_ / 1000 % 1'000'000); }

std::uint64_t World::unix_seconds() {
    return 1'770'000'000 + (now_ns_ + machines_[current_machine()].clock_ns) / 1'000'000'000;
}

void World::sleep_ns(std::uint64_t duration_ns) { wait_for(nullptr, duration_ns); }

void World::wait_for(void const* what, std::uint64_t timeout_ns) {
    if (current_ == nullptr || forbidden_ > 0) {
        if (what != nullptr) blame("a thread waits that must not give up its turn");
        now_ns_ += what == nullptr ? timeout_ns : 0;
        return;
    }
    auto const now = time_ns();
    current_->waits_for = what;
    current_->wake_ns = timeout_ns > kNever - now ? kNever : now + timeout_ns;
    current_->fiber->suspend();
}

void World::wake(void const* what) {
    for (auto& thread : threads_) {
        if (thread.waits_for == what) thread.wake_ns = std::min(thread.wake_ns, now_ns_);
    }
}

std::uint64_t World::start_thread(std::function<void()> work) { return add_thread(current_pid(), std::move(work)); }

void World::join_thread(std::uint64_t number) {
    auto const is_there = [&] {
        return std::any_of(threads_.begin(), threads_.end(),
                           [&](Thread const& thread) { return thread.number == number && !thread.fiber->ended(); });
    };
    while (is_there()) wait_for(this, kNever);
}

void World::enter_library() {
    auto const self = current_ == nullptr ? kNever : current_->number;
    while (library_depth_ > 0 && library_owner_ != self) wait_for(&library_owner_, kNever);
    library_owner_ = self;
    ++library_depth_;
}

void World::leave_library() {
    if (--library_depth_ > 0) return;
    wake(&library_owner_);
}

void World::ask(std::string const& what) {
    if (weather.no_answer_chance == 0 || answering_ > 0 || !random.chance(weather.no_answer_chance)) return;
    ++unanswered;
    base::fail_system({"the machine cannot tell " + what}, EMFILE);
}

base::ProcessId World::this_process() {
    ask("which process this is");
    auto const pid = current_pid();
    return {pid % kPidsOfMachine, 0, processes_.contains(pid) ? processes_.at(pid).start_ticks : 0};
}

std::int32_t World::pid_on_machine(std::int32_t pid) const {
    return pid + static_cast<std::int32_t>(current_machine()) * kPidsOfMachine;
}

bool World::is_alive(base::ProcessId const& process) {
    step();
    freeze_in_question();
    ask("whether a process lives");
    auto const pid = pid_on_machine(process.pid);
    return is_running(pid) && processes_.at(pid).start_ticks == process.start_ticks;
}

bool World::is_in_use(std::int32_t pid) {
    step();
    freeze_in_question();
    return is_running(pid_on_machine(pid));
}

} // namespace thalweg::simulator
