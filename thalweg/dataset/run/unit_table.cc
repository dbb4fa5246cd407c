#include "thalweg/dataset/run/unit_table.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/dataset/run/backoff.h"

namespace thalweg::dataset {
namespace {

constexpr char kUnitsMagic[8] = {'T', 'H', 'U', 'N', 'I', 'T', 'S', '1'};
constexpr std::uint32_t kTableVersion = 2;  // what a hash is belongs to it
constexpr std::uint32_t kBuckets = 1 << 20; // with a million keys a chain has one entry
constexpr std::uint64_t kUnit = 16;         // what entry ids count
constexpr std::uint64_t kFirstPieceBytes = base::kMiB;
constexpr std::uint64_t kAheadBytes = kFirstPieceBytes / 4;

// Pieces follow each other in one space of addresses: piece k begins at (2^k - 1) MiB.
constexpr std::uint64_t piece_begin(std::size_t index) { return ((1ull << index) - 1) * kFirstPieceBytes; }
constexpr std::uint64_t piece_bytes(std::size_t index) { return kFirstPieceBytes << index; }
std::size_t piece_of(std::uint64_t address) {
    return static_cast<std::size_t>(std::bit_width(address / kFirstPieceBytes + 1) - 1);
}

std::uint64_t entry_bytes(std::uint64_t key_bytes, std::uint64_t summary_bytes) {
    return base::round_up(sizeof(UnitEntry) + key_bytes + summary_bytes, kUnit);
}

std::uint64_t buckets_offset() { return base::round_up(sizeof(UnitTableHead), 64); }

std::string piece_suffix(std::size_t index) { return fmt::format("u{}", index); }

// In /dev/shm or in the folder, as that memory is.
std::string beside(base::SharedMemory const& memory, std::string const& name) {
    auto const end = memory.name().rfind('/');
    return base::name_in_folder(end == std::string::npos ? "" : memory.name().substr(0, end), name);
}

// `known`: a name that it has. The one that it was created with may be gone.
void name_also(base::SharedMemory const& memory, std::string const& known, std::string const& name) {
    base::SharedMemory::link(beside(memory, known), beside(memory, name));
}

[[noreturn]] void fail_damaged(char const* why) { base::fail_data({"the table of work units cannot be read", why}); }

} // namespace

// Under all names, or there is none.
base::SharedMemory UnitTable::make(std::string const& suffix, std::size_t size_bytes) const {
    if (names_.front().empty()) return base::SharedMemory::create_private(size_bytes);
    auto memory = base::SharedMemory::create_where_room(names_.front() + suffix, size_bytes, fallback_);
    try {
        for (std::size_t i = 1; i < names_.size(); ++i) name_also(memory, names_.front() + suffix, names_[i] + suffix);
    } catch (base::SystemError const&) {
        for (std::size_t i = 1; i < names_.size(); ++i) base::SharedMemory::unlink(beside(memory, names_[i] + suffix));
        throw;
    }
    memory.keep(); // it goes with the files of the run
    return memory;
}

void UnitTable::add_name(std::string const& name) {
    base::Lock const lock(names_mutex_);
    base::Lock const mapping(mutex_);
    if (names_.empty()) base::fail_usage({"no file can continue this run", "all its files are closed"});
    auto const& known = names_.front();
    auto const made = static_cast<std::size_t>(std::ranges::find_if_not(pieces_, &base::SharedMemory::operator bool) -
                                               pieces_.begin());
    try {
        name_also(memory_, known + "u", name + "u");
        for (std::size_t i = 0; i < made; ++i) name_also(pieces_[i], known + piece_suffix(i), name + piece_suffix(i));
    } catch (base::SystemError const&) {
        base::SharedMemory::unlink(beside(memory_, name + "u"));
        for (std::size_t i = 0; i < made; ++i) base::SharedMemory::unlink(beside(pieces_[i], name + piece_suffix(i)));
        throw;
    }
    names_.push_back(name);
}

void UnitTable::drop_name(std::string const& name) {
    base::Lock const lock(names_mutex_);
    std::erase(names_, name);
}

std::shared_ptr<UnitTable> UnitTable::create(std::string const& name, base::MemoryFallback fallback) {
    std::shared_ptr<UnitTable> table(new UnitTable(name, std::move(fallback)));
    auto const size = buckets_offset() + kBuckets * sizeof(std::atomic<UnitEntryId>);
    {
        base::Lock const lock(table->names_mutex_);
        table->memory_ = table->make("u", size);
    }
    auto& head = *new (table->memory_.data()) UnitTableHead{};
    head.version = kTableVersion;
    head.buckets = kBuckets;
    table->grow();
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(head.magic, kUnitsMagic, sizeof kUnitsMagic); // last: memory with it is whole
    return table;
}

std::shared_ptr<UnitTable> UnitTable::attach(std::string const& name, std::string const& folder) {
    std::shared_ptr<UnitTable> table(new UnitTable(name, {folder}));
    table->memory_ = base::SharedMemory::attach_where_it_is(name + "u", folder);
    bool const whole = table->memory_.size() >= buckets_offset() + kBuckets * sizeof(std::atomic<UnitEntryId>) &&
                       std::memcmp(table->head().magic, kUnitsMagic, sizeof kUnitsMagic) == 0 &&
                       table->head().version == kTableVersion && table->head().buckets == kBuckets;
    if (!whole) base::fail_data({"the table of the work units of run " + name + " cannot be read", "it is not whole"});
    return table;
}

void UnitTable::grow(std::uint64_t summary_bytes) {
    auto& shared = head();
    auto const wanted = std::max<std::uint64_t>(shared.wanted_bytes, entry_bytes(kLongestKeyBytes, summary_bytes));
    auto const ahead = std::max<std::uint64_t>(kAheadBytes, wanted * 2);
    auto const is_needed = [&] {
        return shared.refused == 0 && shared.available_bytes - shared.reserved_bytes < ahead;
    };
    if (!is_needed()) return;
    base::Lock const lock(names_mutex_); // committers of other files do the same
    if (names_.empty()) return;          // all files are closed
    while (is_needed()) {
        auto const index = piece_of(shared.available_bytes);
        if (index >= kPieces || !add_piece(index)) {
            shared.refused = 1;
            return;
        }
        shared.available_bytes = piece_begin(index + 1);
    }
}

bool UnitTable::add_piece(std::size_t index) {
    try {
        auto memory = make(piece_suffix(index), piece_bytes(index));
        base::Lock const lock(mutex_);
        pieces_[index] = std::move(memory);
        mapped_[index] = pieces_[index].data();
    } catch (base::SystemError const& error) {
        if (error.code != ENOSPC && error.code != ENOMEM) throw;
        return false;
    }
    return true;
}

std::byte* UnitTable::piece(std::size_t index) const {
    if (auto* const there = mapped_[index].load(std::memory_order_acquire)) return there;
    base::Lock const lock(mutex_);
    if (!pieces_[index]) {
        auto memory = base::SharedMemory::attach_where_it_is(name_ + piece_suffix(index), fallback_.folder);
        if (memory.size() < piece_bytes(index)) fail_damaged("its memory is too small");
        pieces_[index] = std::move(memory);
    }
    mapped_[index].store(pieces_[index].data(), std::memory_order_release);
    return pieces_[index].data();
}

UnitEntry& UnitTable::at(UnitEntryId entry) const {
    auto const address = (entry - std::uint64_t{1}) * kUnit;
    auto const index = piece_of(address);
    if (entry == 0 || index >= kPieces || address + sizeof(UnitEntry) > head().available_bytes ||
        address + sizeof(UnitEntry) > piece_begin(index + 1))
        fail_damaged("an entry is out of bounds");
    return *reinterpret_cast<UnitEntry*>(piece(index) + (address - piece_begin(index)));
}

UnitEntry& UnitTable::whole(UnitEntryId id) const {
    auto& entry = at(id);
    auto const address = (id - std::uint64_t{1}) * kUnit;
    auto const key_bytes = entry.key_bytes == kIntegerKey ? 0 : entry.key_bytes;
    auto const room = piece_begin(piece_of(address) + 1) - address - sizeof(UnitEntry);
    if (key_bytes > kLongestKeyBytes || key_bytes + std::uint64_t{entry.summary_bytes} > room)
        fail_damaged("a key or a summary is out of bounds");
    return entry;
}

std::atomic<UnitEntryId>& UnitTable::bucket(std::uint64_t hash) const {
    auto* const buckets = reinterpret_cast<std::atomic<UnitEntryId>*>(memory_.data() + buckets_offset());
    return buckets[hash & (kBuckets - 1)];
}

std::uint64_t UnitTable::wanted_end() const {
    return head().reserved_bytes + std::max<std::uint64_t>(kAheadBytes, head().wanted_bytes * 2);
}

// The committers of files that follow each other admit, each with the room of its own file.
void UnitTable::admit(std::uint64_t end) {
    auto& shared = head().admitted_bytes;
    for (auto admitted = shared.load(); admitted < end && !shared.compare_exchange_weak(admitted, end);) {
    }
}

void UnitTable::take_again(UnitKey const& key, std::string_view summary) {
    link(reserve(key, summary, head().available_bytes, nullptr), 0);
    admit(head().reserved_bytes);
}

UnitEntryId UnitTable::reserve(UnitKey const& key, std::string_view summary,
                               std::function<void()> const& while_waiting) {
    return reserve(key, summary, head().admitted_bytes, while_waiting);
}

UnitEntryId UnitTable::reserve(UnitKey const& key, std::string_view summary, std::atomic<std::uint64_t> const& end,
                               std::function<void()> const& while_waiting) {
    auto& shared = head();
    auto const size = entry_bytes(key.text.size(), summary.size());
    std::uint64_t address = shared.reserved_bytes;
    Backoff backoff;
    while (true) {
        auto const index = piece_of(address);
        auto const begin = address + size <= piece_begin(index + 1) ? address : piece_begin(index + 1);
        if (begin + size <= std::min(end.load(), shared.available_bytes.load())) {
            if (!shared.reserved_bytes.compare_exchange_weak(address, begin + size)) continue;
            address = begin;
            break;
        }
        if (shared.refused != 0) {
            base::fail_system({"no work unit can be committed", "there is no memory for more keys and summaries",
                               "free some of /dev/shm, or give units shorter summaries"},
                              ENOSPC);
        }
        for (auto wanted = shared.wanted_bytes.load();
             wanted < size && !shared.wanted_bytes.compare_exchange_weak(wanted, size);) {
        }
        if (while_waiting) while_waiting();
        backoff.pause();
        address = shared.reserved_bytes;
    }
    auto const id = static_cast<UnitEntryId>(address / kUnit + 1);
    auto& entry = *new (&at(id)) UnitEntry{};
    entry.key_bytes = key.is_integer ? kIntegerKey : static_cast<std::uint32_t>(key.text.size());
    entry.key = key.is_integer ? key.integer : static_cast<std::int64_t>(key.hash());
    entry.summary_bytes = static_cast<std::uint32_t>(summary.size());
    auto* const more = reinterpret_cast<char*>(&entry + 1);
    key.text.copy(more, key.text.size());
    summary.copy(more + key.text.size(), summary.size());
    return id;
}

std::uint64_t UnitTable::hash(UnitEntryId id) const {
    auto const& entry = at(id);
    return entry.key_bytes == kIntegerKey ? UnitKey(entry.key).hash() : static_cast<std::uint64_t>(entry.key);
}

bool UnitTable::has_key(UnitEntry const& entry, UnitKey const& key, std::uint64_t hash) const {
    if (key.is_integer) return entry.key_bytes == kIntegerKey && entry.key == key.integer;
    if (entry.key_bytes != key.text.size() || entry.key != static_cast<std::int64_t>(hash)) return false;
    return std::memcmp(&entry + 1, key.text.data(), key.text.size()) == 0;
}

// A damaged chain may lead back to itself.
void UnitTable::check_steps(std::uint64_t steps) const {
    if (steps > head().available_bytes / sizeof(UnitEntry)) fail_damaged("a chain of entries has no end");
}

UnitEntryId UnitTable::find_in_chain(UnitEntryId first, UnitKey const& key, std::uint64_t hash) const {
    auto id = first;
    for (std::uint64_t steps = 0; id != 0 && !has_key(at(id), key, hash); ++steps) {
        check_steps(steps);
        id = at(id).next.load(std::memory_order_relaxed);
    }
    return id;
}

bool UnitTable::link(UnitEntryId id, std::uint32_t parts) {
    auto& entry = at(id);
    THALWEG_ASSERT(entry.next == 0 && entry.parts == 0, "an entry of the table of units is linked once");
    entry.parts = parts;
    auto const wanted = key(id);
    auto const hashed = hash(id);
    auto& chain = bucket(hashed);
    auto first = chain.load(std::memory_order_acquire);
    while (true) {
        if (find_in_chain(first, wanted, hashed) != 0) return false;
        entry.next.store(first, std::memory_order_relaxed);
        // If another worker links an entry in front of ours first, this fails, and we look through the chain again.
        if (chain.compare_exchange_weak(first, id, std::memory_order_acq_rel, std::memory_order_acquire)) break;
    }
    return true;
}

std::optional<UnitEntryId> UnitTable::find(UnitKey const& key) const {
    auto const hashed = key.hash();
    auto const id = find_in_chain(bucket(hashed).load(std::memory_order_acquire), key, hashed);
    return id == 0 ? std::nullopt : std::optional(id);
}

bool UnitTable::is_linked(UnitEntryId entry) const { return find(key(entry)) == entry; }

std::vector<UnitKey> UnitTable::all_keys() const {
    std::vector<UnitKey> keys;
    for (std::uint64_t i = 0; i < kBuckets; ++i) {
        for (auto id = bucket(i).load(std::memory_order_acquire); id != 0; id = at(id).next.load()) {
            check_steps(keys.size());
            keys.push_back(key(id));
        }
    }
    return keys;
}

UnitKey UnitTable::key(UnitEntryId id) const {
    auto const& entry = whole(id);
    if (entry.key_bytes == kIntegerKey) return {entry.key};
    return {std::string(reinterpret_cast<char const*>(&entry + 1), entry.key_bytes)};
}

std::uint64_t UnitTable::size_bytes(UnitEntryId id) const {
    auto const& entry = whole(id);
    return entry_bytes(entry.key_bytes == kIntegerKey ? 0 : entry.key_bytes, entry.summary_bytes);
}

std::string_view UnitTable::summary(UnitEntryId id) const {
    auto const& entry = whole(id);
    auto const key_bytes = entry.key_bytes == kIntegerKey ? 0 : entry.key_bytes;
    return {reinterpret_cast<char const*>(&entry + 1) + key_bytes, entry.summary_bytes};
}

} // namespace thalweg::dataset
