#include "thalweg/dataset/complete/file_checksum.h"

#include <algorithm>

#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kModulus = 65521; // RFC 1950: the largest prime below 2^16
// Bytes between two pages are read, and much of the regions of several nodes may be a hole.
constexpr std::uint64_t kWorthAskingBytes = 64 * base::kKiB;

} // namespace

// With A the sum of bytes and B the sum of the A's (RFC 1950, section 8.2): every byte of the second piece sees A of
// the first once more, and both pieces began with A = 1.
std::uint32_t combine_adler32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
    std::uint64_t const a1 = first & 0xffff, b1 = first >> 16, a2 = second & 0xffff, b2 = second >> 16;
    auto const a = (a1 + a2 + kModulus - 1) % kModulus;
    auto const b = (b1 + b2 + second_bytes % kModulus * ((a1 + kModulus - 1) % kModulus)) % kModulus;
    return static_cast<std::uint32_t>(b << 16 | a);
}

KnownBytes known_page(model::Page const& page, std::uint32_t adler32, bool checksum_follows) {
    if (!checksum_follows) return {page.offset, page.stored_bytes, adler32};
    auto const checksum = page.checksum.value();
    auto const tail = std::as_bytes(std::span(&checksum, 1));
    return {page.offset, page.stored_bytes + tail.size(),
            combine_adler32(adler32, base::adler32(1, tail), tail.size())};
}

namespace {

// Over zeros alone A stays 1, and B is their number.
std::uint32_t adler32_of_zeros(std::uint64_t size_bytes) {
    return static_cast<std::uint32_t>(size_bytes % kModulus << 16 | 1);
}

} // namespace

std::uint32_t file_adler32(storage::Storage const& file, std::vector<KnownBytes> known) {
    std::sort(known.begin(), known.end(), [](auto const& a, auto const& b) { return a.offset < b.offset; });
    std::vector<std::byte> buffer(base::kMiB);
    std::uint32_t sum = 1;
    std::uint64_t offset = 0;
    auto const read_up_to = [&](std::uint64_t end) {
        while (offset < end) {
            auto const asked = end - offset >= kWorthAskingBytes ? file.hole_at(offset) : 0;
            if (auto const zeros = std::min(asked, end - offset); zeros > 0) {
                sum = combine_adler32(sum, adler32_of_zeros(zeros), zeros);
                offset += zeros;
                continue;
            }
            auto const bytes = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - offset));
            file.read(offset, bytes);
            sum = base::adler32(sum, bytes);
            offset += bytes.size();
        }
    };
    auto const size = file.size();
    for (auto const& piece : known) {
        if (piece.offset < offset || piece.offset + piece.size_bytes > size) continue; // told twice, or cut off
        read_up_to(piece.offset);
        sum = combine_adler32(sum, piece.adler32, piece.size_bytes);
        offset += piece.size_bytes;
    }
    read_up_to(size);
    return sum;
}

} // namespace thalweg::dataset
