#include "thalweg/dataset/read/reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>
#include <system_error>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/parallel.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/read/live_map.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/format/format.h"
#include "thalweg/format/read_scratch.h"
#include "thalweg/model/readable_names.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kLengthsAtOnce = 128 << 10; // that are summed up, and not returned
constexpr std::size_t kMostReasons = 8;             // of a file without tables
// Bytes of a far file that are read at once when it is opened, and before pages are decoded.
constexpr std::uint64_t kHeadBytes = 64 * base::kKiB, kTailBytes = 512 * base::kKiB;
constexpr std::uint64_t kFetchedAtOnceBytes = 64 * base::kMiB;

void check_has_tables(std::string const& path, model::RunMap const& map) {
    if (!map.head.schema.tables.empty() || map.left_out.empty()) return;
    std::vector<std::string> reasons;
    for (auto const& each : map.left_out) reasons.push_back(each.str());
    fail_without_tables(path, std::move(reasons));
}

// Returns none if there is none.
Journals journals_of(std::string const& path) {
    try {
        return open_journals(places_of_run(path), storage::OpenMode::read_only);
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return {}; // closed just now
        throw;
    }
}

// Opening a pipe would wait for a writer for ever.
void refuse_what_is_no_file(std::string const& path) {
    if (base::is_directory(path)) base::fail_usage({"cannot open " + path, "it is a folder", "give a file"});
    std::error_code failed;
    if (std::filesystem::is_fifo(path, failed) || std::filesystem::is_socket(path, failed))
        base::fail_usage({"cannot open " + path, "it is a pipe or a socket", "give a file"});
}

} // namespace

void fail_without_tables(std::string const& path, std::vector<std::string> reasons) {
    if (reasons.size() > kMostReasons) {
        reasons[kMostReasons] = fmt::format("and {} more", reasons.size() - kMostReasons);
        reasons.resize(kMostReasons + 1);
    }
    base::fail_data({path + " holds no table", fmt::format("{}", fmt::join(reasons, "; "))});
}

struct Reader::Task {
    std::size_t table;
    std::size_t column;
    Pages pages; // that the piece is of
    format::RequestPiece piece;
};

std::unique_ptr<Reader> Reader::open(std::string const& path, bool even_without_tables) {
    if (!exists(path)) base::fail_usage({"cannot open " + path, "there is no such file"});
    refuse_what_is_no_file(path);
    std::unique_ptr<Reader> reader(new Reader);
    reader->path_ = path;
    auto journals = journals_of(path);
    if (auto steady = journals.empty() ? storage::open_steady_file(path) : nullptr) {
        reader->steady_file_ = steady.get();
        reader->file_ = std::move(steady);
    } else {
        reader->file_ = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    }
    if (!journals.empty()) {
        auto const gathered = gather(journals, *reader->file_, RunState::open);
        // A power cut at the end of its close takes the end of the journal, or later segments, and not the file.
        if (!gathered.closed && !is_complete(*reader->file_, format_of(*reader->file_), gathered.head)) {
            reader->show(gathered, std::move(journals));
            return reader;
        }
    }
    reader->load(format_of(*reader->file_), even_without_tables);
    return reader;
}

std::unique_ptr<Reader> Reader::open_next(std::string const& path, GrowingFacts& facts) {
    std::unique_ptr<Reader> reader(new Reader);
    reader->path_ = path;
    try {
        reader->file_ = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
        return nullptr;
    }
    auto const* const gathered = facts.look(*reader->file_);
    if (gathered == nullptr || gathered->closed) return nullptr;
    if (is_complete(*reader->file_, format_of(*reader->file_), gathered->head)) return nullptr;
    reader->show(*gathered, facts.journals());
    return reader;
}

// Shows a run that is open.
void Reader::show(Gathered const& gathered, Journals journals) {
    open_run_ = true;
    map_ = live_map(gathered, *file_, *gathered.rows);
    journal_ = gathered.rows;
    open_units_ = place_units(gathered.units, gathered.head, gathered.facts);
    order_ = order_of(gathered);
    report_ = gathered.report;
    if (report_.damaged_pages > 0) {
        for (auto const& note : report_.notes) map_.left_out.push_back({path_, note});
    }
    journals_ = std::move(journals);
}

