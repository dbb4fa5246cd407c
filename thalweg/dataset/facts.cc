#include "thalweg/dataset/facts.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/coverage.h"
#include "thalweg/dataset/page_of.h"
#include "thalweg/dataset/whole_rows.h"

namespace thalweg::dataset {
namespace {

// As its producer announced it.
struct EndedCluster {
    std::uint64_t rows = 0;
    std::uint64_t pages = 0;
    std::uint64_t order = 0;
};

struct ProducerFacts {
    std::size_t table = 0;
    std::map<std::uint64_t, EndedCluster> ended; // by first row
    std::vector<std::vector<Page>> pages;        // by column
    std::vector<std::vector<Page>> waiting;      // journaled as rows
    std::uint64_t rows_seen = 0;                 // behind the last row of which anything is here
    std::optional<FinishRecord> finish;
};

// Where a page was announced.
struct Announced {
    std::uint32_t producer;
    std::uint32_t column;
    std::size_t index;
    std::uint64_t record_end;
};

class JournalReader {
  public:
    explicit JournalReader(std::string path) : path_(std::move(path)) {}

    // What makes no sense is left out and noted: a power cut may have taken the record that would explain it.
    bool read(RecordView const& record) {
        if (!head) {
            read_head(record);
            return true;
        }
        try {
            read_behind_head(record);
        } catch (base::DataError const& error) {
            notes.push_back(error.what());
        }
        return true;
    }

    // Whether a BARRIER says that the page is on the disk.
    bool is_durable(Announced const& page) const { return page.record_end <= covered_bytes_; }

    std::optional<model::RunHead> head;
    std::map<std::uint32_t, ProducerFacts> producers;
    std::map<std::string, std::string> metadata;
    std::vector<Announced> announced;
    std::vector<KnownBytes> known; // of the same pages
    std::vector<std::string> notes;
    bool closed = false;

  private:
    void read_behind_head(RecordView const& record) {
        switch (record.type) {
        case RecordType::head:
            break; // there is one already
        case RecordType::producer:
            read_producer(record);
            break;
        case RecordType::pages:
            read_pages(record);
            break;
        case RecordType::rows:
            read_rows(record);
            break;
        case RecordType::finish:
            read_finish(record);
            break;
        case RecordType::barrier:
            read_barrier(record);
            break;
        case RecordType::metadata:
            read_metadata(record);
            break;
        case RecordType::closed:
            closed = true;
            break;
        default:
            break; // of a later version: more than we know, not less
        }
    }

    [[noreturn]] void fail(RecordView const& record, std::string const& why) const {
        base::fail_data({fmt::format("{}: the record at offset {} is left out", path_, record.payload_offset), why});
    }

    template <typename Record> Record take(RecordView const& record, std::size_t at = 0) const {
        Record value;
        if (record.payload.size() < at + sizeof value) fail(record, "it is too short");
        std::memcpy(&value, record.payload.data() + at, sizeof value);
        return value;
    }

    void read_head(RecordView const& record) {
        if (record.type != RecordType::head) {
            base::fail_data({path_ + " cannot be read", "its first record is not the head of a run"});
        }
        auto const* text = reinterpret_cast<char const*>(record.payload.data());
        head = model::run_head_from_json({text, record.payload.size()});
        metadata = head->metadata;
    }

    void read_producer(RecordView const& record) {
        auto const value = take<ProducerRecord>(record);
        if (value.table >= head->schema.tables.size()) fail(record, "its producer is of no table");
        if (producers.contains(value.producer)) return; // admitted again by `recover`
        auto const columns = head->columns[value.table].size();
        producers[value.producer] = {
            value.table, {},          std::vector<std::vector<Page>>(columns), std::vector<std::vector<Page>>(columns),
            0,           std::nullopt};
    }

    ProducerFacts& producer_of(std::uint32_t index, std::uint32_t column, RecordView const& record) {
        auto const found = producers.find(index);
        if (found == producers.end() || column >= found->second.pages.size()) {
            fail(record, "it is of no known producer and column");
        }
        return found->second;
    }

    // Sizes that fit together, so that nobody behind us has to ask again.
    void check(Page const& page, std::size_t table, std::uint32_t column, RecordView const& record) const {
        auto const item_bytes = head->columns[table][column].item_bytes();
        auto constexpr kLimit = std::numeric_limits<std::uint64_t>::max() / 4;
        bool const sound =
            page.count > 0 && page.first < kLimit && page.count <= kLimit / item_bytes && page.offset < kLimit &&
            page.stored_bytes < kLimit && (page.encoded || page.stored_bytes == page.raw_bytes) &&
            (page.place == Page::Place::journal || page.count <= head->layouts[table].columns[column].page_items);
        if (!sound) fail(record, "its sizes are impossible");
    }

