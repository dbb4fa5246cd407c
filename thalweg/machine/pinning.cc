#include "thalweg/machine/pinning.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sched.h>

#include "thalweg/base/error.h"

namespace thalweg::machine {
namespace {

constexpr std::size_t kMostProcessors = 8192; // the most for which Linux can be built

// The kernel's format: a bit for each processor.
using Mask = std::array<unsigned long, kMostProcessors / (8 * sizeof(unsigned long))>;
constexpr std::size_t kBitsOfWord = 8 * sizeof(unsigned long);

Mask mask_of(std::vector<std::uint32_t> const& processors) {
    Mask mask{};
    for (auto const number : processors) {
        if (number < kMostProcessors) mask[number / kBitsOfWord] |= 1ul << number % kBitsOfWord;
    }
    return mask;
}

int set_mask(Mask const& mask) {
    return ::sched_setaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t const*>(mask.data())) == 0 ? 0 : errno;
}

Mask mask_of_this_thread() {
    Mask mask{};
    if (::sched_getaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) != 0) {
        base::fail_system({"cannot read the processors of this thread"}, errno);
    }
    return mask;
}

} // namespace

std::string processors_text(std::vector<std::uint32_t> processors) {
    std::ranges::sort(processors);
    std::string text;
    for (std::size_t i = 0, end = 0; i < processors.size(); i = end) {
        for (end = i + 1; end < processors.size() && processors[end] <= processors[end - 1] + 1;) ++end;
        auto const last = processors[end - 1];
        text += (text.empty() ? "" : ",") + std::to_string(processors[i]);
        if (last != processors[i]) text += "-" + std::to_string(last);
    }
    return text;
}

void pin_this_thread(std::vector<std::uint32_t> const& processors) {
    if (processors.empty()) return;
    auto const before = mask_of_this_thread();
    auto const wanted = mask_of(processors);
    int error = std::ranges::max(processors) < kMostProcessors ? set_mask(wanted) : EINVAL;
    // The kernel drops processors that it does not have or may not give, and reports success while one is left.
    if (error == 0 && mask_of_this_thread() != wanted) {
        set_mask(before);
        error = EINVAL;
    }
    if (error == 0) return;
    base::fail_system({"cannot pin a thread to the processors " + processors_text(processors),
                       error == EINVAL ? "this process may not use all of them" : "",
                       "see `thalweg readout plan` for those that it may use"},
                      error);
}

std::vector<std::uint32_t> processors_of_this_thread() {
    auto const mask = mask_of_this_thread();
    std::vector<std::uint32_t> processors;
    for (std::uint32_t number = 0; number < kMostProcessors; ++number) {
        if ((mask[number / kBitsOfWord] >> number % kBitsOfWord & 1) != 0) processors.push_back(number);
    }
    return processors;
}

} // namespace thalweg::machine
