// For any bytes: either fragments follow each other and their payloads lie inside them, or DataError is thrown. Build
// with -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/readout/fragment.h"
#include "thalweg/base/error.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace thalweg;
    auto rest = std::as_bytes(std::span(data, size));
    try {
        while (!rest.empty()) {
            readout::FragmentView const view(rest);
            auto const body = view.body();
            std::size_t used = 0;
            for (auto const& payload : view.payloads()) {
                auto const end = payload.bytes.data() + payload.bytes.size();
                if (payload.bytes.data() < body.data() || end > body.data() + body.size()) std::abort();
                used += payload.bytes.size();
            }
            if (used > body.size()) std::abort(); // they overlap
            rest = rest.subspan(view.bytes().size());
        }
    } catch (base::DataError const&) {
    }
    return 0;
}
