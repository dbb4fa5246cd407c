// For any bytes, either replay accepts the rows, or DataError is thrown. Build with -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/source/compass.h"
#include "thalweg/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace thalweg;
    try {
        auto const bytes = std::as_bytes(std::span(data, size));
        auto const tables = source::parse_compass(bytes, "fuzz", {}).tables;
        if (tables.empty()) return 0; // a file without a record
        auto const source = source::make_replay(tables, {.loops = 2});
        source::Batch batch;
        for (std::size_t i = 0; i < source->streams().size(); ++i)
            for (auto const reader = source->open(i); reader->next(batch, 0);) {
            }
    } catch (base::DataError const&) {
    }
    return 0;
}
