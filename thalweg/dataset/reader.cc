#include "thalweg/dataset/reader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>

#include "thalweg/base/error.h"
#include "thalweg/base/parallel.h"
#include "thalweg/dataset/complete.h"
#include "thalweg/dataset/live_map.h"
#include "thalweg/format/page_decoder.h"

namespace thalweg::dataset {
namespace {

std::unique_ptr<storage::Storage> open_journal(std::string const& path) {
    if (!exists(journal_path(path))) return nullptr;
    try {
        return storage::open_file_storage(journal_path(path), storage::OpenMode::read_only, storage::Engine::posix);
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return nullptr; // closed just now
        throw;
    }
}

} // namespace

struct Reader::Task {
    std::size_t table;
    std::size_t column;
    model::Page page;
    std::span<std::byte> out; // exactly the page's `count` items
};

std::unique_ptr<Reader> Reader::open(std::string const& path) {
    if (!exists(path)) base::fail_usage({"cannot open " + path, "there is no such file"});
    std::unique_ptr<Reader> reader(new Reader);
    reader->path_ = path;
    reader->journal_ = open_journal(path);
    reader->file_ = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    if (reader->journal_) {
        auto gathered = gather(*reader->journal_, *reader->file_, false);
        if (!gathered.closed) {
            reader->open_run_ = true;
            reader->map_ = live_map(gathered, *reader->file_, *reader->journal_);
            reader->report_ = std::move(gathered.report);
            return reader;
        }
        reader->journal_.reset();
    }
    reader->map_ = format_for(path).load(*reader->file_);
    return reader;
}

void Reader::plan(std::size_t table, std::size_t column, ItemRange range, std::span<std::byte> out,
                  std::vector<Task>& tasks) const {
    auto const& pages = map_.tables[table].columns[column].pages;
    auto const item_bytes = map_.head.columns[table][column].item_bytes();
    for (auto const& page : model::slice(pages, range.first, range.count)) {
        auto const to = out.subspan((page.first - range.first) * item_bytes, page.count * item_bytes);
        tasks.push_back({table, column, page, to});
    }
}

void Reader::read_page(Task const& task, bool check_checksum) const {
    auto const& column = map_.head.columns[task.table][task.column];
    auto const& storage = task.page.place == model::Page::Place::file ? *file_ : *journal_;
    thread_local format::PageDecoder decoder;
    try {
        decoder.decode(task.page, storage, column, map_.head.layouts[task.table].columns[task.column].codec,
                       check_checksum, task.out);
    } catch (base::DataError const& error) {
        base::fail_data({fmt::format("{}: table '{}', column '{}', items {} to {} cannot be read", path_,
                                     map_.head.schema.tables[task.table].name, column.path, task.page.first,
                                     task.page.first + task.page.count),
                         error.what()});
    }
    bytes_read_ += task.page.stored_bytes;
}

// As the file has them: lengths, or running sums, which files of other programs keep in 4 bytes, too.
std::vector<std::uint64_t> Reader::stored_lengths(std::size_t table, std::size_t column, ItemRange range) const {
    auto const& facts = map_.head.columns[table][column];
    std::vector<std::byte> bytes(range.count * facts.item_bytes());
    std::vector<Task> tasks;
    plan(table, column, range, bytes, tasks);
    base::parallel_for(tasks.size(), base::usable_cores(), [&](std::size_t i) { read_page(tasks[i], true); });
    std::vector<std::uint64_t> values(range.count * facts.values_per_item);
    auto const size = model::size_bytes(facts.scalar);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], bytes.data() + i * size, size);
    return values;
}

ItemRange Reader::elements(std::size_t table, std::size_t column, ItemRange lists) const {
    if (map_.tables.at(table).columns.at(column).cumulative) {
        auto const sum_before = [&](std::uint64_t item) {
            return item == 0 ? 0 : stored_lengths(table, column, {item - 1, 1}).back();
        };
        auto const first = sum_before(lists.first);
        return {first, sum_before(lists.first + lists.count) - first};
    }
    auto const before = stored_lengths(table, column, {0, lists.first});
    auto const within = stored_lengths(table, column, lists);
    return {std::accumulate(before.begin(), before.end(), std::uint64_t{0}),
            std::accumulate(within.begin(), within.end(), std::uint64_t{0})};
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
    if (map_.tables[table].columns[column].cumulative && range.count > 0) {
        auto const values = stored_lengths(table, column, range);
        auto before = elements(table, column, {range.first, 0}).first;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (values[i] < before) {
                base::fail_data({fmt::format("{}: table '{}', column '{}' cannot be read", path_,
                                             map_.head.schema.tables[table].name, facts.path),
                                 fmt::format("its cumulative lengths fall at item {}", range.first + i)});
            }
            auto const length = values[i] - before;
            std::memcpy(out.data() + i * sizeof length, &length, sizeof length);
            before = values[i];
        }
        return;
    }
    std::vector<Task> tasks;
    plan(table, column, range, out, tasks);
    auto const threads = options.threads > 0 ? options.threads : base::usable_cores();
    base::parallel_for(tasks.size(), threads, [&](std::size_t i) { read_page(tasks[i], options.check_checksums); });
}

} // namespace thalweg::dataset
