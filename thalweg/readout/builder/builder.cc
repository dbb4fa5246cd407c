#include "thalweg/readout/builder/builder.h"

#include <algorithm>
#include <chrono>
#include <sys/prctl.h>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/felix/walk.h"
#include "thalweg/machine/pinning.h"

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kBatchBlocks = 256; // number of blocks between two checks for finished events
constexpr std::uint64_t kShareHeld = 4;     // at most this part of the buffer is held back
constexpr std::uint64_t kAccountNs = 1'000'000;
constexpr std::uint64_t kStepNs = 1'000'000; // the most that the groups' clock advances in one turn

void sleep_ns(std::uint64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

} // namespace

Builder::Builder(felix::DmaReader reader, std::span<std::unique_ptr<Group> const> groups, BuilderOptions const& options)
    : reader_(std::move(reader)), options_(options) {
    auto const count = std::clamp<std::size_t>(options.threads, 1, std::max<std::size_t>(groups.size(), 1));
    for (std::size_t index = 0; index < count; ++index) threads_.push_back(std::make_unique<BuildThread>());
    for (std::size_t index = 0; index < groups.size(); ++index) {
        auto& thread = *threads_[index % count];
        auto& group = *groups[index];
        thread.groups.push_back(&group);
        for (std::size_t stream = 0; stream < group.elinks().size(); ++stream) {
            auto const elink = group.elinks()[stream];
            thread.owners[elink] = {&group, static_cast<std::uint16_t>(stream)};
            known_[elink] = true;
        }
    }
    for (std::size_t index = 0; index < count; ++index) {
        threads_[index]->thread = std::jthread([this, index] { run(*threads_[index], index); });
    }
}

Builder::~Builder() { stop(0); }

// Blocks that the card writes from now on belong to the next run.
void Builder::stop(std::uint64_t drain_ns) {
    if (stop_at_ns_ == ~0ull) end_ = reader_.published(threads_[0]->position);
    stop_at_ns_ = base::monotonic_ns() + drain_ns;
    for (auto& thread : threads_) {
        if (thread->thread.joinable()) thread->thread.join();
    }
}

void Builder::complete_newest(std::uint64_t patience_ns) {
    auto const newest = newest_event();
    std::vector<std::uint64_t> cursors;
    for (auto const& thread : threads_) cursors.push_back(thread->position);
    bool const has_read_all = std::ranges::all_of(cursors, [&](auto cursor) { return cursor >= end_; });
    if (newest == 0 || !has_read_all) return; // otherwise an index is full
    // A packet of the event behind the newest one may have begun in a block that the card has already back.
    auto const left_from = newest + 2;
    for (auto const& thread : threads_)
        for (auto* const group : thread->groups) group->leave_from(left_from);
    auto const begin_ns = base::monotonic_ns();
    for (auto now = begin_ns; now - begin_ns < patience_ns && !is_cut_short_; now = base::monotonic_ns()) {
        bool const more_may_come = !reader_.stopped() && reader_.heartbeat_age_ns() < felix::kCardGoneNs;
        bool const has_room = walk_on(cursors);
        for (auto const& thread : threads_)
            for (auto* const group : thread->groups) group->tick(thread->clock_ns + (now - begin_ns));
        if (!more_may_come || !has_room || is_closed_before(left_from)) return;
        sleep_ns(options_.poll_ns);
    }
}

std::uint64_t Builder::newest_event() const {
    std::uint64_t newest = 0;
    for (auto const& thread : threads_)
        for (auto const* const group : thread->groups) newest = std::max(newest, group->newest_event());
    return newest;
}

bool Builder::is_closed_before(std::uint64_t event) const {
    return std::ranges::all_of(threads_, [event](auto const& thread) {
        return std::ranges::all_of(thread->groups,
                                   [event](auto const* group) { return group->closed_event() >= event; });
    });
}

// Reads what there is now for all groups. Returns false if an index is full.
bool Builder::walk_on(std::vector<std::uint64_t>& cursors) {
    bool has_room = true;
    for (std::size_t index = 0; index < threads_.size(); ++index) {
        auto& cursor = cursors[index];
        auto const published = reader_.published(cursor);
        cursor = walk(*threads_[index], index == 0, cursor, published);
        has_room &= cursor == published;
    }
    return has_room;
}

void Builder::cut_short() { is_cut_short_ = true; }

void Builder::run(BuildThread& thread, std::size_t index) {
    ::prctl(PR_SET_TIMERSLACK, 1000UL); // the default, 50 us, is longer than the sleep that is wanted
    if (index < options_.processors.size()) machine::pin_this_thread(options_.processors[index]);
    std::uint64_t cursor = 0, accounted_ns = 0, before_ns = base::monotonic_ns(), slept_ns = 0;
    auto pace = pace_of(thread);
    std::uint64_t read = 0; // blocks since the last sleep
    // The clock of the groups. It stands still while this thread does, because collectors hold a full index or reading
    // is paused, and it hardly moves while the thread waits for a processor. During that time no event grows older, and
    // no link counts as silent.
    auto clock_ns = before_ns;
    for (auto* const group : thread.groups) group->tick(clock_ns);
    while (true) {
        bool const stopping = stop_at_ns_ != ~0ull;
        auto const published = stopping ? end_.load() : paused_ ? cursor : reader_.published(cursor);
        auto const end = walk(thread, index == 0, cursor, std::min(published, cursor + kBatchBlocks));
        let_go_of_old(thread, end);
        auto const now = base::monotonic_ns();
        bool const moved = end != cursor, full = published > cursor && !moved;
        if (full) thread.busy_ns.add(now - before_ns);
        bool const waits_for_others = full && thread.full->is_held();
        if (!waits_for_others && !paused_) clock_ns += std::min(now - before_ns, std::max(kStepNs, 2 * slept_ns));
        before_ns = now;
        for (auto* const group : thread.groups) group->tick(clock_ns);
        read += end - cursor;
        cursor = end;
        store_position(thread, cursor);
        release();
        if (now - accounted_ns > kAccountNs) {
            thread.cpu_ns.set(base::thread_cpu_ns());
            accounted_ns = now;
        }
        slept_ns = 0;
        if (moved && (stopping || end < published)) continue;
        if (stopping && (!full || is_cut_short_ || now >= stop_at_ns_)) break;
        slept_ns = full ? pace.while_full() : moved ? pace.after_blocks(read, now) : pace.after_nothing();
        read = 0;
        sleep_ns(slept_ns);
    }
    for (auto* const group : thread.groups) {
        group->let_go();
        group->tick(clock_ns);
    }
    thread.clock_ns = clock_ns;
    store_position(thread, cursor);
    release();
    thread.cpu_ns.set(base::thread_cpu_ns());
}

