#include "thalweg/dataset/run/ledger.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <system_error>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/run/backoff.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/trace/activity.h"

namespace thalweg::dataset {
namespace {

constexpr char kLedgerMagic[8] = {'T', 'H', 'L', 'E', 'D', 'G', 'E', 'R'};
constexpr std::uint32_t kLedgerVersion = 14;
constexpr std::uint32_t kSlots = 4096;
constexpr std::uint64_t kMostLeftAddresses = 2 * base::kGiB; // of stagings without a producer
constexpr std::uint64_t kSilenceNs = 400'000'000;            // after this, ask whether the committer is alive

template <std::size_t N> void copy_text(char (&to)[N], std::string const& text) {
    std::strncpy(to, text.c_str(), N - 1);
    to[N - 1] = '\0';
}

std::size_t slots_offset() { return (sizeof(LedgerHead) + 63) / 64 * 64; }

bool is_ledger(base::SharedMemory const& memory) {
    if (memory.size() < slots_offset() + kSlots * sizeof(Slot)) return false;
    auto const& head = *reinterpret_cast<LedgerHead const*>(memory.data());
    return std::memcmp(head.magic, kLedgerMagic, sizeof kLedgerMagic) == 0 && head.version == kLedgerVersion &&
           head.slots == kSlots;
}

void raise_to(std::atomic<std::uint64_t>& value, std::uint64_t least) {
    for (auto now = value.load(); now < least && !value.compare_exchange_weak(now, least);) {
    }
}

void check_state(LedgerHead const& shared) {
    switch (shared.state.load()) {
    case LedgerState::open:
    case LedgerState::closing:
        break;
    case LedgerState::failed:
        base::fail_system({shared.failure});
    case LedgerState::closed:
    case LedgerState::abandoned:
        base::fail_system({fmt::format("{} takes no more rows", shared.path), "the run was ended by its creator"});
    }
}

bool is_in_folder(std::string const& name) { return name.find('/') != std::string::npos; }

} // namespace

std::string ledger_name(std::string const& run_id, std::uint32_t node) {
    if (node == 0) return kSegmentPrefix + run_id.substr(0, 16);
    auto const text = fmt::format("{} {}", run_id, node);
    return fmt::format("{}{:016x}", kSegmentPrefix, base::xxh3(std::as_bytes(std::span(text))));
}

std::unique_ptr<Ledger> Ledger::create(std::string const& run_id, std::string const& path, bool shared,
                                       std::uint64_t first_offset, base::MemoryFallback const& fallback,
                                       std::shared_ptr<UnitSeries> series, NodeOfRun const& node) {
    auto const size_bytes = slots_offset() + kSlots * sizeof(Slot);
    std::unique_ptr<Ledger> ledger(new Ledger);
    ledger->memory_ = shared
                          ? base::SharedMemory::create_where_room(ledger_name(run_id, node.node), size_bytes, fallback)
                          : base::SharedMemory::create_private(size_bytes);
    auto& head = *new (ledger->memory_.data()) LedgerHead{};
    ledger->slots_ = reinterpret_cast<Slot*>(ledger->memory_.data() + slots_offset());
    head.version = kLedgerVersion;
    head.slots = kSlots;
    head.committer = base::this_process();
    copy_text(head.run_id, run_id);
    copy_text(head.boot_id, base::boot_id());
    copy_text(head.host, base::host_name());
    head.pid_namespace = base::pid_namespace();
    head.node = node.node;
    head.nodes = node.nodes;
    copy_text(head.path, path);
    head.device = device_of_directory(path);
    copy_text(head.memory_folder, fallback.folder);
    (is_in_folder(ledger->name()) ? head.folder_segments : head.shm_segments) = 1;
    head.claimed = first_offset;
    head.claimable = first_offset;
    ledger->beat();
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(head.magic, kLedgerMagic, sizeof kLedgerMagic); // last: a segment with it is whole
    ledger->fork_generation_ = base::fork_generation();
    ledger->series_ = series ? std::move(series) : std::make_shared<UnitSeries>();
    ledger->series_->join(*ledger);
    ledger->memory_.keep(); // from now on it goes with the journal, or stays with it for `recover`
    return ledger;
}

// A forked child is no creator, and another thread of its parent may have held the series' mutex.
Ledger::~Ledger() {
    if (series_ && fork_generation_ == base::fork_generation()) series_->leave(*this);
}

void Ledger::leave_series() { series_->leave(*this); }

std::unique_ptr<Ledger> Ledger::attach(std::string const& name) {
    std::unique_ptr<Ledger> ledger(new Ledger);
    try {
        ledger->memory_ = base::SharedMemory::attach(name);
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
        base::fail_usage({"cannot attach to run " + name, "it is closed, dead, or on another machine"});
    }
    if (!is_ledger(ledger->memory_)) {
        auto const& head = *reinterpret_cast<LedgerHead const*>(ledger->memory_.data());
        base::fail_usage({"cannot attach to run " + name,
                          fmt::format("its ledger is of another version of Thalweg: {}, and this one's is {}",
                                      head.version, kLedgerVersion),
                          "use the version of Thalweg that recorded the run; nothing was changed"});
    }
    ledger->slots_ = reinterpret_cast<Slot*>(ledger->memory_.data() + slots_offset());
    return ledger;
}

bool Ledger::is_left(std::size_t index) const {
    auto const& slot = slots_[index];
    return slot.staging_bytes > 0 && (slot.taker == 0 || slot.state >= SlotState::finished);
}

bool Ledger::is_much_left(std::uint64_t most_left_bytes) const {
    std::uint64_t bytes = 0, addresses = 0;
    for (std::size_t i = 0; i < slots_used(); ++i) {
        if (!is_left(i)) continue;
        bytes += slots_[i].staging_kept_bytes;
        addresses += slots_[i].staging_bytes;
    }
    return bytes > most_left_bytes || addresses > kMostLeftAddresses;
}

std::optional<std::size_t> Ledger::take_slot(std::size_t table, std::uint64_t most_left_bytes) {
    auto const self = base::this_process();
    auto const take = [&](std::size_t index) {
        auto& slot = slots_[index];
        std::int32_t free = 0;
        if (!slot.taker.compare_exchange_strong(free, self.pid)) return false;
        for (auto used = head().slots_used.load();
             used <= index && !head().slots_used.compare_exchange_weak(used, static_cast<std::uint32_t>(index + 1));) {
        }
        slot.table = static_cast<std::uint32_t>(table);
        slot.producer = self;
        slot.number = head().next_producer.fetch_add(1);
        return slot.change(SlotState::free, SlotState::attaching);
    };
    auto const used = slots_used();
    for (std::size_t i = 0; i < used; ++i) {
        if (slots_[i].taker == 0 && slots_[i].staging_bytes > 0 && slots_[i].staging_table == table && take(i))
            return i;
    }
    bool const makes_more = !is_much_left(most_left_bytes);
    for (std::size_t i = used; makes_more && i < slots(); ++i) {
        if (take(i)) return i;
    }
    for (std::size_t i = 0; i < used; ++i) { // with the memory of another table, which is made anew
        if (take(i)) return i;
    }
    return std::nullopt;
}

void Ledger::free_slot(std::size_t index) {
    THALWEG_ASSERT(slots_[index].taker != 0, "a slot that is freed was taken");
    [[maybe_unused]] bool const was_settled = slots_[index].change(SlotState::settled, SlotState::free);
    THALWEG_ASSERT(was_settled, "what a producer has left is journaled before its slot is free");
    slots_[index].taker = 0; // last: from here on it is another producer's
}

// What the process has left is read behind this: before that it may still have gone on.
bool Ledger::is_orphaned(std::size_t index) const {
    auto const& slot = slots_[index];
    // Killed between taking the slot and saying more about itself.
    if (slot.state == SlotState::free) return !base::is_in_use(slot.taker);
    return !base::is_alive(slot.producer);
}

bool Ledger::has_producers() const {
    for (std::size_t i = 0; i < slots_used(); ++i) {
        if (slots_[i].taker != 0 && slots_[i].state < SlotState::finished && may_be_at_work(i)) return true;
    }
    return false;
}

bool Ledger::may_be_at_work(std::size_t index) const try {
    return !is_orphaned(index);
} catch (base::SystemError const&) {
    return true;
}

std::string Ledger::memory_place() const {
    if (!is_shared()) return "private memory";
    auto const& shared = head();
    if (shared.folder_segments == 0) return "/dev/shm";
    if (shared.shm_segments == 0) return fmt::format("{} (/dev/shm has no room)", shared.memory_folder);
    return fmt::format("/dev/shm and {} (/dev/shm has no room for all)", shared.memory_folder);
}

std::string Ledger::staging_name(std::size_t slot) const {
    return fmt::format("{}-p{}", ledger_name(head().run_id, head().node), slot);
}

std::shared_ptr<base::SharedMemory> Ledger::mapped(std::size_t slot) {
    base::Lock const lock(mapped_mutex_);
    auto const found = mapped_.find(slot);
    if (found == mapped_.end() || found->second.generation != slots_[slot].staging_generation) return nullptr;
    return found->second.memory;
}

void Ledger::keep_mapped(std::size_t slot, std::shared_ptr<base::SharedMemory> memory) {
    base::Lock const lock(mapped_mutex_);
    mapped_[slot] = {slots_[slot].staging_generation, std::move(memory)};
}

// Other processes may have made the memory of these slots anew, so that only this process holds what was there before.
void Ledger::drop_stale_mappings() {
    base::Lock const lock(mapped_mutex_);
    std::erase_if(mapped_, [&](auto const& each) THALWEG_REQUIRES(mapped_mutex_) {
        return each.second.generation != slots_[each.first].staging_generation;
    });
}

std::shared_ptr<base::SharedMemory> Ledger::make_staging(std::size_t index, base::MemorySize const& size) {
    auto& slot = slots_[index];
    if (slot.staging_bytes == size.bytes && slot.staging_table == slot.table) {
        if (auto memory = open_staging(index)) return memory;
    }
    remove_staging(index);
    slot.staging_bytes = 0;
    auto memory = std::make_shared<base::SharedMemory>(
        is_shared() ? base::SharedMemory::create_where_room(staging_name(index), size, memory_fallback_of(head()))
                    : base::SharedMemory::create_private(size.bytes));
    memory->keep(); // it goes with the run: the next producer in this slot uses it again
    if (is_shared()) ++(is_in_folder(memory->name()) ? head().folder_segments : head().shm_segments);
    ++slot.staging_generation;
    slot.staging_table = slot.table;
    slot.staging_kept_bytes = size.allocated_bytes;
    slot.staging_bytes = size.bytes;
    drop_stale_mappings();
    keep_mapped(index, memory);
    return memory;
}

std::shared_ptr<base::SharedMemory> Ledger::open_staging(std::size_t slot) {
    if (auto memory = mapped(slot)) return memory;
    if (!is_shared()) base::fail_system({fmt::format("the slot {} of a producer has no memory", slot)});
    auto memory = std::make_shared<base::SharedMemory>(
        base::SharedMemory::attach_where_it_is(staging_name(slot), head().memory_folder));
    keep_mapped(slot, memory);
    return memory;
}

UnitTable* Ledger::units_if_any() {
    if (auto* const known = known_units_.load(std::memory_order_acquire)) return known;
    if (head().units_ready.load(std::memory_order_acquire) == 0) return nullptr;
    base::Lock const lock(units_mutex_);
    if (!units_) units_ = UnitTable::attach(head().units_name, head().memory_folder);
    known_units_ = units_.get();
    return units_.get();
}

UnitTable& Ledger::units(std::function<void()> const& while_waiting) {
    Backoff backoff;
    while (true) {
        if (auto* const table = units_if_any()) return *table;
        head().units_wanted = 1;
        check_alive();
        if (while_waiting) while_waiting();
        backoff.pause();
    }
}

void Ledger::make_units() { series_->make_table(*this); }

std::string Ledger::units_name() const { return is_shared() ? ledger_name(head().run_id, head().node) + "-" : ""; }

void Ledger::set_units(std::shared_ptr<UnitTable> table) {
    base::Lock const lock(units_mutex_);
    units_ = std::move(table);
    copy_text(head().units_name, units_name());
    known_units_ = units_.get();
    head().units_ready.store(1, std::memory_order_release);
}

void Ledger::remove_staging(std::size_t slot) const {
    if (!is_shared()) return;
    base::SharedMemory::unlink(staging_name(slot));
    base::SharedMemory::unlink(base::name_in_folder(head().memory_folder, staging_name(slot)));
}

std::optional<std::uint64_t> Ledger::try_claim(std::uint64_t size_bytes) {
    auto& shared = head();
    auto offset = shared.claimed.load();
    while (offset + size_bytes <= shared.claimable.load()) {
        if (!shared.claimed.compare_exchange_weak(offset, offset + size_bytes)) continue;
        THALWEG_ASSERT(offset + size_bytes <= shared.claimable.load(), "an extent ends within what may be claimed");
        return offset;
    }
    return std::nullopt;
}

namespace {

std::optional<std::uint64_t> claim_when_allocated(Ledger& ledger, std::uint64_t size_bytes,
                                                  std::function<void()> const& while_waiting) {
    auto& shared = ledger.head();
    trace::Traced traced(trace::Activity::wait_for_space, shared.path, size_bytes);
    Backoff backoff;
    while (true) {
        raise_to(shared.wanted, size_bytes);
        raise_to(shared.waiting, size_bytes);
        ledger.check_alive();
        if (!ledger.has_room()) return std::nullopt;
        if (while_waiting) while_waiting();
        backoff.pause();
        if (auto const offset = ledger.try_claim(size_bytes)) {
            traced.set_result(0);
            return offset;
        }
    }
}

base::Message no_room_message(LedgerHead const& shared, int code) {
    auto const how = code == EDQUOT  ? "free some of your quota there"
                     : code == EFBIG ? "raise the limit of file sizes of the process that created it (prlimit --fsize)"
                                     : "free some space on its file system";
    return {fmt::format("{} takes no more rows at present", shared.path), std::generic_category().message(code),
            fmt::format("{}, and append again; or close it: the file has all rows that were taken", how)};
}

} // namespace

std::optional<std::uint64_t> Ledger::claim(std::uint64_t size_bytes, std::function<void()> const& while_waiting) {
    trace::Traced traced(trace::Activity::claim_extent, head().path, size_bytes);
    auto offset = try_claim(size_bytes);
    if (!offset) offset = claim_when_allocated(*this, size_bytes, while_waiting);
    if (offset) traced.set_result(*offset);
    return offset;
}

void Ledger::check_alive() const {
    auto const& shared = head();
    check_state(shared);
    auto const now = base::monotonic_ns();
    auto const beat = shared.heartbeat_ns.load(std::memory_order_relaxed);
    if (now > beat + kSilenceNs && !base::is_alive(shared.committer)) {
        check_state(shared); // it may have ended the run before it ended itself
        base::fail_system({fmt::format("{} takes no more rows", shared.path),
                           fmt::format("its committer, process {}, is dead", shared.committer.pid),
                           fmt::format("run `thalweg recover {}`", shared.path)});
    }
}

void Ledger::check_room() const {
    check_alive();
    if (int const code = head().no_room_code.load(); code != 0) base::fail_system(no_room_message(head(), code), code);
}

std::string Ledger::room_problem() const {
    int const code = head().no_room_code.load();
    return code == 0 ? "" : no_room_message(head(), code).str();
}

void Ledger::fail(std::string const& message) {
    copy_text(head().failure, message);
    head().state = LedgerState::failed;
}

void Ledger::refuse_claims(int errno_code) {
    THALWEG_ASSERT(base::is_no_space(errno_code), "claims are refused if the disk has no room, and for nothing else");
    head().no_room_code = errno_code;
}

void Ledger::allow_claims() {
    if (!has_room()) head().no_room_code = 0;
}

void Ledger::beat() { head().heartbeat_ns.store(base::monotonic_ns(), std::memory_order_relaxed); }

void remove_segments(std::string const& ledger) {
    try {
        auto const attached = Ledger::attach(ledger);
        remove_memory(attached->head().run_id, {attached->head().memory_folder}, attached->head().node);
    } catch (base::Error const&) { // gone, or not whole
        base::SharedMemory::unlink(ledger);
    }
}

} // namespace thalweg::dataset
