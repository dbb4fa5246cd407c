#include "thalweg/dataset/complete/journal_facts.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"
#include "thalweg/dataset/complete/file_checksum.h"
#include "thalweg/dataset/journal/page_of.h"
#include "thalweg/dataset/run/unit_group.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kLimit = std::numeric_limits<std::uint64_t>::max() / 4;

} // namespace

void JournalFacts::fail(JournalRecord const& record, std::string const& why) const {
    base::fail_data({fmt::format("{}: the record at offset {} is left out", path_, record.payload_offset), why});
}

template <typename Record> Record JournalFacts::take(JournalRecord const& record, std::size_t at) const {
    Record value;
    if (record.payload.size() < at + sizeof value) fail(record, "it is too short");
    std::memcpy(&value, record.payload.data() + at, sizeof value);
    return value;
}

bool JournalFacts::read(JournalRecord const& record) {
    if (!head) {
        read_head(record);
        return true;
    }
    tally.add(record.type, record.payload);
    try {
        read_behind_head(record);
    } catch (base::DataError const& error) {
        notes.emplace_back(error.what());
    }
    return true;
}

void JournalFacts::read_behind_head(JournalRecord const& record) {
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
    case RecordType::abandoned:
        read_abandoned(record);
        break;
    case RecordType::barrier:
        read_barrier(record);
        break;
    case RecordType::metadata:
        read_metadata(record);
        break;
    case RecordType::closed:
        closed = settled = true;
        break;
    case RecordType::unit:
        read_unit(record);
        break;
    case RecordType::footer:
        read_footer(record);
        break;
    case RecordType::voided_page:
        ++taken_back;
        voided_pages.insert(take<VoidedPageRecord>(record).offset);
        break;
    case RecordType::voided_unit:
        ++taken_back;
        read_voided_unit(record);
        break;
    case RecordType::segment:
        read_segment(record);
        break;
    case RecordType::resumed:
        resumed_at_ = record.end_offset;
        settled = false;
        ++taken_back;
        read_resumed(record);
        break;
    case RecordType::settled:
        settled = true;
        break;
    case RecordType::kept:
        ++taken_back;
        read_kept(record);
        break;
    case RecordType::region:
        read_region(record);
        break;
    } // A record of a later version has another number: it says more than this version knows, and nothing less.
}

void JournalFacts::read_head(JournalRecord const& record) {
    if (record.type != RecordType::head) {
        base::fail_data({path_ + " cannot be read", "its first record is not the head of a run"});
    }
    auto const* text = reinterpret_cast<char const*>(record.payload.data());
    head = model::run_head_from_json({text, record.payload.size()});
    metadata = head->metadata;
}

void JournalFacts::read_producer(JournalRecord const& record) {
    auto const value = take<ProducerRecord>(record);
    if (value.table >= head->schema.tables.size()) fail(record, "its producer is of no table");
    if (producers.contains(value.producer)) return; // admitted again by `recover`
    auto const columns = head->columns[value.table].size();
    auto& producer = producers[value.producer];
    producer.table = value.table;
    producer.of_units = value.of_units != 0;
    producer.pages.resize(columns);
    producer.waiting.resize(columns);
    producer.durable_items.resize(columns);
    producer.seen.items.resize(columns);
}

ProducerFacts& JournalFacts::producer_of(std::uint32_t index, std::uint32_t column, JournalRecord const& record) {
    auto const found = producers.find(index);
    if (found == producers.end() || column >= found->second.pages.size()) {
        fail(record, "it is of no known producer and column");
    }
    return found->second;
}

void JournalFacts::check(Page const& page, std::size_t table, std::uint32_t column, JournalRecord const& record) const {
    auto const item_bytes = head->columns[table][column].item_bytes();
    auto const& layout = head->layouts[table];
    // Pages that were copied from another file, in containers with clusters, are as large as they were there.
    auto const most_items = layout.cluster_bytes > 0 ? kLimit : layout.columns[column].page_items;
    bool const sound = page.count > 0 && page.first < kLimit && page.count <= kLimit / item_bytes &&
                       page.raw_bytes == page.count * item_bytes && page.offset < kLimit &&
                       page.stored_bytes < kLimit && (page.encoded || page.stored_bytes == page.raw_bytes) &&
                       (page.place == Page::Place::journal || page.count <= most_items);
    if (!sound) fail(record, "its sizes are impossible");
}

void JournalFacts::see(ProducerFacts& producer, std::uint32_t column, Page const& page) const {
    if (head->columns[producer.table][column].parent) return;
    producer.rows_seen = std::max(producer.rows_seen, page.first + page.count);
}

