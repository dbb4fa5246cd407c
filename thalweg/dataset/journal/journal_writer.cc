#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/thread.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/journal/journal_pages.h"
#include "thalweg/dataset/journal/open_segment.h"
#include "thalweg/dataset/journal/rows_in_use.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kReserveBytes = 4 * base::kMiB;
constexpr std::uint64_t kGatheredBytes = base::kMiB;    // of rows, in one record
constexpr std::uint64_t kAloneBytes = 256 * base::kKiB; // such rows have a record to themselves

} // namespace

class JournalWriter::State {
  public:
    State(JournalFiles files, JournalLimits const& limits, JournalStart start, std::uint64_t end)
        : folder_(std::move(files.segments)), limits_(limits), start_(std::move(start)) {
        main_.file = std::move(files.main);
        main_.end = end;
    }

    void append(RecordType type, std::span<std::byte const> payload, std::span<std::byte const> more) {
        base::Lock const lock(mutex_);
        if (type == RecordType::rows && payload.size() == sizeof(RowsRecord)) {
            RowsRecord rows;
            std::memcpy(&rows, payload.data(), sizeof rows);
            gather(rows, main_.end, more);
            return;
        }
        write_gathered();
        tally_.add(type, payload);
        if (type == RecordType::barrier) free_segments();
        if (type == RecordType::pages) {
            auto const pages = pages_in(payload);
            write(main_, type, pack_pages(pages), {});
            if (has_segments()) in_use_.add_pages(pages, main_.end);
            return;
        }
        write(main_, type, payload, more);
        if (type == RecordType::finish) note_finish(payload);
        if (type == RecordType::voided_page) note_voided(payload);
        if (type == RecordType::barrier) note_barrier(payload);
    }

    void keep_rows_in_main() {
        base::Lock const lock(mutex_);
        write_gathered();
        folder_ = nullptr;
    }

    JournalMoment moment() {
        base::Lock const lock(mutex_);
        write_gathered();
        if (later_.empty()) return {main_.end, 0, 0};
        auto const& [number, segment] = *later_.rbegin();
        return {main_.end, number, segment.end};
    }

    std::uint64_t total_bytes() const {
        base::Lock const lock(mutex_);
        auto bytes = main_.end;
        for (auto const& [number, segment] : later_) bytes += segment.end;
        return bytes;
    }

    // The later segments first: a BARRIER in the main journal says that they are durable.
    void sync() {
        base::Lock lock(mutex_);
        write_gathered();
        auto const barriers = barriers_;
        auto const covered = covered_;
        auto const folder = names_;
        std::vector<std::shared_ptr<storage::Storage>> dirty;
        bool is_new = false;
        for (auto& [number, segment] : later_) {
            if (segment.is_dirty) dirty.push_back(segment.file);
            is_new = is_new || segment.is_new;
            segment.is_dirty = segment.is_new = false;
        }
        auto const main = main_.file;
        lock.unlock();
        for (auto const& file : dirty) file->sync();
        if (is_new) folder->sync();
        main->sync();
        lock.lock();
        durable_barriers_ = std::max(durable_barriers_, barriers);
        durable_covered_ = std::max(durable_covered_, covered);
    }

    JournalTally const& tally() const { return tally_; } // for the thread that appends
    void reserve_ahead(std::uint64_t size_bytes) {
        base::Lock const lock(mutex_);
        if (main_.end + size_bytes <= reserved_) return;
        reserved_ = main_.end + reserve_some(size_bytes);
    }

    // Takes over the segments that an earlier writer left.
    void take_over(JournalFiles const& files, JournalDamage const& damage) {
        tally_.damaged_records = damage.damaged_records;
        names_ = files.segments;
        if (!names_) return;
        for (auto& [number, file] : open_segments(files)) {
            next_number_ = number + 1;
            auto const start = read_start(*file);
            auto const kind = segment_kind(start_.preamble, number, *file, start);
            if (kind == SegmentKind::ours) take_over(number, file, start);
            if (kind == SegmentKind::damaged) ++tally_.damaged_records;
        }
        read_journal(files.without_segments(), [this](JournalRecord const& record) {
            tally_.add(record.type, record.payload);
            if (record.type == RecordType::pages) in_use_.add_pages(pages_in(record.payload), record.end_offset);
            if (record.type == RecordType::finish) note_finish(record.payload);
            if (record.type == RecordType::voided_page) note_voided(record.payload);
            if (record.type == RecordType::segment) note_segment(record.payload);
            if (record.type == RecordType::rows) main_.rows_bytes += record.items_bytes;
            return true;
        });
    }

