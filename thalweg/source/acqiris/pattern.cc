#include "thalweg/source/acqiris/pattern.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "thalweg/source/samples/unpack.h"

namespace thalweg::source::acqiris {
namespace {

// The sum of the steps from sample to sample. A ramp begins again at its lowest value now and then.
std::uint64_t roughness(std::span<std::byte const> packed, std::size_t samples, bool high_first, bool is_signed) {
    std::vector<std::byte> unpacked(samples * sizeof(std::int16_t));
    samples::unpack_of({10, high_first, is_signed})(packed.data(), samples, unpacked.data());
    std::vector<std::int16_t> values(samples);
    std::memcpy(values.data(), unpacked.data(), unpacked.size());
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < samples; ++i) sum += static_cast<std::uint64_t>(std::abs(values[i] - values[i - 1]));
    return sum;
}

} // namespace

std::string better_unpacking(std::span<std::byte const> packed, std::size_t samples, Options const& options) {
    auto const as_set = roughness(packed, samples, options.high_first, options.is_signed);
    auto least = as_set;
    std::string best;
    for (bool const high_first : {false, true}) {
        for (bool const is_signed : {false, true}) {
            auto const sum = roughness(packed, samples, high_first, is_signed);
            if (sum >= least) continue;
            least = sum;
            best =
                fmt::format("sample_order = '{}' and signed = {}", high_first ? "high-first" : "low-first", is_signed);
        }
    }
    return best;
}

} // namespace thalweg::source::acqiris
