#include "thalweg/derive/cluster_copier.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/format.h"
#include "thalweg/trace/activity.h"

namespace thalweg::derive {
namespace {

using format::rntuple::PageDescription;
using format::rntuple::StoredPages;
using model::Column;

constexpr std::uint64_t kMostRunBytes = 1 * base::kMiB;     // read at once, but for larger pages
constexpr std::uint64_t kMostStretchBytes = 4 * base::kMiB; // announced at once, but for larger pages
constexpr std::uint64_t kMostGapBytes = 32 * base::kKiB;    // in it, of columns that are not kept
constexpr std::uint64_t kMostPageBytes = 1020 * base::kMiB; // a key holds 1 GiB at most

std::uint64_t begin_of(PageDescription const& page) { return page.locator.offset; }

std::uint64_t end_of(PageDescription const& page) {
    return page.locator.offset + page.locator.stored_bytes + (page.checksum ? format::kPageChecksumBytes : 0);
}

// How many of the next pages lie near each other in the file; without a gap they are of one run, in which each page has
// its checksum behind it.
template <class Pages> std::size_t stretch_of(Pages const& pages, std::uint64_t most_gap, std::uint64_t most_bytes) {
    bool const is_run = most_gap == 0;
    auto const begin = begin_of(*pages.front().page);
    auto end = end_of(*pages.front().page);
    std::size_t count = 1;
    for (auto const& each : pages.subspan(1)) {
        auto const& page = *each.page;
        bool const follows = is_run ? begin_of(page) == end && page.checksum && pages.front().page->checksum
                                    : begin_of(page) <= end + most_gap;
        if (!follows || end_of(page) - begin > most_bytes) break;
        end = std::max(end, end_of(page));
        ++count;
    }
    return count;
}

} // namespace

ClusterCopier::ClusterCopier(KeptTable const& table, std::shared_ptr<format::rntuple::StoredClusters const> stored)
    : table_(table), stored_(std::move(stored)), encoder_(table.columns, table.layout) {}

// Pages that end within an array are not those of whole items.
bool ClusterCopier::can_copy(StoredPages const& stored, std::size_t column) const {
    auto const values = table_.columns[column].values_per_item;
    return format::rntuple::is_encoded_by(stored, table_.layout.columns[column].codec) &&
           std::ranges::all_of(stored.pages, [&](auto const& page) {
               return page.elements % values == 0 && page.locator.stored_bytes <= kMostPageBytes;
           });
}

ClusterCopier::Worth ClusterCopier::worth(std::size_t cluster) const {
    Worth worth;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if (!table_.from[i]) continue;
        ++worth.columns;
        auto const stored = stored_->pages(cluster, *table_.from[i]);
        if (!stored) continue;
        auto const size = std::accumulate(stored->pages.begin(), stored->pages.end(), std::uint64_t{0},
                                          [](auto sum, auto const& page) { return sum + page.locator.stored_bytes; });
        worth.stored_bytes += size;
        if (can_copy(*stored, i)) worth.copied_bytes += size;
        worth.raw_bytes += stored->elements * model::size_bytes(table_.columns[i].scalar);
    }
    return worth;
}

void ClusterCopier::copy(std::size_t cluster, dataset::RowSlices& computed, dataset::Producer& to) {
    auto const rows = stored_->clusters()[cluster].entries;
    auto const parts = parts_of(cluster, computed);
    auto const wanted = wanted_pages(parts);
    std::vector<std::uint64_t> items;
    items.reserve(parts.size());
    for (auto const& part : parts) items.push_back(part.items);
    to.append_cluster(rows, items, [&](auto const& take) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!parts[i].stored) give_encoded(i, parts[i], take);
        }
        give_stored(cluster, wanted, take);
    });
    if (!wanted.empty()) copied_.rows += rows;
}

std::vector<ClusterCopier::ClusterColumn> ClusterCopier::parts_of(std::size_t cluster, dataset::RowSlices& computed) {
    auto const& columns = table_.columns;
    std::vector<std::uint64_t> elements(columns.size()); // in the lists of each lengths column
    std::vector<ClusterColumn> parts(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto& part = parts[i];
        part.items = columns[i].parent ? elements[*columns[i].parent] : stored_->clusters()[cluster].entries;
        if (table_.from[i])
            read_kept(cluster, i, part);
        else
            part.raw = computed.take(i, part.items);
        if (columns[i].role != Column::Role::lengths) continue;
        elements[i] = !part.stored                     ? dataset::sum_of(part.raw)
                      : part.stored->pages.size() == 1 ? stored_elements(cluster, i)
                                                       : part.sums.back();
    }
    return parts;
}