    void begin_segments(std::shared_ptr<SegmentFolder> names) { names_ = std::move(names); }

  private:
    // Reserves more than is needed, so that it lasts a while, or what is needed if the disk has no more.
    std::uint64_t reserve_some(std::uint64_t size_bytes) {
        try {
            main_.file->reserve(main_.end, size_bytes + kReserveBytes);
            return size_bytes + kReserveBytes;
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
            main_.file->reserve(main_.end, size_bytes);
            return size_bytes;
        }
    }

    bool has_segments() const { return names_ != nullptr; }

    void write(OpenSegment& segment, RecordType type, std::span<std::byte const> payload,
               std::span<std::byte const> more) {
        auto const payload_bytes = payload.size() + more.size();
        scratch_.assign(record_bytes(payload_bytes), std::byte{0});
        auto* const body = scratch_.data() + sizeof(RecordHead);
        if (!payload.empty()) std::memcpy(body, payload.data(), payload.size());
        if (!more.empty()) std::memcpy(body + payload.size(), more.data(), more.size());
        auto const head = make_record_head(type, {body, payload_bytes});
        std::memcpy(scratch_.data(), &head, sizeof head);
        THALWEG_ASSERT(segment.end % 8 == 0, "a record begins at a multiple of 8 bytes");
        segment.file->write(segment.end, scratch_);
        segment.end += scratch_.size();
        segment.is_dirty = true;
    }

    void gather(RowsRecord const& rows, std::uint64_t position, std::span<std::byte const> items) {
        if (items.size() >= kAloneBytes) write_gathered();
        pieces_.push_back({rows, items.size(), position});
        items_.insert(items_.end(), items.begin(), items.end());
        if (items.size() >= kAloneBytes || items_.size() >= kGatheredBytes) write_gathered();
    }

    void write_gathered() {
        if (pieces_.empty()) return;
        auto const payload = pack_rows(pieces_, items_);
        auto const [number, segment] = segment_for(payload.size());
        write(*segment, RecordType::rows, payload, {});
        segment->rows_bytes += payload.size();
        for (auto const& piece : pieces_) {
            if (number > 0) in_use_.add_rows(piece.rows, number, stored_share(piece, items_.size(), payload.size()));
        }
        pieces_.clear();
        items_.clear();
    }

    // Number and segment that the next rows go into.
    std::pair<std::uint32_t, OpenSegment*> segment_for(std::uint64_t bytes) {
        if (!folder_ || main_.rows_bytes + bytes <= limits_.main_rows_bytes) return {0, &main_};
        if (current_ != 0 && has_room(later_.at(current_), bytes)) return {current_, &later_.at(current_)};
        if (!add_segment(bytes)) return {0, &main_}; // in which room is reserved
        return {current_, &later_.at(current_)};
    }

    bool has_room(OpenSegment const& segment, std::uint64_t bytes) const {
        return segment.end < limits_.segment_bytes && segment.end + record_bytes(bytes) <= segment.reserved;
    }

