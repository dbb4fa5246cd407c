#include "thalweg/dataset/journal/journal_walk.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

// Zeros end a segment: space is allocated ahead of need. But a disk may have lost a few blocks in the middle.
constexpr std::uint64_t kLookPastZeros = 256 * base::kKiB;

std::uint32_t head_check(RecordHead const& head) {
    std::uint64_t const fields[] = {head.type, head.payload_bytes, head.payload_check};
    return static_cast<std::uint32_t>(base::xxh3(std::as_bytes(std::span(fields))));
}

// Reads the segment in large blocks, however small the records.
class BlockReader {
  public:
    explicit BlockReader(storage::Storage const& file) : file_(file), size_(file.size()) {}

    // Reads anew from now on: another process may have written meanwhile.
    void forget() { block_.clear(); }

    // Returns nothing if the file ends before.
    std::optional<std::span<std::byte const>> at(std::uint64_t offset, std::uint64_t size_bytes) {
        if (offset > size_ || size_bytes > size_ - offset) return std::nullopt;
        if (offset < begin_ || offset + size_bytes > begin_ + block_.size()) {
            if (!read_block(offset, std::min(std::max(size_bytes, kBlock), size_ - offset)))
                return at(offset, size_bytes);
        }
        return std::span(block_).subspan(offset - begin_, size_bytes);
    }

  private:
    // Returns false if the file has become shorter meanwhile: a close gives back what the journal had allocated ahead.
    bool read_block(std::uint64_t offset, std::uint64_t size_bytes) {
        block_.resize(size_bytes);
        begin_ = offset;
        try {
            file_.read(offset, block_);
            return true;
        } catch (base::SystemError const&) {
            block_.clear();
            auto const size = file_.size();
            if (size >= size_) throw;
            size_ = size;
            return false;
        }
    }

    static constexpr std::uint64_t kBlock = base::kMiB;
    storage::Storage const& file_;
    std::uint64_t size_;
    std::uint64_t begin_ = 0;
    std::vector<std::byte> block_;
};

bool is_zero(RecordHead const& head) { return head.type == 0 && head.payload_bytes == 0 && head.head_check == 0; }

RecordHead head_in(std::span<std::byte const> bytes) {
    RecordHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    return head;
}

// The next place, at or behind `offset` and in front of `end`, that holds a sound record head.
std::optional<std::uint64_t> find_head(BlockReader& reader, std::uint64_t offset, std::uint64_t end) {
    for (; offset < end; offset += 8) {
        auto const bytes = reader.at(offset, sizeof(RecordHead));
        if (!bytes) break;
        auto const head = head_in(*bytes);
        if (head.type != 0 && head.head_check == head_check(head)) return offset;
    }
    return std::nullopt;
}

// Notes a record that may have been just being written when it was read.
struct Doubt {
    std::uint64_t offset;
    JournalDamage before;
};

} // namespace

RecordHead make_record_head(RecordType type, std::span<std::byte const> payload) {
    RecordHead head{static_cast<std::uint32_t>(type), 0, payload.size(), base::xxh3(payload)};
    head.head_check = head_check(head);
    return head;
}

JournalDamage walk_records(storage::Storage const& segment, std::uint64_t begin,
                           std::function<bool(WalkedRecord const&)> const& visit) {
    BlockReader reader(segment);
    JournalDamage damage{0, begin, ""};
    // One read of the file is not of one moment: if a run goes on, it may have the end of what was written between,
    // and not its beginning. So damage in front of a good record is believed when a second read has it, too.
    std::optional<Doubt> doubt;
    std::optional<std::uint64_t> read_twice;
    auto offset = begin, record_offset = begin;
    auto const note = [&](std::uint64_t damaged_offset, char const* reason) {
        if (!doubt && read_twice != record_offset) doubt = {record_offset, damage};
        damage.offsets.push_back(damaged_offset);
        if (!damage.reason.empty()) return;
        damage.reason = fmt::format("{} at offset {} of {}", reason, damaged_offset, segment.path());
        damage.is_at_end = true;
    };
    while (auto const head_bytes = reader.at(offset, sizeof(RecordHead))) {
        record_offset = offset;
        auto const head = head_in(*head_bytes);
        bool const has_good_head = head.head_check == head_check(head) && head.type != 0;
        if (has_good_head && doubt) { // its writer had written all in front of it before
            reader.forget();
            read_twice = offset = doubt->offset;
            damage = std::move(doubt->before);
            doubt.reset();
            continue;
        }
        if (!has_good_head) {
            bool const zero = is_zero(head);
            auto const next = find_head(reader, offset + 8,
                                        zero ? offset + kLookPastZeros : std::numeric_limits<std::uint64_t>::max());
            if (!zero || next) note(offset, "a record head is damaged or was cut");
            if (!next) break;
            offset = *next;
            ++damage.damaged_records;
            continue;
        }
        auto const payload_offset = offset + sizeof(RecordHead);
        auto const payload = reader.at(payload_offset, head.payload_bytes);
        if (!payload) {
            note(offset, "the last record was cut");
            break;
        }
        offset = payload_offset + base::round_up(head.payload_bytes, 8);
        bool const sound = base::xxh3(*payload) == head.payload_check;
        if (sound) {
            damage.end_offset = offset;
            damage.is_at_end = false;
        }
        if (sound && visit({static_cast<RecordType>(head.type), *payload, payload_offset, offset})) continue;
        note(payload_offset, "the content of a record is damaged");
        ++damage.damaged_records;
    }
    return damage;
}

bool has_record(storage::Storage const& segment, std::uint64_t begin) {
    BlockReader reader(segment);
    return find_head(reader, begin, std::numeric_limits<std::uint64_t>::max()).has_value();
}

} // namespace thalweg::dataset