    void see(ProducerFacts& producer, std::uint32_t column, Page const& page) const {
        if (head->columns[producer.table][column].parent) return;
        producer.rows_seen = std::max(producer.rows_seen, page.first + page.count);
    }

    void read_pages(RecordView const& record) {
        for (std::size_t at = 0; at + sizeof(PageRecord) <= record.payload.size(); at += sizeof(PageRecord)) {
            auto const value = take<PageRecord>(record, at);
            if (value.column == kClusterEnd) {
                auto& ended = producer_of(value.producer, 0, record).ended;
                ended.try_emplace(value.first, EndedCluster{value.count, value.cluster, clusters_++});
                continue;
            }
            auto& producer = producer_of(value.producer, value.column, record);
            auto const page =
                page_of(value, head->columns[producer.table][value.column], head->layouts[producer.table]);
            check(page, producer.table, value.column, record);
            see(producer, value.column, page);
            auto& pages = producer.pages[value.column];
            pages.push_back(page);
            known.push_back({page.offset, page.stored_bytes, value.adler32});
            announced.push_back({value.producer, value.column, pages.size() - 1, record.end_offset});
        }
    }

    void read_rows(RecordView const& record) {
        auto const value = take<RowsRecord>(record);
        auto& producer = producer_of(value.producer, value.column, record);
        auto const bytes = record.payload.size() - sizeof value;
        Page const page{value.first, value.count,         0, record.payload_offset + sizeof value, bytes, bytes, 0,
                        false,       Page::Place::journal};
        check(page, producer.table, value.column, record);
        see(producer, value.column, page);
        producer.waiting[value.column].push_back(page);
    }

    void read_finish(RecordView const& record) {
        auto const value = take<FinishRecord>(record);
        producer_of(value.producer, 0, record).finish = value;
    }

    void read_barrier(RecordView const& record) {
        covered_bytes_ = std::max(covered_bytes_, take<BarrierRecord>(record).covered_bytes);
    }

    void read_metadata(RecordView const& record) {
        auto const* text = reinterpret_cast<char const*>(record.payload.data());
        auto const json = nlohmann::json::parse(text, text + record.payload.size(), nullptr, false);
        if (!json.is_object()) fail(record, "it is no JSON object");
        for (auto const& [key, value] : json.items()) {
            if (value.is_string()) metadata[key] = value.get<std::string>();
        }
    }

