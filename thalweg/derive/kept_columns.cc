#include "thalweg/derive/kept_columns.h"

#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/derive/row_filter.h"

namespace thalweg::derive {
namespace {

using format::rntuple::StoredClusters;
using model::Column;
using model::RowRange;

constexpr std::uint64_t kLeastPageBytes = 1 << 10; // raw, of a column in a cluster, on average

bool is_of(Column const& column, std::vector<std::string> const& fields) {
    return std::ranges::find(fields, column.path.substr(0, column.path.find('/'))) != fields.end();
}

bool is_same(Column const& a, Column const& b) {
    return a.path == b.path && a.role == b.role && a.scalar == b.scalar && a.shape == b.shape &&
           a.parent.has_value() == b.parent.has_value();
}

std::span<std::byte const> part_of(std::span<std::byte const> mask, RowRange all, RowRange part) {
    return mask.empty() ? mask : mask.subspan(part.first - all.first, part.count);
}

bool has_all(std::span<std::byte const> mask) {
    return std::ranges::all_of(mask, [](auto each) { return each != std::byte{0}; });
}

} // namespace

std::unique_ptr<KeptColumns> KeptColumns::find(dataset::Reader const& input, std::size_t input_table,
                                               std::shared_ptr<StoredClusters const> stored, model::RunHead const& out,
                                               std::string const& name, std::vector<std::string> const& kept,
                                               CopyPages copy) {
    auto const table = out.schema.table_index(name);
    KeptTable found{input, input_table, out.columns[table], out.layouts[table], {}};
    auto const& there = input.head().columns[input_table];
    for (auto const& column : found.columns) {
        auto& from = found.from.emplace_back();
        if (!is_of(column, kept)) continue;
        auto const same = std::ranges::find_if(there, [&](auto const& each) { return is_same(each, column); });
        if (same == there.end()) return nullptr;
        from = static_cast<std::size_t>(same - there.begin());
    }
    std::unique_ptr<KeptColumns> columns(new KeptColumns(std::move(found), copy));
    if (copy == CopyPages::never || out.layouts[table].cluster_bytes == 0) return columns;
    if (stored) columns->copier_ = std::make_unique<ClusterCopier>(columns->table_, std::move(stored));
    return columns;
}

// The first that begins at this row, or behind it.
std::size_t KeptColumns::next_cluster(std::uint64_t row) const {
    auto const& clusters = copier_->clusters();
    auto const found = std::ranges::partition_point(clusters, [&](auto const& each) { return each.first_entry < row; });
    return static_cast<std::size_t>(found - clusters.begin());
}

void KeptColumns::append(RowRange rows, std::span<std::byte const> mask,
                         std::span<std::span<std::byte const> const> computed, dataset::Producer& to) {
    dataset::RowSlices slices{table_.columns, {}};
    std::size_t next = 0;
    for (auto const& from : table_.from) {
        if (!from && next == computed.size()) base::fail_usage({"too few computed columns were given"});
        slices.rest.push_back(from ? std::span<std::byte const>() : computed[next++]);
    }
    if (!mask.empty() && mask.size() != rows.count) base::fail_usage({"the mask has not one byte for each row"});
    auto const end = rows.first + rows.count;
    auto begin = rows.first; // of those that are not appended yet
    auto const decode_up_to = [&](std::uint64_t row) {
        THALWEG_ASSERT(begin <= row && row <= end, "rows are appended in their order, each once");
        RowRange const part{begin, row - begin};
        append_decoded(part, part_of(mask, rows, part), slices, to);
        begin = row;
    };
    if (copier_) {
        auto const& clusters = copier_->clusters();
        for (auto i = next_cluster(begin); i < clusters.size(); ++i) {
            RowRange const cluster{clusters[i].first_entry, clusters[i].entries};
            if (cluster.first + cluster.count > end) break;
            if (cluster.count == 0 || !has_all(part_of(mask, rows, cluster))) continue;
            decode_up_to(cluster.first);
            if (!is_worth_copying(i, to)) continue;
            copier_->copy(i, slices, to);
            begin = cluster.first + cluster.count;
        }
    }
    decode_up_to(end);
}

// A small cluster in front of it would end, so that it stays small: first that is filled.
bool KeptColumns::is_worth_copying(std::size_t cluster, dataset::Producer const& to) const {
    auto const worth = copier_->worth(cluster);
    if (worth.copied_bytes == 0) return false;
    if (copy_ == CopyPages::always) return true;
    bool const ends_a_small_one = to.open_bytes() > 0 && to.open_bytes() < to.cluster_bytes() / 2;
    return !ends_a_small_one && worth.raw_bytes >= worth.columns * kLeastPageBytes &&
           worth.copied_bytes >= worth.stored_bytes / 2;
}

void KeptColumns::append_decoded(RowRange rows, std::span<std::byte const> mask, dataset::RowSlices& computed,
                                 dataset::Producer& to) {
    auto const chosen = mask.empty() ? Chosen{{0, rows.count}} : chosen_rows(mask);
    auto const count = count_of(chosen);
    if (count == 0) return;
    auto const& columns = table_.columns;
    // By column: of lengths columns, what is inside; of computed ones, only how many elements are chosen.
    std::vector<dataset::ItemRange> ranges(columns.size());
    std::vector<Chosen> elements(columns.size());
    std::vector<std::uint64_t> inner(columns.size());
    std::vector<std::vector<std::byte>> kept(columns.size());
    std::vector<std::span<std::byte const>> parts;
    std::vector<std::uint64_t> lengths;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& parent = columns[i].parent;
        bool const are_lengths = columns[i].role == Column::Role::lengths;
        auto const items = parent ? inner[*parent] : count;
        if (!table_.from[i]) {
            parts.push_back(computed.take(i, items));
            if (are_lengths) inner[i] = dataset::sum_of(parts.back());
            continue;
        }
        auto const from = *table_.from[i];
        auto const range = parent ? ranges[*parent] : dataset::ItemRange{rows.first, rows.count};
        auto const& some = parent ? elements[*parent] : chosen;
        std::span<std::byte> all;
        if (are_lengths) {
            lengths.resize(range.count * columns[i].values_per_item);
            all = std::as_writable_bytes(std::span(lengths));
        } else {
            kept[i].resize(range.count * columns[i].item_bytes());
            all = kept[i];
        }
        table_.input.read(table_.input_table, from, range, all, {.threads = 1});
        if (are_lengths) {
            ranges[i] = range.count > 0 ? table_.input.elements(table_.input_table, from, range) : dataset::ItemRange{};
            elements[i] = chosen_elements(some, lengths, columns[i].values_per_item);
            inner[i] = count_of(elements[i]);
        }
        bool const is_whole = items == range.count;
        if (are_lengths || !is_whole) kept[i] = chosen_bytes(some, all, columns[i].item_bytes());
        parts.emplace_back(kept[i]);
    }
    to.append(count, parts);
}

std::shared_ptr<StoredClusters const> stored_clusters(dataset::Reader const& input, std::size_t table) {
    if (input.is_open_run() || !input.path().ends_with(".root")) return nullptr;
    auto stored = StoredClusters::read(input.file(), input.head().schema.tables[table].name);
    bool const is_known = stored && stored->columns().size() == input.head().columns[table].size();
    return is_known ? std::make_shared<StoredClusters const>(std::move(*stored)) : nullptr;
}

std::optional<std::string> codec_of_input(StoredClusters const& stored, std::vector<std::string> const& fields) {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < stored.columns().size(); ++i) {
        if (is_of(stored.columns()[i], fields)) columns.push_back(i);
    }
    return format::rntuple::usual_codec(stored, columns);
}

std::vector<std::uint64_t> cluster_ends(StoredClusters const& stored) {
    std::vector<std::uint64_t> ends;
    for (auto const& cluster : stored.clusters()) {
        if (cluster.entries > 0) ends.push_back(cluster.first_entry + cluster.entries);
    }
    return ends;
}

} // namespace thalweg::derive
