// The threads that build. Each walks over all blocks of the buffer and decodes those of its own groups, so no packet
// crosses threads. The card gets back the blocks that all threads have read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/base/thread.h"
#include "thalweg/felix/dma_buffer.h"
#include "thalweg/readout/builder/group.h"
#include "thalweg/readout/builder/read_pace.h"

namespace thalweg::readout {

struct BuilderOptions {
    std::uint32_t threads = 1;
    std::uint64_t poll_ns = 30'000;                     // how long a thread sleeps at least if it finds nothing
    std::vector<std::vector<std::uint32_t>> processors; // processors on which each thread may run; empty: any
};

struct BuilderCounters {
    std::uint64_t blocks = 0;         // blocks of the groups' e-links
    std::uint64_t foreign_blocks = 0; // blocks of e-links that belong to no group
    std::uint64_t foreign_elink = 0;  // that of the last one
    std::uint64_t bad_headers = 0;    // blocks with another magic number
    std::uint64_t busy_ns = 0;        // time for which a full index stopped the reading, of the thread that waited most
    std::uint64_t cpu_ns = 0;         // CPU time of all threads
    std::uint64_t bad_pointers = 0;
};

// Reads one card from its start to its end. The groups live longer.
class Builder {
  public:
    Builder(felix::DmaReader reader, std::span<std::unique_ptr<Group> const> groups, BuilderOptions const& options);
    ~Builder();

    void pause(bool paused) { paused_ = paused; }
    // Reads what the card has written, for at most `drain_ns` if an index is full, and ends the threads.
    void stop(std::uint64_t drain_ns);
    // Call it after stop(). The links of an event have not come equally far, so the newest events are not complete yet:
    // reads on, for at most `patience_ns`, until they are closed. Their blocks stay in the buffer, because they have
    // packets of later events, too, which the next reader takes.
    void complete_newest(std::uint64_t patience_ns);
    // Notes for the next reader that all events before this one are closed.
    void note_closed(std::uint64_t event) { reader_.set_closed_event(event); }
    // Lets `stop`, in another thread, wait no longer for room in an index.
    void cut_short();

    // Returns whether everything that the card has written so far was read.
    bool has_read_all();

    felix::DmaReader const& reader() const { return reader_; }
    BuilderCounters counters() const;

  private:
    struct StreamOwner {
        Group* group = nullptr;
        std::uint16_t stream = 0;
    };
    struct BuildThread {
        std::array<StreamOwner, felix::kElinks> owners = {};
        std::vector<Group*> groups;
        Group* full = nullptr;                   // the group that had no room at the last try
        std::atomic<std::uint64_t> position = 0; // this thread needs no block before it
        std::uint64_t clock_ns = 0;              // the clock of its groups when the thread ended
        base::SharedNumber blocks, foreign_blocks, foreign_elink, bad_headers, busy_ns, cpu_ns;
        std::jthread thread;
    };

    void run(BuildThread& thread, std::size_t index);
    std::uint64_t walk(BuildThread& thread, bool counts_strangers, std::uint64_t begin, std::uint64_t end);
    bool walk_on(std::vector<std::uint64_t>& cursors);
    std::uint64_t newest_event() const;
    bool is_closed_before(std::uint64_t event) const;
    ReadPace pace_of(BuildThread const& thread) const;
    void let_go_of_old(BuildThread& thread, std::uint64_t cursor);
    void store_position(BuildThread& thread, std::uint64_t cursor);
    void release();
    void release_to_card() THALWEG_REQUIRES(release_mutex_);

    felix::DmaReader reader_;
    BuilderOptions options_;
    std::array<bool, felix::kElinks> known_ = {};
    std::vector<std::unique_ptr<BuildThread>> threads_;
    base::Mutex release_mutex_;
    std::uint64_t released_ THALWEG_GUARDED_BY(release_mutex_) = 0;
    std::atomic<bool> paused_ = false;
    std::atomic<std::uint64_t> end_ = 0;            // the end of what is read before the threads end
    std::atomic<std::uint64_t> stop_at_ns_ = ~0ull; // draining ends at this time
    std::atomic<bool> is_cut_short_ = false;        // draining ends at once
};

} // namespace thalweg::readout
