#include "thalweg/dataset/journal/journal.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/journal/journal_pages.h"

namespace thalweg::dataset {
namespace {

// Rows of later segments, and the address of their items.
struct MetRows {
    RowsPiece piece;
    std::uint64_t payload_offset;
    std::uint64_t address;
};

class JournalReading {
  public:
    JournalReading(JournalFiles const& files, std::function<bool(JournalRecord const&)> const& visit, JournalRows* rows,
                   std::set<std::uint32_t>* found, JournalPosition& position)
        : files_(files), visit_(visit), rows_(rows), found_(found), position_(position) {}

    JournalDamage read() {
        // First the later segments: a row that leaves one after that is in a page of the main journal before.
        auto const segments = open_segments(files_);
        auto const start = files_.required_start();
        auto const records = start->preamble.records;
        bool const is_first = position_.end_offset == 0;
        if (is_first && !show({RecordType::head, std::as_bytes(std::span(start->head_json)), kHeadOffset, records}))
            return {0, records, "", false};
        for (auto const& [number, segment] : segments) read_segment(start->preamble, number, segment);
        std::erase_if(position_.segments, [&](auto const& each) { return !segments.contains(each.first); });
        std::stable_sort(later_.begin(), later_.end(),
                         [](auto const& a, auto const& b) { return a.piece.position < b.piece.position; });
        auto const begin = std::max(records, position_.end_offset);
        auto damage = walk_records(*files_.main, begin, [&](WalkedRecord const& record) {
            if (ended_) return true;
            show_later(record.payload_offset - sizeof(RecordHead));
            return ended_ || read_record(record);
        });
        show_later(std::numeric_limits<std::uint64_t>::max());
        note(damage);
        damage_.end_offset = position_.end_offset = damage.end_offset;
        damage_.offsets = damage.offsets;
        return damage_;
    }

  private:
    bool show(JournalRecord const& record) {
        if (!ended_ && !visit_(record)) ended_ = true;
        return !ended_;
    }

    void show(MetRows const& met) {
        show({RecordType::rows, std::as_bytes(std::span(&met.piece.rows, 1)), met.payload_offset, met.piece.position,
              met.address, met.piece.bytes});
    }

    // Those that were journaled while the main journal ended at `position`, or before that.
    void show_later(std::uint64_t position) {
        for (; next_ < later_.size() && later_[next_].piece.position <= position; ++next_) show(later_[next_]);
    }

    bool read_record(WalkedRecord const& record) {
        if (record.type == RecordType::pages) {
            auto const pages = unpack_pages(record.payload);
            if (pages) show({record.type, std::as_bytes(std::span(*pages)), record.payload_offset, record.end_offset});
            return pages.has_value();
        }
        if (record.type == RecordType::rows) {
            std::vector<MetRows> met;
            if (!take_rows(record, files_.main, met)) return false;
            for (auto& each : met) {
                each.piece.position = record.end_offset;
                show(each);
            }
            return true;
        }
        show({record.type, record.payload, record.payload_offset, record.end_offset});
        return true;
    }

    bool take_rows(WalkedRecord const& record, std::shared_ptr<storage::Storage const> const& segment,
                   std::vector<MetRows>& met) {
        auto const packed = unpack_rows(record.payload);
        if (!packed) return false;
        auto address = rows_ ? rows_->add(segment, *packed, record.payload_offset, record.payload) : 0;
        for (auto const& piece : packed->pieces) {
            met.push_back({piece, record.payload_offset, address});
            address += piece.bytes;
        }
        return true;
    }

    void read_segment(JournalPreamble const& main, std::uint32_t number,
                      std::shared_ptr<storage::Storage> const& segment) {
        auto const start = read_start(*segment);
        if (start.kind == JournalKind::other_version) require_start(*segment);
        auto const kind = segment_kind(main, number, *segment, start);
        if (kind == SegmentKind::damaged)
            note({1, 0, fmt::format("{} is no segment of this journal", segment->path())});
        if (kind != SegmentKind::ours) return;
        if (found_ != nullptr) found_->insert(number);
        auto& place = position_.segments[number];
        if (!place.file) place.file = segment;
        auto const begin = std::max(start.preamble.records, place.end_offset);
        auto const damage = walk_records(*place.file, begin, [&](WalkedRecord const& record) {
            return record.type == RecordType::rows && take_rows(record, place.file, later_);
        });
        place.end_offset = damage.end_offset;
        damage_.later_bytes += damage.end_offset;
        note(damage);
    }

    void note(JournalDamage const& damage) {
        damage_.damaged_records += damage.damaged_records;
        if (damage.reason.empty()) return;
        // Damage at the end of one file says less than damage in the middle of another.
        if (damage_.reason.empty() || (damage_.is_at_end && !damage.is_at_end)) {
            damage_.reason = damage.reason;
            damage_.is_at_end = damage.is_at_end;
        }
    }

    JournalFiles const& files_;
    std::function<bool(JournalRecord const&)> const& visit_;
    JournalRows* rows_;
    std::set<std::uint32_t>* found_;
    JournalPosition& position_;
    std::vector<MetRows> later_;
    std::size_t next_ = 0;
    bool ended_ = false;
    JournalDamage damage_; // of all that was read
};

} // namespace

bool exists(std::string const& path) { return base::identity_of(path).has_value(); }

std::string journal_path(std::string const& data_path) { return data_path + ".journal"; }

std::optional<std::string> journal_run_id(std::string const& path) {
    try {
        if (!exists(path)) return std::nullopt;
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
        return std::string(require_start(*file).preamble.run_id);
    } catch (base::Error const&) {
        return std::nullopt;
    }
}

model::RunHead read_head(JournalFiles const& files) {
    return model::run_head_from_json(files.required_start()->head_json);
}

model::RunHead read_head(storage::Storage const& journal) {
    return model::run_head_from_json(require_start(journal).head_json);
}

JournalDamage read_journal(JournalFiles const& files, std::function<bool(JournalRecord const&)> const& visit,
                           JournalRows* rows, std::set<std::uint32_t>* found, JournalPosition* position) {
    JournalPosition begin;
    return JournalReading(files, visit, rows, found, position != nullptr ? *position : begin).read();
}

} // namespace thalweg::dataset