// Returns how many elements the lists of a kept column have: as many as are stored.
std::uint64_t ClusterCopier::stored_elements(std::size_t cluster, std::size_t lengths) const {
    for (std::size_t i = lengths + 1; i < table_.columns.size(); ++i) {
        if (table_.columns[i].parent != lengths) continue;
        auto const inside = stored_->pages(cluster, *table_.from[i]);
        return inside ? inside->elements / table_.columns[i].values_per_item : 0;
    }
    return 0;
}

// Lengths are decoded if they are encoded anew, or if several pages need to know the sum in front of them.
void ClusterCopier::read_kept(std::size_t cluster, std::size_t column, ClusterColumn& part) {
    auto const& facts = table_.columns[column];
    auto const from = *table_.from[column];
    auto const stored = stored_->pages(cluster, from);
    auto const wanted = part.items * facts.values_per_item;
    if (stored && facts.parent && stored->elements != wanted) {
        auto const& entry = stored_->clusters()[cluster];
        base::fail_data({fmt::format("{}: table '{}', column '{}', rows {} to {} cannot be copied", table_.input.path(),
                                     table_.input.head().schema.tables[table_.input_table].name, facts.path,
                                     entry.first_entry, entry.first_entry + entry.entries),
                         fmt::format("its lists have {} values, and {} are stored", wanted, stored->elements)});
    }
    if (stored && stored->elements == wanted && can_copy(*stored, column)) part.stored = stored;
    if (facts.role == Column::Role::lengths) {
        if (part.stored && part.stored->pages.size() == 1) return;
        if (part.stored) return find_sums(cluster, column, part);
        part.lengths.resize(wanted);
        read_items(cluster, from, part.items, std::as_writable_bytes(std::span(part.lengths)));
        part.raw = std::as_bytes(std::span(part.lengths));
    } else if (!part.stored) {
        part.decoded.resize(part.items * facts.item_bytes());
        read_items(cluster, from, part.items, part.decoded);
        part.raw = part.decoded;
    }
}

void ClusterCopier::read_items(std::size_t cluster, std::size_t from, std::uint64_t items, std::span<std::byte> out) {
    if (items == 0) return;
    table_.input.read(table_.input_table, from, {first_item(cluster, from), items}, out, {.threads = 1});
}

// Finds the sums of the lengths in front of each page, and of all lengths.
void ClusterCopier::find_sums(std::size_t cluster, std::size_t column, ClusterColumn& part) {
    auto const size_bytes = part.items * table_.columns[column].item_bytes();
    auto const lengths = std::span(lengths_.of(size_bytes), size_bytes);
    read_items(cluster, *table_.from[column], part.items, lengths);
    part.sums.assign(1, 0);
    std::uint64_t at = 0;
    for (auto const& page : part.stored->pages) {
        auto const bytes = page.elements * sizeof(std::uint64_t);
        part.sums.push_back(part.sums.back() + dataset::sum_of(lengths.subspan(at, bytes)));
        at += bytes;
    }
}

std::uint64_t ClusterCopier::first_item(std::size_t cluster, std::size_t column) const {
    auto const& facts = table_.input.head().columns[table_.input_table][column];
    auto const first_row = stored_->clusters()[cluster].first_entry;
    if (!facts.parent) return first_row;
    auto const& map = table_.input.column(table_.input_table, column);
    auto const page =
        std::ranges::partition_point(map.pages, [&](auto const& each) { return each.cluster < first_row; });
    if (page == map.pages.end()) return 0; // it has none: the number is not used
    return map.by_value ? page->first / facts.values_per_item : page->first;
}