    bool add_segment(std::uint64_t bytes) {
        auto const number = next_number_++;
        OpenSegment segment;
        try {
            segment.file = folder_->create(number);
            segment.reserved = std::max(limits_.segment_bytes, kHeadOffset) + record_bytes(bytes);
            segment.file->reserve(0, segment.reserved);
            auto preamble = start_.preamble;
            preamble.segment = number;
            segment.end = write_start(*segment.file, preamble, "");
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code)) throw;
            if (segment.file) folder_->remove(number);
            return false;
        }
        segment.is_dirty = segment.is_new = true;
        note_segment(number, false);
        if (current_ != 0) end_segment(later_.at(current_));
        later_.emplace(number, std::move(segment));
        current_ = number;
        return true;
    }

    // Gives back what was reserved and not used.
    static void end_segment(OpenSegment& segment) { segment.file->resize(segment.end); }

    template <typename Record> static std::optional<Record> record_in(std::span<std::byte const> payload) {
        Record record;
        if (payload.size() < sizeof record) return std::nullopt;
        std::memcpy(&record, payload.data(), sizeof record);
        return record;
    }

    void note_finish(std::span<std::byte const> payload) {
        if (auto const finish = record_in<FinishRecord>(payload)) in_use_.finish(finish->producer);
    }

    void note_voided(std::span<std::byte const> payload) {
        if (auto const voided = record_in<VoidedPageRecord>(payload)) in_use_.void_pages(voided->offset);
    }

    // Numbers are not used twice, also of segments that are gone.
    void note_segment(std::span<std::byte const> payload) {
        if (auto const segment = record_in<SegmentRecord>(payload))
            next_number_ = std::max(next_number_, segment->segment + 1);
    }

    void note_barrier(std::span<std::byte const> payload) {
        auto const barrier = record_in<BarrierRecord>(payload);
        if (!barrier) return;
        ++barriers_;
        covered_ = barrier->covered_bytes;
    }

    void free_segments() {
        if (!has_segments()) return;
        in_use_.cover(durable_covered_);
        for (auto each = later_.begin(); each != later_.end();) {
            auto& [number, segment] = *each;
            bool const is_over = segment.emptied_after != 0;
            if (!is_over && number != current_ && in_use_.needed_of(number).items == 0) give_up(number, segment);
            if (!is_over || segment.emptied_after > durable_barriers_ || !folder_) {
                ++each;
                continue;
            }
            folder_->remove(number);
            each = later_.erase(each);
        }
        for (auto const end = next_number_; folder_ && journal_again(end);) {
        }
    }

    // If more is kept than is needed, journals the rows again that are still needed of the segment that needs the
    // least. `end`: the end of the segments that were there before this began, so that it ends.
    bool journal_again(std::uint32_t end) {
        double needed = 0, taken = 0, least = 1;
        std::uint32_t victim = 0;
        for (auto const& [number, segment] : later_) {
            if (segment.emptied_after != 0) continue;
            auto const here = in_use_.needed_of(number).stored_bytes,
                       bytes = static_cast<double>(segment.end - kHeadOffset);
            needed += here;
            taken += bytes;
            if (number == current_ || number >= end || here >= least * bytes) continue;
            least = here / bytes;
            victim = number;
        }
        if (victim == 0 || taken <= static_cast<double>(limits_.slack_bytes) + 2 * needed) return false;
        copy_needed(later_.at(victim).file);
        give_up(victim, later_.at(victim));
        return true;
    }

    void note_segment(std::uint32_t number, bool over) {
        SegmentRecord const record{number, over ? 1u : 0u};
        write(main_, RecordType::segment, std::as_bytes(std::span(&record, 1)), {});
    }

    // It is removed once the BARRIER that is about to be written is durable: then all know that it is not missing.
    void give_up(std::uint32_t number, OpenSegment& segment) {
        note_segment(number, true);
        in_use_.forget_segment(number);
        segment.emptied_after = barriers_ + 1;
    }

    void copy_needed(std::shared_ptr<storage::Storage> const& file) {
        walk_records(*file, kHeadOffset, [&](WalkedRecord const& record) {
            auto const packed = unpack_rows(record.payload);
            if (packed) copy_needed(*packed, record.payload.subspan(packed->stored_offset));
            return packed.has_value();
        });
        write_gathered();
    }

    void copy_needed(PackedRows const& packed, std::span<std::byte const> stored) {
        std::vector<std::byte> items;
        std::uint64_t at = 0;
        for (auto const& piece : packed.pieces) {
            auto const ranges = in_use_.needed(piece.rows);
            if (!ranges.empty() && items.empty()) items = unpack_items(stored, packed.items_bytes, packed.is_frame);
            auto const item_bytes = piece.bytes / std::max<std::uint64_t>(1, piece.rows.count);
            for (auto const& range : ranges) {
                RowsRecord const rows{piece.rows.producer, piece.rows.column, range.first, range.count};
                gather(rows, piece.position,
                       std::span(items).subspan(at + (range.first - piece.rows.first) * item_bytes,
                                                range.count * item_bytes));
            }
            at += piece.bytes;
        }
    }

    void take_over(std::uint32_t number, std::shared_ptr<storage::Storage> const& file, JournalStart const& start) {
        OpenSegment segment;
        segment.file = file;
        auto const damage = walk_records(*file, start.preamble.records, [&](WalkedRecord const& record) {
            auto const packed = record.type == RecordType::rows ? unpack_rows(record.payload) : std::nullopt;
            if (!packed) return false;
            for (auto const& piece : packed->pieces)
                in_use_.add_rows(piece.rows, number, stored_share(piece, packed->items_bytes, record.payload.size()));
            return true;
        });
        tally_.damaged_records += damage.damaged_records;
        segment.end = damage.end_offset;
        segment.is_dirty = segment.is_new = true; // the dead may not have come to sync it
        later_.emplace(number, std::move(segment));
    }

    mutable base::Mutex mutex_;             // guards everything: sync() comes from another thread
    std::shared_ptr<SegmentFolder> folder_; // where rows may go; none: all stay in the main journal
    std::shared_ptr<SegmentFolder> names_;  // the same, always
    JournalLimits limits_;
    JournalStart start_;
    OpenSegment main_;
    std::map<std::uint32_t, OpenSegment> later_;
    std::uint32_t current_ = 0;
    std::uint32_t next_number_ = 1;
    RowsInUse in_use_;
    std::vector<RowsPiece> pieces_; // gathered, with their items
    std::vector<std::byte> items_;
    std::vector<std::byte> scratch_;
    std::uint64_t reserved_ = 0;
    std::uint64_t barriers_ = 0, durable_barriers_ = 0;
    std::uint64_t covered_ = 0, durable_covered_ = 0;
    JournalTally tally_;
};

