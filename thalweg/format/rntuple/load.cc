#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/format/rntuple/ntuple_file.h"
#include "thalweg/format/rntuple/schema.h"

namespace thalweg::format::rntuple {
namespace {

// Fills the page map of one table from the clusters of its RNTuple.
class TableLoader {
  public:
    TableLoader(std::string const& name, std::vector<model::Column> const& columns, StoredNTuple const& ntuple)
        : name_(name), columns_(columns), ntuple_(ntuple) {}

    model::TableMap load(std::vector<ForeignTable::Source> const& sources) {
        model::TableMap map;
        for (auto const& cluster : ntuple_.clusters) {
            if (cluster.first_entry != map.rows) {
                base::fail_data({fmt::format("table '{}' cannot be read", name_),
                                 fmt::format("rows {} to {} are in no cluster", map.rows, cluster.first_entry)});
            }
            map.rows += cluster.entries;
        }
        for (std::size_t i = 0; i < columns_.size(); ++i) map.columns.push_back(load_column(i, sources[i], map.rows));
        return map;
    }

  private:
    model::TableMap::ColumnMap load_column(std::size_t index, ForeignTable::Source const& source, std::uint64_t rows) {
        auto const& column = columns_[index];
        model::TableMap::ColumnMap map;
        // Writers end their pages where they like, also within an array.
        map.by_value = column.values_per_item > 1;
        std::uint64_t elements = 0;
        for (auto const& cluster : ntuple_.clusters) {
            for (auto const& stored : range_of(cluster, source.physical, column).pages) {
                model::Page page;
                page.first = elements;
                page.count = stored.elements;
                page.offset = stored.locator.offset;
                page.stored_bytes = stored.locator.stored_bytes;
                page.raw_bytes = stored.elements * model::size_bytes(column.scalar);
                page.encoded = true;
                page.sums = source.sums;
                page.checksum_follows = stored.checksum;
                page.cluster = cluster.first_entry;
                elements += stored.elements;
                map.pages.push_back(page);
            }
        }
        if (!column.parent && elements != rows * column.values_per_item) {
            base::fail_data({fmt::format("table '{}', column '{}' cannot be read", name_, column.path),
                             fmt::format("its pages have {} elements for {} rows", elements, rows)});
        }
        return map;
    }

    ColumnRange const& range_of(ClusterDescription const& cluster, std::size_t physical, model::Column const& column) {
        if (physical < cluster.columns.size()) return cluster.columns[physical];
        base::fail_data(
            {fmt::format("table '{}', column '{}' cannot be read", name_, column.path),
             fmt::format("the cluster at row {} has only {} columns", cluster.first_entry, cluster.columns.size())});
    }

    std::string const& name_;
    std::vector<model::Column> const& columns_;
    StoredNTuple const& ntuple_;
};

SchemaDescription whole_schema(StoredNTuple const& ntuple) {
    auto schema = ntuple.header.schema;
    auto const& more = ntuple.extension;
    schema.fields.insert(schema.fields.end(), more.fields.begin(), more.fields.end());
    schema.columns.insert(schema.columns.end(), more.columns.begin(), more.columns.end());
    schema.aliases.insert(schema.aliases.end(), more.aliases.begin(), more.aliases.end());
    schema.extra_types.insert(schema.extra_types.end(), more.extra_types.begin(), more.extra_types.end());
    return schema;
}

// One physical column for each of ours, in the same order.
model::RunMap load_own(NTupleFile& file) {
    model::RunMap map;
    map.head = std::move(file.text->head);
    map.metadata = std::move(file.text->metadata);
    map.closed = file.text->closed;
    for (std::size_t t = 0; t < map.head.schema.tables.size(); ++t) {
        auto const& name = map.head.schema.tables[t].name;
        auto const found =
            std::find_if(file.ntuples.begin(), file.ntuples.end(), [&](auto const& each) { return each.path == name; });
        if (found == file.ntuples.end())
            base::fail_data({fmt::format("table '{}' cannot be read", name), "it is not there"});
        std::vector<ForeignTable::Source> sources;
        for (auto const& column : map.head.columns[t]) {
            sources.push_back({sources.size(), column.role == model::Column::Role::lengths});
        }
        map.tables.push_back(TableLoader(name, map.head.columns[t], *found).load(sources));
    }
    return map;
}

model::RunMap load_foreign(NTupleFile const& file) {
    model::RunMap map;
    for (auto const& ntuple : file.ntuples) {
        auto table = read_table(ntuple.path, ntuple.header, whole_schema(ntuple));
        map.tables.push_back(TableLoader(ntuple.path, table.columns, ntuple).load(table.sources));
        map.head.schema.tables.push_back(std::move(table.table));
        map.head.columns.push_back(std::move(table.columns));
        map.head.layouts.push_back(std::move(table.layout));
    }
    return map;
}

} // namespace

model::RunMap RNTupleFormat::load(storage::Storage const& file) const {
    auto ntuples = read_ntuples(file);
    if (ntuples.text) return load_own(ntuples);
    if (ntuples.ntuples.empty()) base::fail_data({file.path() + " cannot be read", "there is no RNTuple in it"});
    return load_foreign(ntuples);
}

} // namespace thalweg::format::rntuple
