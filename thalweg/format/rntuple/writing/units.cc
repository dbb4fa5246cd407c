#include "thalweg/format/rntuple/writing/units.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"

namespace thalweg::format::rntuple {
namespace {

constexpr char const* kWhat = "the table of work units cannot be read";
constexpr std::uint64_t kMostShrinking = 1 << 18; // of zstd: a damaged size must not ask for all the memory there is

std::unique_ptr<codec::Codec> make_units_codec() { return codec::make_codec(codec::Spec::parse("zstd-1"), 1); }

} // namespace

StoredUnits append_units(std::span<std::byte const> units, BlobWriter& writer) {
    StoredUnits stored{units.size(), base::xxh3(units), {}};
    auto const codec = make_units_codec();
    std::vector<std::byte> encoded(codec->bound_bytes(std::min<std::uint64_t>(units.size(), kUnitsPieceBytes)));
    while (!units.empty()) {
        auto const piece = units.first(std::min<std::uint64_t>(units.size(), kUnitsPieceBytes));
        auto const size_bytes = codec->encode(piece, encoded);
        stored.pieces.push_back(
            writer.add_page(size_bytes == 0 ? piece : std::span<std::byte const>(encoded).first(size_bytes)));
        units = units.subspan(piece.size());
    }
    return stored;
}

std::vector<std::byte> read_units(storage::Storage const& file, StoredUnits const& stored) {
    auto const pieces = stored.bytes / kUnitsPieceBytes + (stored.bytes % kUnitsPieceBytes != 0 ? 1 : 0);
    if (pieces != stored.pieces.size() || stored.bytes / kMostShrinking > file.size()) {
        base::fail_data({kWhat, fmt::format("{} bytes are said to lie in {} pieces", stored.bytes, pieces)});
    }
    std::vector<std::byte> units(stored.bytes);
    std::vector<std::byte> encoded;
    auto const codec = make_units_codec();
    auto rest = std::span(units);
    for (auto const& [offset, stored_bytes] : stored.pieces) {
        auto const piece = rest.first(std::min<std::uint64_t>(rest.size(), kUnitsPieceBytes));
        if (stored_bytes > piece.size() || offset > file.size() || stored_bytes > file.size() - offset) {
            base::fail_data(
                {kWhat, fmt::format("{} bytes would lie at offset {} of {}", stored_bytes, offset, file.size())});
        }
        encoded.resize(stored_bytes);
        file.read(offset, encoded);
        if (stored_bytes == piece.size()) {
            std::ranges::copy(encoded, piece.begin());
        } else {
            codec->decode(encoded, piece);
        }
        rest = rest.subspan(piece.size());
    }
    if (!units.empty() && base::xxh3(units) != stored.checksum) {
        base::fail_data({kWhat, "its checksum does not fit: it is damaged"});
    }
    return units;
}

} // namespace thalweg::format::rntuple