void JournalFacts::read_pages(JournalRecord const& record) {
    for (std::size_t at = 0; at + sizeof(PageRecord) <= record.payload.size(); at += sizeof(PageRecord)) {
        auto const value = take<PageRecord>(record, at);
        if (value.column == kClusterEnd) {
            if (value.count == 0 || value.first >= kLimit) fail(record, "its cluster is impossible");
            auto& ended = producer_of(value.producer, 0, record).ended;
            ended.try_emplace(value.first, EndedCluster{value.count, value.cluster, clusters_++, value.encoded != 0});
            continue;
        }
        if (!keeps_pages) continue;
        auto& producer = producer_of(value.producer, value.column, record);
        auto const page = page_of(value, head->columns[producer.table][value.column], head->layouts[producer.table]);
        check(page, producer.table, value.column, record);
        see(producer, value.column, page);
        auto& pages = producer.pages[value.column];
        pages.push_back(page);
        known.push_back(known_page(page, value.adler32, head->layouts[producer.table].cluster_bytes > 0));
        announced.push_back({value.producer, value.column, pages.size() - 1, record.end_offset});
    }
    THALWEG_ASSERT(announced.size() == known.size(), "every page that was announced has its checksum");
}

void JournalFacts::read_rows(JournalRecord const& record) {
    auto const value = take<RowsRecord>(record);
    auto& producer = producer_of(value.producer, value.column, record);
    auto const bytes = record.items_bytes;
    Page const page{value.first, value.count,  0,     record.items_address, bytes,
                    bytes,       std::nullopt, false, Page::Place::journal};
    check(page, producer.table, value.column, record);
    see(producer, value.column, page);
    auto& waiting = producer.waiting[value.column];
    waiting.push_back(page);
    announced_rows.push_back({value.producer, value.column, waiting.size() - 1, record.end_offset});
}

void JournalFacts::read_finish(JournalRecord const& record) {
    auto const value = take<FinishRecord>(record);
    producer_of(value.producer, 0, record).finish = value;
}

void JournalFacts::read_abandoned(JournalRecord const& record) {
    auto const value = take<AbandonedRecord>(record);
    if (record.payload.size() < sizeof value + std::uint64_t{value.reason_bytes}) fail(record, "it is too short");
    auto const* const text = reinterpret_cast<char const*>(record.payload.data()) + sizeof value;
    producer_of(value.producer, 0, record).abandoned = base::readable({text, value.reason_bytes});
}

void JournalFacts::read_barrier(JournalRecord const& record) {
    auto const covered = take<BarrierRecord>(record).covered_bytes;
    if (covered > covered_bytes_) covered_before_ = std::exchange(covered_bytes_, covered);
}

namespace {

std::uint32_t text_bytes(UnitRecord const& record) { return record.key_bytes == kIntegerKey ? 0 : record.key_bytes; }

// The bytes behind the record are there.
UnitKey key_of(UnitRecord const& value, JournalRecord const& record) {
    auto const* const text = reinterpret_cast<char const*>(record.payload.data()) + sizeof value;
    return value.key_bytes == kIntegerKey ? UnitKey(value.key) : UnitKey(std::string(text, value.key_bytes));
}

} // namespace

void JournalFacts::read_voided_unit(JournalRecord const& record) {
    auto const value = take<UnitRecord>(record);
    if (record.payload.size() < sizeof value + text_bytes(value)) fail(record, "it is too short");
    auto const found = unit_indices_.find(key_of(value, record));
    if (found == unit_indices_.end()) return;
    units[found->second].parts_wanted = 0; // of no parts: left out below
    units[found->second].parts.clear();
    unit_indices_.erase(found);
}

void JournalFacts::read_unit(JournalRecord const& record) {
    auto const value = take<UnitRecord>(record);
    auto const key_bytes = text_bytes(value);
    auto const size = sizeof value + key_bytes + std::uint64_t{value.summary_bytes};
    auto const longest = head->keys_per_group > 0 ? kLongestGroupBytes : kLongestSummaryBytes;
    bool const sound = key_bytes <= kLongestKeyBytes && value.summary_bytes <= longest &&
                       record.payload.size() >= size && value.parts > 0 && value.first_row < kLimit &&
                       value.rows < kLimit;
    if (!sound) fail(record, "its work unit is impossible");
    static_cast<void>(producer_of(value.producer, 0, record));
    auto const* const text = reinterpret_cast<char const*>(record.payload.data()) + sizeof value;
    auto const key = key_of(value, record);
    auto const [found, is_new] = unit_indices_.try_emplace(key, units.size());
    if (is_new) units.push_back({key, {}, value.parts, {}});
    auto& unit = units[found->second];
    UnitPart const part{value.producer, value.first_row, value.rows};
    if (std::find(unit.parts.begin(), unit.parts.end(), part) != unit.parts.end()) return; // again, by `recover`
    unit.parts.push_back(part);
    if (value.summary_bytes > 0) unit.summary.assign(text + key_bytes, value.summary_bytes);
}

void JournalFacts::read_footer(JournalRecord const& record) {
    auto const value = take<FooterRecord>(record);
    if (value.offset >= kLimit || value.size_bytes >= kLimit) fail(record, "its interim footer is impossible");
    footers_end = std::max(footers_end, value.offset + value.size_bytes);
}

