// The threads that build: each walks all blocks of the buffer and decodes those of its own groups, so that no packet
// crosses threads. What all of them have read is released to the card.
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

namespace thalweg::readout {

struct BuilderOptions {
    std::uint32_t threads = 1;
    std::uint64_t poll_ns = 30'000;                     // how long a thread sleeps when it finds nothing
    std::vector<std::vector<std::uint32_t>> processors; // where each may run; empty: anywhere
};

struct BuilderCounters {
    std::uint64_t blocks = 0;         // of the groups' e-links
    std::uint64_t foreign_blocks = 0; // of e-links that belong to no group
    std::uint64_t bad_headers = 0;    // blocks of another magic
    std::uint64_t busy_ns = 0;        // an index was full, and reading stood still: of the thread that waited most
    std::uint64_t cpu_ns = 0;         // of all threads
    std::uint64_t bad_pointers = 0;
};

// From one card's start to its end. The groups outlive it.
class Builder {
  public:
    Builder(felix::DmaReader reader, std::span<std::unique_ptr<Group> const> groups, BuilderOptions const& options);
    ~Builder();

    void pause(bool paused) { paused_ = paused; }
    // Reads what the card has written - for up to `drain_ns` where an index is full - and ends the threads.
    void stop(std::uint64_t drain_ns);

    // Whether nothing is left of what the card has written so far.
    bool has_read_all();

    felix::DmaReader const& reader() const { return reader_; }
    BuilderCounters counters() const;

  private:
    struct Owner {
        Group* group = nullptr;
        std::uint16_t stream = 0;
    };
    struct Thread {
        std::array<Owner, felix::kElinks> owners = {};
        std::vector<Group*> groups;
        Group* full = nullptr;                   // that had no room last
        std::atomic<std::uint64_t> position = 0; // everything before it is read
        base::SharedNumber blocks, foreign_blocks, bad_headers, busy_ns, cpu_ns;
        std::jthread thread;
    };

    void run(Thread& thread, std::size_t index);
    std::uint64_t walk(Thread& thread, bool counts_strangers, std::uint64_t begin, std::uint64_t end);
    void release();
    void release_to_card() THALWEG_REQUIRES(release_mutex_);

    felix::DmaReader reader_;
    BuilderOptions options_;
    std::array<bool, felix::kElinks> known_ = {};
    std::vector<std::unique_ptr<Thread>> threads_;
    base::Mutex release_mutex_;
    std::uint64_t released_ THALWEG_GUARDED_BY(release_mutex_) = 0;
    std::atomic<bool> paused_ = false;
    std::atomic<std::uint64_t> end_ = 0;            // of what is read before the end
    std::atomic<std::uint64_t> stop_at_ns_ = ~0ull; // drain until then
};

} // namespace thalweg::readout
