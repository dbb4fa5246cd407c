#include "thalweg/dataset/ledger.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/backoff.h"
#include "thalweg/dataset/run_memory.h"

namespace thalweg::dataset {
namespace {

constexpr char kMagic[8] = {'T', 'H', 'L', 'E', 'D', 'G', 'E', 'R'};
constexpr std::uint32_t kVersion = 6;
constexpr std::uint32_t kSlots = 4096;
constexpr std::uint64_t kSilenceNs = 400'000'000; // after this, ask whether the committer is alive

template <std::size_t N> void copy_text(char (&to)[N], std::string const& text) {
    std::strncpy(to, text.c_str(), N - 1);
    to[N - 1] = '\0';
}

std::size_t slots_offset() { return (sizeof(LedgerHead) + 63) / 64 * 64; }

bool is_ledger(base::SharedMemory const& memory) {
    if (memory.size() < slots_offset() + kSlots * sizeof(Slot)) return false;
    auto const& head = *reinterpret_cast<LedgerHead const*>(memory.data());
    return std::memcmp(head.magic, kMagic, sizeof kMagic) == 0 && head.version == kVersion && head.slots == kSlots;
}

base::SharedMemory attach_in_either(std::string const& name, std::string const& folder) {
    try {
        return base::SharedMemory::attach(name);
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT || folder.empty()) throw;
        return base::SharedMemory::attach(base::name_in_folder(folder, name));
    }
}

bool is_in_folder(std::string const& name) { return name.find('/') != std::string::npos; }

} // namespace

std::string ledger_name(std::string const& run_id) { return kSegmentPrefix + run_id.substr(0, 16); }

std::unique_ptr<Ledger> Ledger::create(std::string const& run_id, std::string const& path, bool shared,
                                       std::uint64_t first_offset, base::MemoryFallback const& fallback) {
    auto const size_bytes = slots_offset() + kSlots * sizeof(Slot);
    std::unique_ptr<Ledger> ledger(new Ledger);
    ledger->memory_ = shared ? base::SharedMemory::create_where_room(ledger_name(run_id), size_bytes, fallback)
                             : base::SharedMemory::create_private(size_bytes);
    ledger->memory_.keep(); // it goes with the journal, or stays with it for `recover`
    auto& head = *new (ledger->memory_.data()) LedgerHead{};
    ledger->slots_ = reinterpret_cast<Slot*>(ledger->memory_.data() + slots_offset());
    head.version = kVersion;
    head.slots = kSlots;
    head.committer = base::this_process();
    copy_text(head.run_id, run_id);
    copy_text(head.boot_id, base::boot_id());
    copy_text(head.host, base::host_name());
    head.pid_namespace = base::pid_namespace();
    copy_text(head.path, path);
    head.device = device_of_directory(path);
    copy_text(head.memory_folder, fallback.folder);
    (is_in_folder(ledger->name()) ? head.folder_segments : head.shm_segments) = 1;
    head.claimed = first_offset;
    head.claimable = first_offset;
    ledger->beat();
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(head.magic, kMagic, sizeof kMagic); // last: a segment with it is whole
    return ledger;
}

std::unique_ptr<Ledger> Ledger::attach(std::string const& name) {
    std::unique_ptr<Ledger> ledger(new Ledger);
    try {
        ledger->memory_ = base::SharedMemory::attach(name);
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
        base::fail_usage({"cannot attach to run " + name, "it is closed, dead, or on another machine"});
    }
    if (!is_ledger(ledger->memory_)) {
        base::fail_usage({"cannot attach to run " + name, "its ledger is of another version of Thalweg"});
    }
    ledger->slots_ = reinterpret_cast<Slot*>(ledger->memory_.data() + slots_offset());
    return ledger;
}

std::size_t Ledger::take_slot(std::size_t table) {
    auto const self = base::this_process();
    for (std::size_t i = 0; i < slots(); ++i) {
        std::int32_t nobody = 0;
        if (!slots_[i].taker.compare_exchange_strong(nobody, self.pid)) continue;
        slots_[i].table = static_cast<std::uint32_t>(table);
        slots_[i].producer = self;
        slots_[i].state = SlotState::attaching;
        return i;
    }
    base::fail_usage({fmt::format("{} cannot take another producer", head().path),
                      fmt::format("a run has at most {} over its life", slots()),
                      "keep producers open instead of making one for each batch"});
}

