#include "thalweg/dataset/journal/journal_rows.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/compressor.h"
#include "thalweg/dataset/journal/varint.h"
#include "thalweg/storage/failure.h"

namespace thalweg::dataset {
namespace {

constexpr int kLevel = 1;
constexpr std::uint32_t kTablePacked = 1, kItemsPacked = 2;
constexpr std::uint64_t kLargestRatio = 1 << 16; // no zstd frame shrinks more
constexpr std::uint64_t kKeptBytes = 64 * base::kMiB;

// A frame of zstd behind `out`, or the bytes themselves; whether it is a frame.
bool append_packed(std::span<std::byte const> bytes, std::vector<std::byte>& out) {
    auto const begin = out.size();
    auto const zstd = codec::make_zstd(kLevel);
    out.resize(begin + zstd->bound_bytes(bytes.size()));
    auto const size = bytes.empty() ? 0 : zstd->compress(bytes, std::span(out).subspan(begin));
    if (size > 0 && size < bytes.size()) {
        out.resize(begin + size);
        return true;
    }
    out.resize(begin);
    out.insert(out.end(), bytes.begin(), bytes.end());
    return false;
}

std::vector<std::byte> table_of(std::span<RowsPiece const> pieces) {
    std::vector<std::byte> bytes;
    VarintWriter out(bytes);
    RowsPiece before;
    for (auto const& piece : pieces) {
        out.difference(piece.rows.producer, before.rows.producer);
        out.difference(piece.rows.column, before.rows.column);
        out.difference(piece.rows.first, before.rows.first);
        out.difference(piece.rows.count, before.rows.count);
        out.difference(piece.bytes, before.bytes);
        out.difference(piece.position, before.position);
        before = piece;
    }
    return bytes;
}

std::optional<std::vector<RowsPiece>> pieces_of(std::span<std::byte const> table, std::uint32_t count) {
    std::vector<RowsPiece> pieces;
    VarintReader in(table);
    RowsPiece before;
    for (std::uint32_t i = 0; i < count && !in.is_bad(); ++i) {
        RowsPiece piece;
        piece.rows.producer = static_cast<std::uint32_t>(in.difference(before.rows.producer));
        piece.rows.column = static_cast<std::uint32_t>(in.difference(before.rows.column));
        piece.rows.first = in.difference(before.rows.first);
        piece.rows.count = in.difference(before.rows.count);
        piece.bytes = in.difference(before.bytes);
        piece.position = in.difference(before.position);
        pieces.push_back(piece);
        before = piece;
    }
    if (in.is_bad() || !in.is_at_end()) return std::nullopt;
    return pieces;
}

bool is_possible(std::uint64_t bytes, std::uint64_t stored_bytes, bool is_frame) {
    return is_frame ? bytes / kLargestRatio <= stored_bytes : bytes == stored_bytes;
}

} // namespace

double stored_share(RowsPiece const& piece, std::uint64_t items_bytes, std::uint64_t payload_bytes) {
    auto const raw = static_cast<double>(piece.bytes);
    auto const all = static_cast<double>(std::max<std::uint64_t>(1, items_bytes));
    return std::min(raw, raw / all * static_cast<double>(payload_bytes));
}

std::vector<std::byte> pack_rows(std::span<RowsPiece const> pieces, std::span<std::byte const> items) {
    auto const table = table_of(pieces);
    std::vector<std::byte> payload(sizeof(RowsHead));
    RowsHead head{static_cast<std::uint32_t>(pieces.size()), 0, table.size(), 0, items.size()};
    if (append_packed(table, payload)) head.packed |= kTablePacked;
    head.table_stored_bytes = payload.size() - sizeof head;
    if (append_packed(items, payload)) head.packed |= kItemsPacked;
    std::memcpy(payload.data(), &head, sizeof head);
    return payload;
}

std::optional<PackedRows> unpack_rows(std::span<std::byte const> payload) {
    RowsHead head;
    if (payload.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, payload.data(), sizeof head);
    auto const rest = payload.size() - sizeof head;
    bool const table_is_frame = (head.packed & kTablePacked) != 0;
    PackedRows packed;
    packed.is_frame = (head.packed & kItemsPacked) != 0;
    if (head.packed > (kTablePacked | kItemsPacked) || head.table_stored_bytes > rest ||
        !is_possible(head.table_bytes, head.table_stored_bytes, table_is_frame))
        return std::nullopt;
    packed.items_bytes = head.items_bytes;
    packed.stored_offset = sizeof head + head.table_stored_bytes;
    packed.stored_bytes = rest - head.table_stored_bytes;
    if (!is_possible(packed.items_bytes, packed.stored_bytes, packed.is_frame)) return std::nullopt;
    try {
        auto const table =
            unpack_items(payload.subspan(sizeof head, head.table_stored_bytes), head.table_bytes, table_is_frame);
        auto pieces = pieces_of(table, head.pieces);
        if (!pieces) return std::nullopt;
        packed.pieces = std::move(*pieces);
    } catch (base::DataError const&) {
        return std::nullopt;
    }
    std::uint64_t bytes = 0;
    for (auto const& piece : packed.pieces) {
        if (piece.bytes > packed.items_bytes - bytes) return std::nullopt;
        bytes += piece.bytes;
    }
    return bytes == packed.items_bytes ? std::optional(std::move(packed)) : std::nullopt;
}

std::vector<std::byte> unpack_items(std::span<std::byte const> stored, std::uint64_t items_bytes, bool is_frame) {
    if (!is_frame) return {stored.begin(), stored.end()};
    std::vector<std::byte> items(items_bytes);
    if (auto const* const why = codec::make_zstd(kLevel)->decompress(stored, items); why != nullptr)
        base::fail_data({"journaled rows cannot be unpacked", why});
    return items;
}

std::uint64_t JournalRows::add(std::shared_ptr<storage::Storage const> segment, PackedRows const& packed,
                               std::uint64_t offset, std::span<std::byte const> payload) {
    auto const begin = size_bytes_;
    if (packed.items_bytes == 0) return begin;
    auto const check = base::xxh3(payload.subspan(packed.stored_offset, packed.stored_bytes));
    stored_.push_back({begin, packed.items_bytes, std::move(segment), offset + packed.stored_offset,
                       packed.stored_bytes, packed.is_frame, check});
    size_bytes_ += packed.items_bytes;
    return begin;
}

std::shared_ptr<JournalRows> JournalRows::with_only(std::span<std::uint64_t const> addresses) const {
    auto rows = std::make_shared<JournalRows>(path_);
    rows->size_bytes_ = size_bytes_;
    for (auto const& each : stored_) {
        auto const address = std::ranges::lower_bound(addresses, each.begin);
        if (address != addresses.end() && *address < each.begin + each.bytes) rows->stored_.push_back(each);
    }
    return rows;
}

std::size_t JournalRows::index_of(std::uint64_t address) const {
    auto const behind = std::ranges::upper_bound(stored_, address, {}, &Stored::begin);
    THALWEG_ASSERT(behind != stored_.begin() && address - (behind - 1)->begin < (behind - 1)->bytes,
                   "every address below the end lies in a record that was kept");
    return static_cast<std::size_t>(behind - stored_.begin()) - 1;
}

// The last ones stay: a reader of one column comes back to the same records for the next column.
JournalRows::Items JournalRows::items_of(std::size_t index) const {
    {
        base::Lock const lock(mutex_);
        auto const found = unpacked_.find(index);
        if (found != unpacked_.end()) return found->second;
    }
    auto const& stored = stored_[index];
    std::vector<std::byte> bytes(stored.stored_bytes);
    stored.segment->read(stored.offset, bytes);
    if (base::xxh3(bytes) != stored.check)
        base::fail_system({fmt::format("{} has changed since it was read", stored.segment->path()),
                           fmt::format("the rows at offset {} are others now", stored.offset)},
                          ENODATA);
    auto items = std::make_shared<std::vector<std::byte> const>(
        stored.is_frame ? unpack_items(bytes, stored.bytes, true) : std::move(bytes));
    base::Lock const lock(mutex_);
    if (!unpacked_.emplace(index, items).second) return items;
    order_.push_back(index);
    unpacked_bytes_ += items->size();
    while (unpacked_bytes_ > kKeptBytes && order_.size() > 1) {
        auto const oldest = unpacked_.extract(order_.front());
        unpacked_bytes_ -= oldest.mapped()->size();
        order_.pop_front();
    }
    return items;
}

void JournalRows::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (offset > size_bytes_ || bytes.size() > size_bytes_ - offset)
        storage::fail_past_end(path_, offset, bytes.size(), size_bytes_);
    if (bytes.empty()) return;
    for (auto index = index_of(offset); !bytes.empty(); ++index) {
        auto const items = items_of(index);
        auto const within = offset - stored_[index].begin;
        auto const count = std::min<std::uint64_t>(bytes.size(), items->size() - within);
        std::memcpy(bytes.data(), items->data() + within, count);
        bytes = bytes.subspan(count);
        offset += count;
    }
}

void JournalRows::write(std::uint64_t offset, std::span<std::byte const> bytes) {
    storage::fail_at("write", path_, offset, bytes.size(), EBADF);
}
void JournalRows::resize(std::uint64_t) { storage::fail_whole("resize", path_, EBADF); }
void JournalRows::reserve(std::uint64_t offset, std::uint64_t size_bytes) {
    storage::fail_at("reserve", path_, offset, size_bytes, EBADF);
}
std::unique_ptr<storage::WriteQueue> JournalRows::write_queue(std::size_t) {
    storage::fail_whole("write", path_, EBADF);
}

} // namespace thalweg::dataset