JournalWriter::JournalWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
JournalWriter::JournalWriter(JournalWriter&&) noexcept = default;
JournalWriter& JournalWriter::operator=(JournalWriter&&) noexcept = default;
JournalWriter::~JournalWriter() = default;

JournalWriter JournalWriter::begin(JournalFiles const& files, std::string const& head_json, DataFile const& data_file,
                                   JournalLimits const& limits, NodeOfRun const& node) {
    JournalStart start;
    start.preamble = make_preamble(model::run_head_from_json(head_json).id, 0, data_file, node);
    auto const end = write_start(*files.main, start.preamble, head_json);
    JournalWriter journal(std::make_unique<State>(files, limits, std::move(start), end));
    journal.state_->begin_segments(files.segments);
    journal.sync();
    return journal;
}

JournalWriter JournalWriter::resume(JournalFiles const& files, JournalLimits const& limits, std::uint64_t known_end) {
    auto const start = files.required_start();
    auto const begin = std::max(start->preamble.records, known_end);
    auto const damage = walk_records(*files.main, begin, [](WalkedRecord const&) { return true; });
    files.main->resize(damage.end_offset); // nothing behind it may ever be taken for a record
    JournalWriter journal(std::make_unique<State>(files, limits, *start, damage.end_offset));
    journal.state_->take_over(files, damage);
    return journal;
}

void JournalWriter::append(RecordType type, std::span<std::byte const> payload, std::span<std::byte const> more) {
    state_->append(type, payload, more);
}
void JournalWriter::keep_rows_in_main() { state_->keep_rows_in_main(); }
std::uint64_t JournalWriter::size_bytes() { return state_->moment().main_end; }
JournalMoment JournalWriter::moment() { return state_->moment(); }
std::uint64_t JournalWriter::total_bytes() const { return state_->total_bytes(); }
JournalTally JournalWriter::tally() const { return state_->tally(); }
void JournalWriter::sync() { state_->sync(); }
void JournalWriter::reserve_ahead(std::uint64_t size_bytes) { state_->reserve_ahead(size_bytes); }

} // namespace thalweg::dataset
