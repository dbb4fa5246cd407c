#include "thalweg/base/huge_pages.h"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/stand_in.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // of Linux 6.1, which may be newer than the headers
#endif

namespace thalweg::base {
namespace {

// The kernel would collapse memory all the same.
bool are_switched_off() {
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled"); // "always madvise [never]"
    std::string const text(std::istreambuf_iterator<char>(setting), {});
    return text.find("[never]") != std::string::npos;
}

// The first line of a mapping is "7f0000000000-7f0000200000 rw-p ...".
bool begins_mapping_of(std::string const& line, std::uint64_t address) {
    std::istringstream text(line);
    std::uint64_t first = 0, end = 0;
    char dash = 0;
    return text >> std::hex >> first >> dash >> end && dash == '-' && first <= address && address < end;
}

// The other lines are "Rss:    2048 kB".
bool is_kib(std::string const& line, std::string const& name, std::uint64_t& kib) {
    std::istringstream text(line);
    std::string word;
    return text >> word && word == name && text >> kib;
}

} // namespace

void advise_huge_pages(std::span<std::byte> memory) {
    if (!memory.empty()) ::madvise(memory.data(), memory.size(), MADV_HUGEPAGE);
}

HugePages move_into_huge_pages(std::span<std::byte> memory) {
    static bool const switched_off = are_switched_off();
    THALWEG_ASSERT(reinterpret_cast<std::uint64_t>(memory.data()) % kHugePageBytes == 0, "huge pages are aligned");
    THALWEG_ASSERT(memory.size() % kHugePageBytes == 0, "huge pages are whole");
    if (switched_off || stand_in != nullptr) return HugePages::none;
    if (::madvise(memory.data(), memory.size(), MADV_COLLAPSE) == 0) return HugePages::all;
    return errno == EAGAIN || errno == EBUSY ? HugePages::busy : HugePages::none;
}

bool is_in_huge_pages(std::span<std::byte const> memory) {
    if (stand_in != nullptr) return false; // what a seed plays must not depend on this machine
    std::ifstream maps("/proc/self/smaps");
    auto const address = reinterpret_cast<std::uint64_t>(memory.data());
    std::uint64_t touched_kib = 0, huge_kib = 0;
    for (std::string line; std::getline(maps, line);) {
        if (!begins_mapping_of(line, address)) continue;
        while (std::getline(maps, line))
            if (!is_kib(line, "Rss:", touched_kib) && is_kib(line, "AnonHugePages:", huge_kib)) break;
        return huge_kib > 0 && 2 * huge_kib >= touched_kib;
    }
    return false;
}

} // namespace thalweg::base