std::unique_ptr<Reader> Reader::open(std::unique_ptr<storage::FarFile> file, bool even_without_tables) {
    std::unique_ptr<Reader> reader(new Reader);
    reader->path_ = file->path();
    reader->far_file_ = file.get();
    auto const size = file->size(), head = std::min(size, kHeadBytes), tail = std::min(size - head, kTailBytes);
    auto const metadata = file->fetch({{0, head}, {size - tail, tail}}); // of most files it is all there
    reader->file_ = std::move(file);
    reader->load(format_of(*reader->file_), even_without_tables);
    return reader;
}

void Reader::load(format::Format const& format, bool even_without_tables) {
    map_ = format.load(*file_);
    model::make_names_readable(map_);
    if (!even_without_tables) check_has_tables(path_, map_);
    late_ = std::make_unique<LatePages>(*file_, format, map_);
    open_run_ = !map_.closed;
    // The writer of an open file keeps it readable while it changes.
    if (steady_file_ != nullptr && !open_run_) steady_file_->hold();
}

std::optional<storage::FileStamp> Reader::state() const {
    if (steady_file_ == nullptr) return std::nullopt;
    return steady_file_->state();
}

void Reader::check_state() const {
    if (steady_file_ != nullptr) steady_file_->check();
}

std::vector<Unit> Reader::units() const {
    if (!open_units_.empty()) return open_units_;
    if (!map_.units_fault.empty())
        base::fail_data({path_ + ": the table of its work units cannot be read", map_.units_fault});
    return decode_units(map_.units);
}

model::TableMap::ColumnMap const& Reader::column(std::size_t table, std::size_t column) const {
    return late_ ? late_->all(table, column) : map_.tables.at(table).columns.at(column);
}

Reader::Pages Reader::pages(std::size_t table, std::size_t column, ItemRange items) const {
    if (late_) return late_->some(table, column, items);
    return {Pages(), &map_.tables.at(table).columns.at(column)};
}

format::StoredColumn Reader::stored_column(std::size_t table, std::size_t column,
                                           model::TableMap::ColumnMap const& pages) const {
    return {map_.head.columns[table][column], pages, map_.head.layouts[table].columns[column].codec};
}

void Reader::plan(std::size_t table, std::size_t column, ItemRange range, std::span<std::byte> out,
                  std::vector<Task>& tasks) const {
    auto const known = pages(table, column, range);
    for (auto& piece : format::plan_pieces(stored_column(table, column, *known), range.first, range.count, out)) {
        tasks.push_back({table, column, known, piece});
    }
}

// Returns how many values of an item the pages of a column count as one.
std::uint64_t Reader::unit_values(std::size_t table, std::size_t column) const {
    return map_.tables[table].columns[column].by_value ? 1 : map_.head.columns[table][column].values_per_item;
}

std::vector<model::Page> Reader::slice(std::size_t table, std::size_t column, ItemRange items) const {
    auto const units = map_.head.columns[table][column].values_per_item / unit_values(table, column);
    return model::slice(pages(table, column, items)->pages, items.first * units, items.count * units);
}

std::uint64_t Reader::page_end(std::size_t table, std::size_t column, std::uint64_t item) const {
    auto const& facts = map_.head.columns.at(table).at(column);
    auto const& pages = this->column(table, column).pages;
    auto const units = facts.values_per_item / unit_values(table, column);
    auto const last = (item + 1) * units - 1;
    auto const page = std::partition_point(pages.begin(), pages.end(),
                                           [&](auto const& each) { return each.first + each.count <= last; });
    bool const tiled = this->column(table, column).tiling.has_value();
    if (page == pages.end() || (page->place == model::Page::Place::nowhere && !tiled)) return item + 1;
    return std::max(item + 1, (page->first + page->count) / units);
}

void Reader::read_page(Task const& task, bool check_checksum) const {
    auto const& page = task.piece.page;
    auto const& storage = page.place == model::Page::Place::journal ? *journal_ : *file_;
    try {
        auto const column = stored_column(task.table, task.column, *task.pages);
        auto const whole_bytes = column.map.tiling ? 0 : task.piece.out.size(); // tiles are copied from a buffer
        format::ReadScratch const scratch(page, whole_bytes);
        format::decode_piece(scratch.decoder(), column, task.piece, storage, check_checksum);
    } catch (base::DataError const& error) {
        base::fail_data(
            {fmt::format("{}: table '{}', column '{}', items {} to {} cannot be read", path_,
                         map_.head.schema.tables[task.table].name, map_.head.columns[task.table][task.column].path,
                         page.first, page.first + page.count),
             error.what()});
    }
    if (page.place != model::Page::Place::nowhere) bytes_read_ += page.stored_bytes;
}