    std::string path_;
    std::uint64_t covered_bytes_ = 0;
    std::uint64_t clusters_ = 0;
};

// Why a page cannot be trusted; no reason: it can.
struct Doubt {
    std::string reason;
    bool unreadable = false;
};

Doubt doubt(Page const& page, storage::Storage const& file, std::uint64_t file_bytes, bool check_bytes,
            std::vector<std::byte>& scratch) {
    if (page.offset + page.stored_bytes > file_bytes) return {"lies beyond the end of the file"};
    if (!check_bytes) return {};
    scratch.resize(page.stored_bytes);
    try {
        file.read(page.offset, scratch);
    } catch (base::SystemError const& error) {
        if (!is_bad_medium(error)) throw;
        return {fmt::format("cannot be read ({})", error.what()), true};
    }
    if (base::xxh3(scratch) == page.checksum) return {};
    return {"is not what its checksum says"};
}

void leave_out_bad_pages(JournalReader& journal, storage::Storage const& file, bool check_pages, Report& report) {
    auto const file_bytes = file.size();
    std::vector<std::byte> scratch;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> bad;
    for (std::size_t i = 0; i < journal.announced.size(); ++i) {
        auto const& each = journal.announced[i];
        auto const& producer = journal.producers.at(each.producer);
        auto const& page = producer.pages[each.column][each.index];
        bool const check_bytes = check_pages && !journal.is_durable(each);
        auto const [reason, unreadable] = doubt(page, file, file_bytes, check_bytes, scratch);
        if (reason.empty()) continue;
        // What cannot be read cannot be summed up again, either: what its producer wrote there is all that is known.
        if (!unreadable) journal.known[i] = {};
        bad[{each.producer, each.column}].push_back(each.index);
        ++report.damaged_pages;
        report.notes.push_back(fmt::format(
            "table '{}', column '{}': the page at offset {} {}; its {} of rows is left out",
            journal.head->schema.tables[producer.table].name, journal.head->columns[producer.table][each.column].path,
            page.offset, reason, journal.head->layouts[producer.table].cluster_bytes > 0 ? "cluster" : "block"));
    }
    for (auto const& [key, indices] : bad) {
        auto& pages = journal.producers.at(key.first).pages[key.second];
        for (auto index = indices.rbegin(); index != indices.rend(); ++index)
            pages.erase(pages.begin() + static_cast<std::ptrdiff_t>(*index));
    }
}

// Of a container with clusters: those that ended with all their pages, and of the rows behind them those that are
// whole. Where some page is missing nobody knows which elements the rows behind the last end begin with: they are lost.
std::vector<model::Cluster> keep_clusters(ProducerFacts const& producer, WholeRows const& finder,
                                          std::string const& table, Report& report) {
    std::map<std::uint64_t, std::uint64_t> pages;
    for (auto const& column : finder.part.columns) {
        for (auto const& page : column) {
            if (page.place == Page::Place::file) ++pages[page.cluster];
        }
    }
    std::vector<model::Cluster> kept;
    std::uint64_t end = 0;
    bool damaged = false;
    for (auto const& [first, cluster] : producer.ended) {
        damaged = damaged || first != end;
        end = first + cluster.rows;
        if (pages[first] == cluster.pages) {
            kept.push_back({first, cluster.rows, cluster.order, true});
            continue;
        }
        damaged = true;
        report.notes.push_back(
            fmt::format("table '{}': rows {} to {} of producer {} are left out (pages of that cluster "
                        "are missing)",
                        table, first, end, finder.part.producer));
    }
    auto constexpr kLast = std::numeric_limits<std::uint64_t>::max();
    auto const published = producer.finish ? producer.finish->rows : kLast;
    if (damaged || published <= end) return kept;
    for (auto const& range : finder.find()) {
        auto const range_end = std::min(range.first + range.count, published);
        if (range.first <= end && range_end > end) kept.push_back({end, range_end - end, kLast, false});
    }
    return kept;
}

// Rows that are in no page belong behind the last cluster that ended.
void adopt_rows(ProducerFacts& producer) {
    if (producer.ended.empty()) return;
    auto const& [first, cluster] = *producer.ended.rbegin();
    for (auto& column : producer.waiting) {
        for (auto& page : column) page.cluster = first + cluster.rows;
    }
}

void add_part(ProducerFacts& producer, std::uint32_t index, JournalReader const& journal, storage::Storage const& file,
              storage::Storage const& journal_file, bool is_over, model::RunFacts& facts, Report& report) {
    auto const& head = *journal.head;
    auto const& columns = head.columns[producer.table];
    auto const& layout = head.layouts[producer.table];
    auto& table = report.tables[producer.table];
    model::Part part;
    part.producer = index;
    if (layout.cluster_bytes > 0) adopt_rows(producer);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        for (auto const& page : producer.pages[i]) {
            facts.end_offset = std::max(facts.end_offset, page.offset + page.stored_bytes);
            table.raw_bytes += page.raw_bytes;
            table.stored_bytes += page.stored_bytes;
            ++report.pages;
        }
        part.columns.push_back(merged(std::move(producer.pages[i]), std::move(producer.waiting[i])));
    }
    WholeRows const finder{columns,     layout, part, file, journal_file, head.schema.tables[producer.table].name,
                           report.notes};
    if (layout.cluster_bytes > 0) {
        part.clusters = keep_clusters(producer, finder, table.table, report);
        for (auto const& cluster : part.clusters) append_range(part.rows, cluster.first_row, cluster.rows);
    } else {
        auto valid = finder.find();
        if (producer.finish) valid = intersect(valid, {{0, producer.finish->rows}});
        part.rows = keep_blocks(valid, layout.block_rows);
    }
    auto const rows = total(part.rows);
    table.rows += rows;
    if (producer.finish)
        table.lost_rows += producer.finish->rows - rows;
    else if (is_over)
        table.lost_rows += producer.rows_seen - rows;
    ++report.producers;
    if (!producer.finish || producer.finish->died != 0) ++report.producers_lost;
    facts.tables[producer.table].push_back(std::move(part));
}

} // namespace

Gathered gather(storage::Storage const& journal_file, storage::Storage const& file, bool check_pages) {
    JournalReader journal(journal_file.path());
    auto const damage = read_journal(journal_file, [&](RecordView const& record) { return journal.read(record); });
    if (!journal.head) base::fail_data({journal_file.path() + " cannot be read", "it holds no head of a run"});
    Gathered gathered{*journal.head, {}, {}, {}, journal.closed};
    auto& report = gathered.report;
    if (!damage.reason.empty()) report.notes.push_back(damage.reason);
    report.notes.insert(report.notes.end(), journal.notes.begin(), journal.notes.end());
    for (auto const& table : journal.head->schema.tables) report.tables.push_back({table.name});
    gathered.facts.tables.resize(report.tables.size());
    gathered.facts.metadata = journal.metadata;
    leave_out_bad_pages(journal, file, check_pages, report);
    gathered.known = std::move(journal.known);
    for (auto& [index, producer] : journal.producers) {
        add_part(producer, index, journal, file, journal_file, check_pages, gathered.facts, report);
    }
    return gathered;
}

} // namespace thalweg::dataset