void JournalFacts::read_segment(JournalRecord const& record) {
    auto const value = take<SegmentRecord>(record);
    if (value.over != 0)
        segments.erase(value.segment);
    else
        segments.emplace(value.segment, record.payload_offset);
}

void JournalFacts::read_kept(JournalRecord const& record) {
    auto const value = take<KeptRecord>(record);
    auto& producer = producer_of(value.producer, 0, record);
    Ranges kept;
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < value.ranges; ++i) {
        auto const first = take<std::uint64_t>(record, sizeof value + i * 16);
        auto const rows = take<std::uint64_t>(record, sizeof value + i * 16 + 8);
        if (first < end || first >= kLimit || rows >= kLimit) fail(record, "its ranges are impossible");
        append_range(kept, first, rows);
        end = first + rows;
    }
    producer.kept = std::move(kept);
}

void JournalFacts::read_region(JournalRecord const& record) {
    auto const value = take<RegionRecord>(record);
    if (value.used_end >= kLimit) fail(record, "its region is impossible");
    auto const found = std::ranges::find(regions, value.region, &RegionUse::region);
    if (found == regions.end())
        regions.push_back({value.region, value.used_end, value.over != 0});
    else
        *found = {value.region, value.used_end, value.over != 0};
}

// A sync that fails may leave its BARRIER on the disk without some of the records in front of it. It is the last sync
// of its run, so that the BARRIER before says what was durable. If more is damaged than that, the disk has failed
// since.
std::optional<std::uint64_t> JournalFacts::durable_end(std::span<std::uint64_t const> damaged) const {
    auto end = covered_bytes_;
    for (auto const offset : damaged) {
        if (offset < resumed_at_ || offset >= covered_bytes_) continue;
        if (offset < covered_before_) return std::nullopt;
        end = covered_before_;
    }
    return end;
}

void JournalFacts::find_durable_items(std::span<std::uint64_t const> damaged) {
    auto const end = durable_end(damaged);
    if (!end) return;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Ranges> early; // behind a gap, as they come
    std::pair<std::uint32_t, ProducerFacts*> last{0, nullptr};       // mostly the next is of the same one
    auto const facts_of = [&](Announced const& each) -> ProducerFacts& {
        if (last.second == nullptr || last.first != each.producer) last = {each.producer, &producers.at(each.producer)};
        return *last.second;
    };
    auto const add = [&](Announced const& each, Page const& page) {
        auto& items = facts_of(each).durable_items[each.column];
        if (page.first <= items)
            items = std::max(items, page.first + page.count);
        else
            early[{each.producer, each.column}].push_back({page.first, page.count});
    };
    for (auto const& each : announced) {
        if (each.record_end <= *end) add(each, facts_of(each).pages[each.column][each.index]);
    }
    for (auto const& each : announced_rows) {
        if (each.record_end <= *end) add(each, facts_of(each).waiting[each.column][each.index]);
    }
    for (auto& [key, ranges] : early) {
        auto& items = producers.at(key.first).durable_items[key.second];
        std::sort(ranges.begin(), ranges.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
        for (auto const& range : ranges) {
            if (range.first <= items) items = std::max(items, range.first + range.count);
        }
    }
}

void JournalFacts::forget_durable_items() {
    for (auto& [number, producer] : producers) std::ranges::fill(producer.durable_items, 0);
}

// The record is empty in journals of older versions: the knobs are those of the head then.
void JournalFacts::read_resumed(JournalRecord const& record) {
    auto const* text = reinterpret_cast<char const*>(record.payload.data());
    auto const json = nlohmann::json::parse(text, text + record.payload.size(), nullptr, false);
    if (!json.is_object()) return;
    auto const knobs = json.find("knobs"), engine = json.find("engine");
    auto const lost_now = json.value("lost", nlohmann::json::array());
    for (auto const& each : lost_now) {
        if (each.is_string() && std::ranges::find(lost, each.get<std::string>()) == lost.end()) lost.push_back(each);
    }
    if (engine != json.end() && engine->is_string()) head->engine = engine->get<std::string>();
    if (knobs == json.end() || !knobs->is_object()) return;
    head->knobs.clear();
    for (auto const& [name, value] : knobs->items()) {
        if (value.is_string()) head->knobs[name] = value.get<std::string>();
    }
}

void JournalFacts::read_metadata(JournalRecord const& record) {
    auto const* text = reinterpret_cast<char const*>(record.payload.data());
    auto const json = nlohmann::json::parse(text, text + record.payload.size(), nullptr, false);
    if (!json.is_object()) fail(record, "it is no JSON object");
    for (auto const& [key, value] : json.items()) {
        if (value.is_string()) metadata[key] = value.get<std::string>();
    }
}

} // namespace thalweg::dataset