// As the file has them: lengths, or running sums, which files of other programs keep in 4 bytes, too.
std::vector<std::uint64_t> Reader::stored_lengths(std::size_t table, std::size_t column, ItemRange range,
                                                  ReadOptions const& options) const {
    auto const& facts = map_.head.columns[table][column];
    std::vector<std::uint64_t> values(range.count * facts.values_per_item);
    read_stored(table, column, range, values, options);
    return values;
}

void Reader::read_stored(std::size_t table, std::size_t column, ItemRange range, std::span<std::uint64_t> values,
                         ReadOptions const& options) const {
    auto const size = model::size_bytes(map_.head.columns[table][column].scalar);
    auto const bytes = std::as_writable_bytes(values).first(values.size() * size);
    std::vector<Task> tasks;
    plan(table, column, range, bytes, tasks);
    far_file_ ? fetch_and_run(tasks, options) : run(tasks, options);
    if (size < sizeof values[0]) { // from the last one on, so that none is overwritten before its turn
        for (auto i = values.size(); i-- > 0;) {
            std::uint64_t value = 0;
            std::memcpy(&value, bytes.data() + i * size, size);
            values[i] = value;
        }
    }
}

// Returns the sum at the end of the item in front of `item`, in a page of sums: 0 if its cluster begins there.
std::uint64_t Reader::sum_before(std::size_t table, std::size_t column, std::uint64_t item) const {
    if (item == 0) return 0;
    auto const before = slice(table, column, {item - 1, 1}).back();
    auto const here = slice(table, column, {item, 1}).front();
    if (here.skip == 0 && here.sum_before) return *here.sum_before;
    if (!before.sums || before.cluster != here.cluster) return 0;
    return stored_lengths(table, column, {item - 1, 1}, {}).back();
}

ItemRange Reader::elements(std::size_t table, std::size_t column, ItemRange lists) const {
    auto const first = elements_before(table, column, lists.first);
    return {first, elements_before(table, column, lists.first + lists.count) - first};
}

std::uint64_t Reader::elements_before(std::size_t table, std::size_t column, std::uint64_t item) const {
    if (item == 0) return 0;
    auto const last = slice(table, column, {item - 1, 1}).back();
    if (last.sums && !last.sum_before) {
        return first_element(table, column, last.cluster) + stored_lengths(table, column, {item - 1, 1}, {}).back();
    }
    // Lengths, as an open run has them: from the last sums on.
    auto const& pages = this->column(table, column).pages;
    auto first = std::upper_bound(pages.begin(), pages.end(), last.first,
                                  [](std::uint64_t at, auto const& page) { return at < page.first; });
    while (first != pages.begin() && (!(first - 1)->sums || (first - 1)->sum_before)) --first;
    auto sum = elements_before(table, column, first->first);
    auto const values_per_item = map_.head.columns[table][column].values_per_item;
    auto const stretch = std::max<std::uint64_t>(1, kLengthsAtOnce / values_per_item);
    std::vector<std::uint64_t> lengths;
    for (auto at = first->first; at < item; at += stretch) {
        auto const count = std::min(stretch, item - at);
        lengths.resize(count * values_per_item);
        read(table, column, {at, count}, std::as_writable_bytes(std::span(lengths)));
        sum = std::accumulate(lengths.begin(), lengths.end(), sum);
    }
    return sum;
}

// Returns the item with which the elements of a cluster begin: they lie in the first column inside its lists.
std::uint64_t Reader::first_element(std::size_t table, std::size_t column, std::uint64_t cluster) const {
    auto const& columns = map_.head.columns[table];
    auto const inside =
        std::find_if(columns.begin(), columns.end(), [&](auto const& each) { return each.parent == column; });
    auto const index = static_cast<std::size_t>(inside - columns.begin());
    if (!map_.tables[table].columns[index].later.empty()) return 0; // another program's file is one cluster
    auto const& pages = this->column(table, index).pages;
    auto const page =
        std::partition_point(pages.begin(), pages.end(), [&](auto const& each) { return each.cluster < cluster; });
    if (pages.empty()) return 0;
    auto const first = page == pages.end() ? pages.back().first + pages.back().count : page->first;
    return this->column(table, index).by_value ? first / inside->values_per_item : first;
}