std::size_t Ledger::slots_taken() const {
    std::size_t taken = 0;
    while (taken < slots() && slots_[taken].taker != 0) ++taken;
    return taken;
}

bool Ledger::is_orphaned(std::size_t index) const {
    auto const& slot = slots_[index];
    // Killed between taking the slot and saying more about itself.
    if (slot.state == SlotState::free) return !base::is_in_use(slot.taker);
    return !base::is_alive(slot.producer);
}

bool Ledger::has_producers() const {
    for (std::size_t i = 0; i < slots_taken(); ++i) {
        if (slots_[i].state < SlotState::finished && !is_orphaned(i)) return true;
    }
    return false;
}

std::string Ledger::memory_place() const {
    if (!is_shared()) return "private memory";
    auto const& shared = head();
    if (shared.folder_segments == 0) return "/dev/shm";
    if (shared.shm_segments == 0) return fmt::format("{} (/dev/shm has no room)", shared.memory_folder);
    return fmt::format("/dev/shm and {} (/dev/shm has no room for all)", shared.memory_folder);
}

std::string Ledger::staging_name(std::size_t slot) const {
    return fmt::format("{}-p{}", ledger_name(head().run_id), slot);
}

std::shared_ptr<base::SharedMemory> Ledger::create_staging(std::size_t slot, std::size_t size_bytes) {
    if (is_shared()) {
        auto memory = std::make_shared<base::SharedMemory>(
            base::SharedMemory::create_where_room(staging_name(slot), size_bytes, memory_fallback_of(head())));
        memory->keep(); // the committer removes it, when the rows in it are safe
        ++(is_in_folder(memory->name()) ? head().folder_segments : head().shm_segments);
        return memory;
    }
    auto memory = std::make_shared<base::SharedMemory>(base::SharedMemory::create_private(size_bytes));
    std::lock_guard const lock(private_mutex_);
    return private_staging_[slot] = memory;
}

std::shared_ptr<base::SharedMemory> Ledger::open_staging(std::size_t slot) {
    if (is_shared()) {
        auto memory = std::make_shared<base::SharedMemory>(attach_in_either(staging_name(slot), head().memory_folder));
        memory->adopt();
        return memory;
    }
    std::lock_guard const lock(private_mutex_);
    auto const node = private_staging_.extract(slot);
    if (node.empty()) base::fail_system({fmt::format("producer {} has no staging memory", slot)});
    return node.mapped();
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
        if (shared.claimed.compare_exchange_weak(offset, offset + size_bytes)) return offset;
    }
    return std::nullopt;
}

std::uint64_t Ledger::claim(std::uint64_t size_bytes, std::function<void()> const& while_waiting) {
    auto& shared = head();
    Backoff backoff;
    while (true) {
        if (auto const offset = try_claim(size_bytes)) return *offset;
        for (auto wanted = shared.wanted.load();
             wanted < size_bytes && !shared.wanted.compare_exchange_weak(wanted, size_bytes);) {
        }
        check_alive();
        if (shared.claims_refused.load() != 0) base::fail_system({shared.failure}, ENOSPC);
        if (while_waiting) while_waiting();
        backoff.pause();
    }
}

void Ledger::check_alive() const {
    auto const& shared = head();
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
    auto const now = base::monotonic_ns();
    auto const beat = shared.heartbeat_ns.load(std::memory_order_relaxed);
    if (now > beat + kSilenceNs && !base::is_alive(shared.committer)) {
        base::fail_system({fmt::format("{} takes no more rows", shared.path),
                           fmt::format("its committer, process {}, is dead", shared.committer.pid),
                           fmt::format("run `thalweg recover {}`", shared.path)});
    }
}

void Ledger::fail(std::string const& message) {
    copy_text(head().failure, message);
    head().state = LedgerState::failed;
}

void Ledger::refuse_claims(std::string const& message) {
    copy_text(head().failure, message);
    head().claims_refused = 1;
}

void Ledger::beat() { head().heartbeat_ns.store(base::monotonic_ns(), std::memory_order_relaxed); }

void remove_segments(std::string const& ledger) {
    try {
        auto const attached = Ledger::attach(ledger);
        remove_memory(attached->head().run_id, {attached->head().memory_folder});
    } catch (base::Error const&) { // gone, or not whole
        base::SharedMemory::unlink(ledger);
    }
}

} // namespace thalweg::dataset
