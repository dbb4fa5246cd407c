// The board that the processes of one job share: which range is next, which thread does which range, and what went
// wrong. It lies in memory that forked processes share with the one that made it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace thalweg::derive {

// Thread-safe, also between processes: any of which may be killed at any moment.
class EventBoard {
  public:
    // `waiting`: so many ranges wait to be done, of `ranges`; they are given out in the order of the caller.
    EventBoard(std::uint64_t waiting, std::uint64_t ranges, unsigned attempts, unsigned slots);
    ~EventBoard();
    EventBoard(EventBoard const&) = delete;
    EventBoard& operator=(EventBoard const&) = delete;

    // Returns the next range that was never given out: its place among those that wait. None: there is no other, or all
    // stop.
    std::optional<std::uint64_t> take();
    // Returns a range that has to be done again, because its worker died.
    std::optional<std::uint64_t> take_again();
    void give_again(std::uint64_t place);
    bool has_more() const;

    // A thread of a worker has a slot of its own.
    void begin(unsigned slot, std::uint64_t place);
    void end(unsigned slot, std::uint64_t events);
    void clear(unsigned slot);
    struct Doing {
        std::uint64_t place;
        std::uint64_t since_ns;
    };
    std::optional<Doing> doing(unsigned slot) const;

    // Counts that the range failed once more. Returns false if it may not be tried again.
    bool may_try_again(std::uint64_t range);
    std::uint64_t failures() const { return head_->failures; }

    // No range is given out any more. The first reason stays.
    void stop(std::string const& why);
    bool is_stopped() const { return head_->stopped.load() != going_on; }
    std::string why() const;

    std::uint64_t events_done() const { return head_->events_done; }
    std::uint64_t ranges_done() const { return head_->ranges_done; }

  private:
    enum Stop : std::uint32_t { going_on, being_told, told };
    static constexpr std::size_t kReasonBytes = 4096;
    struct Head {
        std::atomic<std::uint64_t> next, again_begin, again_end, events_done, ranges_done, failures;
        std::atomic<std::uint32_t> stopped;
        char why[kReasonBytes];
    };
    struct Slot {
        std::atomic<std::uint64_t> place_and_one; // 0: nothing
        std::atomic<std::uint64_t> since_ns;
    };

    std::uint64_t waiting_;
    unsigned attempts_;
    std::span<std::byte> memory_;
    Head* head_ = nullptr;
    std::span<Slot> slots_;
    std::span<std::atomic<std::uint32_t>> failed_; // by range: so often
    std::span<std::atomic<std::uint64_t>> again_;  // places
};

} // namespace thalweg::derive
