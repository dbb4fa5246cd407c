#include "tests/simulator/shared_names.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <set>
#include <sys/mman.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::simulator {

Arena::Arena() {
    void* const address =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(address);
}

Arena::~Arena() { ::munmap(begin_, kBytes); }

std::span<std::byte> Arena::take(std::size_t size_bytes) {
    auto const size = base::round_up(size_bytes, base::kBlockBytes);
    if (size > kBytes - used_) throw std::bad_alloc();
    std::span const bytes(begin_ + used_, size);
    used_ += size;
    return bytes;
}

void Arena::reset() {
    constexpr std::size_t kKeptBytes = std::size_t{8} << 20; // beyond this size the kernel zeroes faster
    std::memset(begin_, 0, std::min(used_, kKeptBytes));
    if (used_ > kKeptBytes) ::madvise(begin_ + kKeptBytes, used_ - kKeptBytes, MADV_DONTNEED);
    used_ = 0;
}

SharedNames::SharedNames(Arena& arena, MemoryState const& state) : arena_(arena) {
    arena_.reset();
    for (auto const& [name, bytes] : state) {
        auto const segment = arena_.take(bytes.size());
        std::copy(bytes.begin(), bytes.end(), segment.begin());
        segments[name] = segment;
    }
}

std::span<std::byte> SharedNames::create(std::string const& name, std::size_t size_bytes) {
    if (name.empty()) return arena_.take(size_bytes);
    if (segments.contains(name)) base::fail_system({"cannot open /dev/shm/" + name}, EEXIST);
    std::size_t used = size_bytes;
    std::set<std::byte const*> counted; // a segment with two names counts once
    for (auto const& [other, bytes] : segments) used += counted.insert(bytes.data()).second ? bytes.size() : 0;
    if (used > limit_bytes) base::fail_system({"cannot allocate shared memory", "/dev/shm is full"}, ENOSPC);
    return segments[name] = arena_.take(size_bytes);
}

std::span<std::byte> SharedNames::attach(std::string const& name) const {
    auto const found = segments.find(name);
    if (found == segments.end()) base::fail_system({"cannot open /dev/shm/" + name}, ENOENT);
    return found->second;
}

void SharedNames::link(std::string const& name, std::string const& other) {
    if (segments.contains(other)) base::fail_system({"cannot open /dev/shm/" + other}, EEXIST);
    segments[other] = attach(name);
}

std::vector<std::string> SharedNames::list(std::string const& prefix) const {
    std::vector<std::string> names;
    for (auto const& [name, bytes] : segments) {
        if (name.starts_with(prefix)) names.push_back(name);
    }
    return names;
}

MemoryState SharedNames::state() const {
    MemoryState state;
    for (auto const& [name, bytes] : segments) state[name].assign(bytes.begin(), bytes.end());
    return state;
}

} // namespace thalweg::simulator
