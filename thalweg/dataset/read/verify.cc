#include "thalweg/dataset/read/verify.h"

#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/parallel.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/file_checksum.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/format/read_scratch.h"

namespace thalweg::dataset {
namespace {

constexpr std::size_t kMessages = 100;

struct PageOfColumn {
    std::size_t table;
    std::size_t column;
    model::Page page;
};

class Verifier {
  public:
    Verifier(std::string const& path, std::function<void(double)> const& progress)
        : reader_(Reader::open(path, true)), file_(&reader_->file()), progress_(progress) {
        result_.open_run = reader_->is_open_run();
        if (result_.open_run)
            report_damaged_pages();
        else
            result_.left_out = reader_->left_out();
        for (std::size_t table = 0; table < reader_->tables().size(); ++table) {
            for (std::size_t column = 0; column < reader_->tables()[table].columns.size(); ++column) {
                add_column(table, column);
            }
        }
    }

    Verification run(unsigned threads) {
        base::parallel_for(items_.size(), threads > 0 ? threads : base::usable_cores(),
                           [&](std::size_t i) { check(items_[i]); });
        THALWEG_ASSERT(result_.pages == items_.size(), "every page is checked once");
        if (!result_.open_run) check_container();
        return std::move(result_);
    }

  private:
    // The journal of an open run names these pages, and they cannot be read: they lie beyond the end of a file that was
    // cut, for example.
    void report_damaged_pages() {
        auto const& run = reader_->report();
        if (run.damaged_pages == 0) return;
        for (auto const& note : run.notes) report(note);
        result_.faults = run.damaged_pages;
    }

    void add_column(std::size_t table, std::size_t column) {
        try {
            for (auto const& page : reader_->column(table, column).pages) add({table, column, page});
        } catch (base::DataError const& error) { // its pages cannot be found
            report(error.what());
        }
    }

    void add(PageOfColumn const& item) {
        if (item.page.place != model::Page::Place::file)
            return; // the journal's own checksums were compared by reading it
        if (!items_.empty() && items_.back().page.offset == item.page.offset) return; // a page cut in two
        total_bytes_ += item.page.stored_bytes;
        items_.push_back(item);
    }

    void check(PageOfColumn const& item) {
        std::string fault;
        KnownBytes known;
        try {
            auto page = item.page;
            std::optional<std::size_t> decoded_bytes; // what has a checksum is but read
            if (!page.checksum && !page.checksum_follows) decoded_bytes = 0;
            format::ReadScratch const scratch(page, decoded_bytes);
            auto& decoder = scratch.decoder();
            auto const stored = decoder.stored(page, *file_, true);
            if (page.checksum_follows) page.checksum = base::xxh3(stored); // it has just been compared
            known = known_page(page, base::adler32(1, stored), page.checksum_follows);
            if (!page.checksum && page.encoded) decode(decoder, item);
        } catch (base::Error const& error) {
            fault = error.what();
        }
        base::Lock const lock(mutex_);
        ++result_.pages;
        result_.bytes += item.page.stored_bytes;
        if (!item.page.checksum && !item.page.checksum_follows) ++result_.pages_without_checksum;
        if (fault.empty()) {
            known_.push_back(known);
        } else {
            report(fmt::format("table '{}', column '{}', items {} to {}: {}",
                               reader_->head().schema.tables[item.table].name,
                               reader_->head().columns[item.table][item.column].path, item.page.first,
                               item.page.first + item.page.count, fault));
        }
        if (progress_)
            progress_(total_bytes_ == 0 ? 1.0 : static_cast<double>(result_.bytes) / static_cast<double>(total_bytes_));
    }

    // A page without a checksum of ours may have one within its codec, and most damaged pages cannot be decoded.
    void decode(format::PageDecoder& decoder, PageOfColumn const& item) const {
        auto const& column = reader_->head().columns[item.table][item.column];
        format::StoredColumn const stored{column, reader_->column(item.table, item.column),
                                          reader_->head().layouts[item.table].columns[item.column].codec};
        auto page = item.page;
        page.checksum_follows = false;
        static_cast<void>(
            decoder.raw(page, *file_, {column.scalar, stored.unit_bytes()}, stored.codec_of(page), false));
    }

    void check_container() {
        try {
            format_of(*file_).check(*file_);
        } catch (base::DataError const& error) {
            report(error.what());
        } catch (base::UsageError const&) {
            if (!reader_->head().id.empty()) throw;
            // Another program wrote it: there is nothing that it would have to agree with.
        }
        result_.file_bytes = file_->size();
        result_.adler32 = file_adler32(*file_, std::move(known_));
    }

    void report(std::string message) {
        ++result_.faults;
        if (result_.messages.size() < kMessages) result_.messages.push_back(std::move(message));
    }

    std::unique_ptr<Reader> reader_;
    storage::Storage const* file_; // of the reader: what is checked is the file that was opened
    std::function<void(double)> const& progress_;
    std::vector<PageOfColumn> items_;
    std::uint64_t total_bytes_ = 0;
    base::Mutex mutex_; // guards all below
    std::vector<KnownBytes> known_;
    Verification result_;
};

} // namespace

Verification verify(std::string const& path, unsigned threads, std::function<void(double)> const& progress) {
    return Verifier(path, progress).run(threads);
}

} // namespace thalweg::dataset