ReadPace Builder::pace_of(BuildThread const& thread) const {
    PaceLimits limits{.poll_ns = options_.poll_ns,
                      .turn_blocks = kBatchBlocks,
                      .buffer_blocks = reader_.block_count(),
                      .block_bytes = reader_.format().block_bytes};
    for (auto const* const group : thread.groups)
        limits.patience_ns = std::min(limits.patience_ns, group->patience_ns());
    return ReadPace(limits);
}

// Blocks that are held back take the room of the card: a small buffer has none for them. Nor are any held back while
// nothing is read, because no others would come.
void Builder::let_go_of_old(BuildThread& thread, std::uint64_t cursor) {
    auto const most = reader_.block_count() / kShareHeld;
    for (auto* const group : thread.groups) {
        auto const held_from = group->held_from();
        if (held_from < cursor && (paused_ || cursor - held_from > most)) group->let_go();
    }
}

void Builder::store_position(BuildThread& thread, std::uint64_t cursor) {
    auto needed_from = cursor;
    for (auto const* const group : thread.groups) needed_from = std::min(needed_from, group->held_from());
    thread.position.store(needed_from, std::memory_order_release);
}

// Returns where the walk stopped: at `end`, or at a block for which a ring has no room.
std::uint64_t Builder::walk(BuildThread& thread, bool counts_strangers, std::uint64_t begin, std::uint64_t end) {
    auto const format = reader_.format();
    std::uint64_t blocks = 0, foreign = 0, foreign_elink = 0, bad = 0, next = begin;
    auto const is_own = [&](std::uint16_t elink) { return thread.owners[elink].group != nullptr; };
    auto const take = [&](std::byte const* block, felix::BlockHeader const& header) {
        auto const owner = thread.owners[header.elink];
        auto const block_position = next++;
        if (header.magic != format.magic) {
            ++bad;
        } else if (owner.group == nullptr) {
            if (!known_[header.elink]) ++foreign, foreign_elink = header.elink;
        } else {
            if (!owner.group->has_room()) {
                thread.full = owner.group;
                return false;
            }
            owner.group->hold_block(owner.stream, block, block_position);
            ++blocks;
        }
        return true;
    };
    auto position = begin;
    while (position < end) {
        auto const count = std::min(end - position, reader_.blocks_to_wrap(position));
        auto const done = felix::walk_blocks(reader_.block(position), count, format.block_bytes, is_own, take);
        position += done;
        if (done < count) break;
    }
    thread.blocks.add(blocks);
    if (counts_strangers) {
        thread.foreign_blocks.add(foreign);
        if (foreign != 0) thread.foreign_elink.set(foreign_elink);
        thread.bad_headers.add(bad);
    }
    return position;
}

// The first thread that comes releases the blocks for all.
void Builder::release() {
    if (!release_mutex_.try_lock()) return;
    release_to_card(); // which throws nothing
    release_mutex_.unlock();
}

void Builder::release_to_card() {
    auto read_by_all = ~std::uint64_t{0};
    std::uint64_t newest = 0, closed = EventRing::kNotAwaited;
    for (auto const& thread : threads_) {
        read_by_all = std::min(read_by_all, thread->position.load(std::memory_order_acquire));
        for (auto const* const group : thread->groups) {
            newest = std::max(newest, group->newest_event());
            closed = std::min(closed, group->closed_event());
        }
    }
    if (read_by_all == released_) return;
    if (newest != 0) reader_.set_newest_event(newest);
    if (closed != 0 && closed != EventRing::kNotAwaited) reader_.set_closed_event(closed);
    reader_.release(read_by_all);
    released_ = read_by_all;
}

bool Builder::has_read_all() {
    for (auto const& thread : threads_) {
        auto const position = thread->position.load(std::memory_order_acquire);
        if (reader_.published(position) != position) return false;
    }
    return true;
}

BuilderCounters Builder::counters() const {
    BuilderCounters sum{.bad_pointers = reader_.bad_pointers()};
    for (auto const& thread : threads_) {
        sum.blocks += thread->blocks.get();
        sum.foreign_blocks += thread->foreign_blocks.get();
        sum.foreign_elink = std::max(sum.foreign_elink, thread->foreign_elink.get());
        sum.bad_headers += thread->bad_headers.get();
        sum.busy_ns = std::max(sum.busy_ns, thread->busy_ns.get());
        sum.cpu_ns += thread->cpu_ns.get();
    }
    return sum;
}

} // namespace thalweg::readout