void ClusterCopier::give_encoded(std::size_t column, ClusterColumn const& part, TakePages const& take) {
    auto const item_bytes = table_.columns[column].item_bytes();
    bool const are_lengths = table_.columns[column].role == Column::Role::lengths;
    std::uint64_t sum = 0;
    for (std::uint64_t first = 0; first < part.items;) {
        auto const count = std::min(table_.layout.columns[column].page_items, part.items - first);
        auto const raw = part.raw.subspan(first * item_bytes, count * item_bytes);
        auto const room = encoder_.bound_bytes(column, raw.size());
        std::span const out(encoded_.of(room), room);
        std::size_t stored_bytes = 0;
        {
            trace::Traced traced(trace::Activity::encode_page, nullptr, raw.size());
            stored_bytes = encoder_.encode(column, raw, sum, out).stored_bytes;
            traced.set_detail(column);
            traced.set_result(stored_bytes);
        }
        take.one({column, first, count, sum, stored_bytes}, out.first(stored_bytes));
        if (are_lengths) sum += dataset::sum_of(raw);
        first += count;
    }
}

std::vector<ClusterCopier::Wanted> ClusterCopier::wanted_pages(std::vector<ClusterColumn> const& parts) const {
    std::vector<Wanted> wanted;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!parts[i].stored) continue;
        std::uint64_t first = 0;
        for (std::size_t k = 0; k < parts[i].stored->pages.size(); ++k) {
            auto const& page = parts[i].stored->pages[k];
            auto const count = page.elements / table_.columns[i].values_per_item;
            if (count == 0) continue;
            auto const sum_before = parts[i].sums.empty() ? 0 : parts[i].sums[k];
            wanted.push_back({&page, {i, first, count, sum_before, page.locator.stored_bytes}});
            first += count;
        }
        THALWEG_ASSERT(first == parts[i].items, "pages that are copied hold every item of the cluster once");
    }
    std::ranges::stable_sort(wanted, {}, [](auto const& each) { return begin_of(*each.page); });
    return wanted;
}

void ClusterCopier::check_places(std::size_t cluster, std::vector<Wanted> const& wanted) const {
    auto const file_bytes = table_.input.file().size();
    for (auto const& each : wanted) {
        if (begin_of(*each.page) > file_bytes || end_of(*each.page) > file_bytes)
            fail(cluster, each, fmt::format("the file ends at {}", file_bytes));
    }
}

void ClusterCopier::give_stored(std::size_t cluster, std::vector<Wanted> const& wanted, TakePages const& take) {
    check_places(cluster, wanted);
    for (std::span<Wanted const> rest = wanted; !rest.empty();) {
        auto stretch = rest.first(stretch_of(rest, kMostGapBytes, kMostStretchBytes));
        rest = rest.subspan(stretch.size());
        auto const begin = begin_of(*stretch.front().page);
        auto const kept = table_.input.file().expect_reads(begin, end_of(*stretch.back().page) - begin);
        while (!stretch.empty()) {
            auto const run = stretch.first(stretch_of(stretch, 0, kMostRunBytes));
            give_run(cluster, run, take);
            stretch = stretch.subspan(run.size());
        }
    }
}

// Pages are read to where they are written from, and compared with their checksums there.
void ClusterCopier::give_run(std::size_t cluster, std::span<Wanted const> run, TakePages const& take) {
    auto const& file = table_.input.file();
    auto const& first = run.front();
    if (first.page->checksum) {
        run_.clear();
        for (auto const& each : run) run_.push_back(each.as);
        take.run(run_, {[&](auto bytes) { file.read(begin_of(*first.page), bytes); },
                        [&](auto i) { fail(cluster, run[i], "its checksum does not fit: it is damaged"); }});
    } else {
        std::span const stored(read_.of(first.as.stored_bytes), first.as.stored_bytes);
        file.read(begin_of(*first.page), stored);
        take.one(first.as, stored);
    }
    copied_.pages += run.size();
    for (auto const& each : run) copied_.bytes += each.as.stored_bytes;
}

void ClusterCopier::fail(std::size_t cluster, Wanted const& wanted, std::string const& why) const {
    auto const& entry = stored_->clusters()[cluster];
    auto const& column = table_.columns[wanted.as.column];
    auto const first = entry.first_entry + (column.parent ? 0 : wanted.as.first);
    auto const count = column.parent ? entry.entries : wanted.as.count;
    base::fail_data({fmt::format("{}: table '{}', column '{}', rows {} to {}: the page at offset {} cannot be copied",
                                 table_.input.path(), table_.input.head().schema.tables[table_.input_table].name,
                                 column.path, first, first + count, begin_of(*wanted.page)),
                     why});
}

} // namespace thalweg::derive
