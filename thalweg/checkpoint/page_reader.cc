#include "thalweg/checkpoint/page_reader.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/scratch.h"
#include "thalweg/checkpoint/pieces.h"
#include "thalweg/codec/codec.h"

namespace thalweg::checkpoint {
namespace {

bool meet(Box const& a, Box const& b) {
    for (std::size_t axis = 0; axis < a.start.size(); ++axis) {
        if (a.end(axis) <= b.start[axis] || b.end(axis) <= a.start[axis]) return false;
    }
    return true;
}

std::string damage(std::string const& path, Reading const& reading, PagePiece const& piece) {
    return fmt::format("{}: {} bytes at offset {}, of the elements {} of '{}', are not as they were written", path,
                       piece.size_bytes, piece.offset, reading.page->box.text(), reading.array->name);
}

// Throws base::SystemError if they cannot be read at all.
bool read_piece(storage::Storage const& file, Reading const& reading, std::size_t number, PagePiece const& piece,
                std::span<std::byte> out) {
    file.read(piece.offset, out);
    return base::xxh3(out) == reading.page->checksums.at(number);
}

void check_piece(storage::Storage const& file, Reading const& reading, std::size_t number, PagePiece const& piece,
                 std::span<std::byte> out) {
    if (read_piece(file, reading, number, piece, out)) return;
    base::fail_data({damage(file.path(), reading, piece), "",
                     "restore with verify=True, which takes an earlier checkpoint if this one is damaged"});
}

// Kept for the next page that the thread reads.
thread_local base::Scratch stored_scratch, raw_scratch;

void read_encoded(storage::Storage const& file, Reading const& reading, Overlap const& overlap,
                  std::uint64_t element_bytes) {
    auto const& page = *reading.page;
    std::span const stored(stored_scratch.of(page.stored_bytes), page.stored_bytes);
    auto const pieces = pieces_of(page.offset, page.stored_bytes);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        auto const at = pieces[i].offset - page.offset;
        check_piece(file, reading, i, pieces[i], stored.subspan(at, pieces[i].size_bytes));
    }
    auto const raw_bytes = reading.array->page_bytes(*reading.part, page);
    std::span const raw(raw_scratch.of(raw_bytes), raw_bytes);
    codec::make_codec(codec::Spec::parse(reading.array->codec), element_bytes)->decode(stored, raw);
    overlap.from_page(0, raw);
}

} // namespace

std::vector<Reading> readings_of(StoredArray const& array) {
    std::vector<Reading> readings;
    for (auto const& part : array.parts) {
        for (auto const& page : part.pages) {
            auto const pieces = page.encoded ? 1 : page.checksums.size();
            for (std::size_t i = 0; i < pieces; ++i) readings.push_back({&array, &part, &page, i});
        }
    }
    return readings;
}

std::string why_damaged(storage::Storage const& file, Reading const& reading) {
    auto const& page = *reading.page;
    auto const end = page.encoded ? page.checksums.size() : reading.piece + 1;
    for (auto i = reading.piece; i < end; ++i) {
        auto const piece = piece_of(page.offset, page.stored_bytes, i);
        std::span const bytes(stored_scratch.of(kPieceBytes), piece.size_bytes);
        try {
            if (!read_piece(file, reading, i, piece, bytes)) return damage(file.path(), reading, piece);
        } catch (base::SystemError const& error) { // beyond its end, or the device cannot read it
            return error.what();
        }
    }
    return {};
}

void read_into(storage::Storage const& file, Reading const& reading, Memory const& memory) {
    auto const& page = *reading.page;
    if (!meet(page.box, memory.box)) return;
    auto const element_bytes = model::size_bytes(reading.array->scalar);
    Overlap const overlap(page.box, reading.array->page_shape(*reading.part, page), memory, element_bytes);
    if (page.encoded) return read_encoded(file, reading, overlap, element_bytes);
    auto const piece = piece_of(page.offset, page.stored_bytes, reading.piece);
    auto const begin = piece.offset - page.offset;
    if (!overlap.has_any(begin, begin + piece.size_bytes)) return;
    if (overlap.is_whole())
        return check_piece(file, reading, reading.piece, piece, {overlap.data() + begin, piece.size_bytes});
    std::span const bytes(stored_scratch.of(kPieceBytes), piece.size_bytes);
    check_piece(file, reading, reading.piece, piece, bytes);
    overlap.from_page(begin, bytes);
}

} // namespace thalweg::checkpoint
