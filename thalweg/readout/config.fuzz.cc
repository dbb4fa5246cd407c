// For any text: either the handlers fulfil what `validate` promises, or UsageError is thrown. Build with
// -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/readout/config.h"
#include "thalweg/base/error.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace thalweg;
    try {
        for (auto const& handler : readout::parse_config({reinterpret_cast<char const*>(data), size})) {
            readout::validate(handler);
            if (readout::index_bytes(handler) == 0 || !(readout::depth_s(handler) > 0)) std::abort();
        }
    } catch (base::UsageError const&) {
    }
    return 0;
}
