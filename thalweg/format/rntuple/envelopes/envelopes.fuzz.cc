// Whatever the content of an envelope: parsed, or refused; and what is parsed is written as it will be parsed again.
// Build with -DTHALWEG_FUZZ=ON and clang.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/envelopes/bytes.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/schema/schema.h"

namespace thalweg::format::rntuple {
namespace {

// A content without type, length and checksum would hardly ever get past them.
std::vector<std::byte> to_envelope(std::uint64_t type, std::span<std::byte const> content) {
    LittlePutter to;
    to.put<std::uint64_t>(type | (content.size() + 16) << 16);
    to.put_bytes(content);
    to.put<std::uint64_t>(base::xxh3(to.bytes()));
    return to.release();
}

template <class Parse> void check(Parse const& parse, std::uint64_t type, std::span<std::byte const> content) {
    try {
        auto const parsed = parse(to_envelope(type, content), "x");
        auto const written = to_envelope(parsed);
        if (to_envelope(parse(written, "x")) != written) std::abort(); // bytes: a range may be no number
    } catch (base::DataError const&) {
    }
}

} // namespace
} // namespace thalweg::format::rntuple

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using namespace thalweg::format::rntuple;
    auto const content = std::as_bytes(std::span(data, size));
    check(parse_header, 1, content);
    check(parse_footer, 2, content);
    check(parse_page_list, 3, content);
    try {
        auto const header = parse_header(to_envelope(1, content), "x");
        auto const table = read_table("t", header, header.schema);
        if (table.sources.size() != table.columns.size()) std::abort();
    } catch (thalweg::base::DataError const&) {
    }
    return 0;
}