// From running sums to lengths, in place; what a piece begins from is looked up while all still are sums.
void Reader::to_lengths(std::size_t table, std::size_t column, ItemRange range, std::span<std::uint64_t> values) const {
    auto const per_unit = unit_values(table, column);
    auto const pieces = slice(table, column, range);
    auto const first = pieces.front().first;
    std::vector<std::uint64_t> before(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (!pieces[i].sums) continue;
        bool const goes_on = i > 0 && pieces[i - 1].sums && pieces[i - 1].cluster == pieces[i].cluster;
        if (i == 0) before[i] = sum_before(table, column, range.first);
        if (i > 0 && pieces[i].sum_before)
            before[i] = *pieces[i].sum_before;
        else if (goes_on)
            before[i] = values[(pieces[i].first - first) * per_unit - 1];
    }
    base::parallel_for(pieces.size(), base::usable_cores(), [&](std::size_t i) {
        if (!pieces[i].sums) return;
        auto sum = before[i];
        for (auto& value : values.subspan((pieces[i].first - first) * per_unit, pieces[i].count * per_unit)) {
            if (value < sum) {
                base::fail_data(
                    {fmt::format("{}: table '{}', column '{}' cannot be read", path_,
                                 map_.head.schema.tables[table].name, map_.head.columns[table][column].path),
                     fmt::format("its cumulative lengths fall between items {} and {}", pieces[i].first,
                                 pieces[i].first + pieces[i].count)});
            }
            value -= std::exchange(sum, value);
        }
    });
}

// Round trips cost more than reading twice as much: all pages of a request are asked for together, up to a bound.
void Reader::fetch_and_run(std::span<Task const> tasks, ReadOptions const& options) const {
    while (!tasks.empty()) {
        std::vector<storage::ByteRange> ranges;
        std::uint64_t bytes = 0;
        std::size_t count = 0;
        for (; count < tasks.size() && (count == 0 || bytes < kFetchedAtOnceBytes); ++count) {
            auto const& page = tasks[count].piece.page;
            if (page.place != model::Page::Place::file) continue;
            auto const end = std::min(page.offset + page.stored_bytes + format::kPageChecksumBytes, file_->size());
            ranges.push_back({page.offset, std::max(end, page.offset) - page.offset});
            bytes += page.stored_bytes;
        }
        auto const fetched = far_file_->fetch(std::move(ranges));
        run(tasks.first(count), options);
        tasks = tasks.subspan(count);
    }
}

std::uint64_t Reader::bytes_of(std::span<Task const> tasks) {
    std::uint64_t bytes = 0;
    for (auto const& task : tasks) bytes += task.piece.out.size();
    return bytes;
}

void Reader::run(std::span<Task const> tasks, ReadOptions const& options) const {
    auto const threads = options.threads > 0 ? options.threads : base::usable_cores();
    base::parallel_for(tasks.size(), threads, [&](std::size_t i) { read_page(tasks[i], options.check_checksums); });
}

void Reader::read(std::size_t table, std::size_t column, ItemRange range, std::span<std::byte> out,
                  ReadOptions const& options) const {
    auto const& facts = map_.head.columns.at(table).at(column);
    bool const is_lengths = facts.role == model::Column::Role::lengths;
    auto const item_bytes = is_lengths ? facts.values_per_item * sizeof(std::uint64_t) : facts.item_bytes();
    if (out.size() != range.count * item_bytes) {
        base::fail_usage({fmt::format("column '{}': {} bytes of room for {} items of {} bytes", facts.path, out.size(),
                                      range.count, item_bytes)});
    }
    if (range.count == 0) return;
    auto const known = pages(table, column, range);
    if (std::ranges::any_of(known->pages, [](auto const& page) { return page.sums; })) {
        std::span const lengths(reinterpret_cast<std::uint64_t*>(out.data()), out.size() / sizeof(std::uint64_t));
        read_stored(table, column, range, lengths, options);
        to_lengths(table, column, range, lengths);
        return;
    }
    std::vector<Task> tasks;
    plan(table, column, range, out, tasks);
    THALWEG_ASSERT(known->tiling || bytes_of(tasks) == out.size(), "the pieces of a request fill its memory exactly");
    far_file_ ? fetch_and_run(tasks, options) : run(tasks, options);
}

} // namespace thalweg::dataset
