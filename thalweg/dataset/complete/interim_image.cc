#include "thalweg/dataset/complete/interim_image.h"

#include <filesystem>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/journal/journal_moment.h"

namespace thalweg::dataset {
namespace {

// If they are made once more for another place, they may become a little larger: numbers that are offsets of pages do
// not shrink equally well.
constexpr std::uint64_t kColumnBytes = 1024;
constexpr std::uint64_t kSlackBytes = 4096, kSlackPart = 32;

std::vector<std::uint64_t> what_counts(Gathered const& gathered) {
    std::vector<std::uint64_t> counts{gathered.units.size(), gathered.facts.metadata.size()};
    for (auto const& table : gathered.report.tables) counts.push_back(table.rows);
    return counts;
}

std::string open_note(std::string const& path, std::uint64_t shown, std::uint64_t appended) {
    auto const name = std::filesystem::path(path).filename().string();
    return fmt::format("This run was still open at {}, and this is not all of it: {} of the {} rows that were appended "
                       "by then are not in it, and none that came later. If no process writes the run any more, "
                       "run `thalweg recover {}`.",
                       base::utc_now(), appended - std::min(appended, shown), appended, name);
}

} // namespace

// Until some were made: objects of HDF5 take some hundred bytes each.
std::uint64_t InterimImage::least_bytes(model::RunHead const& head) {
    std::uint64_t columns = 8;
    for (auto const& table : head.columns) columns += table.size();
    return columns * kColumnBytes;
}

std::uint64_t InterimImage::prepare(Known const& known) {
    JournalMoment const moment{known.journal_end, known.last_segment, known.last_segment_end};
    gathered_ = gather(journal_at(journal_, moment), *run_.file, RunState::open);
    auto& facts = gathered_->facts;
    counts_ = what_counts(*gathered_);
    if (shown_ == counts_) return 0;
    std::uint64_t rows = 0;
    for (auto const& table : gathered_->report.tables) rows += table.rows;
    facts.open_note = open_note(run_.path(), rows, std::max(rows, earlier_rows_ + known.rows_appended));
    facts.units = encode_units(place_units(gathered_->units, gathered_->head, facts));
    make(base::round_up(std::max(run_.ledger->head().claimed.load(), facts.end_offset), base::kBlockBytes));
    room_bytes_ = expected_bytes_ + expected_bytes_ / kSlackPart + kSlackBytes;
    return room_bytes_;
}

void InterimImage::make(std::uint64_t offset) {
    THALWEG_ASSERT(offset >= gathered_->facts.end_offset, "interim metadata lies behind every page that it names");
    offset_ = offset;
    gathered_->facts.end_offset = offset;
    made_.emplace(run_.file, offset);
    run_.format->complete(*made_, *gathered_->rows, gathered_->head, gathered_->facts);
    expected_bytes_ = made_->tail().size();
}

bool InterimImage::write(storage::Storage& file, std::uint64_t offset) {
    THALWEG_ASSERT(made_.has_value(), "interim metadata are prepared before they are written");
    if (offset != offset_) make(offset);
    if (expected_bytes_ > room_bytes_) return false;
    file.write_beside_queues(offset, made_->tail());
    made_->read(*run_.format->interim_sector(), sector_);
    made_.reset();
    gathered_.reset();
    return true;
}

void InterimImage::publish(storage::Storage& file) {
    file.write_beside_queues(*run_.format->interim_sector(), sector_);
    shown_ = counts_;
}

std::unique_ptr<format::InterimMetadata> make_interim_metadata(OpenRun const& run, JournalFiles const& journal,
                                                               std::uint64_t earlier_rows) {
    if (run.node) return nullptr;
    if (auto footers = run.format->interim_footers(run.head)) return footers;
    if (!run.format->interim_sector()) return nullptr;
    return std::make_unique<InterimImage>(run, journal, earlier_rows);
}

} // namespace thalweg::dataset
