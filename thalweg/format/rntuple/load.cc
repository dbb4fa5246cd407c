#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/format/rntuple/ntuple_file.h"
#include "thalweg/format/rntuple/schema.h"

namespace thalweg::format::rntuple {
namespace {

// No page shrinks more than this, and elements of a bit grow eightfold: a damaged count must not make anybody ask for
// all the memory there is.
constexpr std::uint64_t kMostShrinking = 1 << 18;

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
        for (std::size_t i = 0; i < columns_.size(); ++i) map.columns.push_back(load_column(i, sources[i]));
        return map;
    }

  private:
    model::TableMap::ColumnMap load_column(std::size_t index, ForeignTable::Source const& source) {
        auto const& column = columns_[index];
        model::TableMap::ColumnMap map;
        for (std::size_t i = 1; i < source.representations.size(); ++i) {
            map.other_codecs.push_back(source.representations[i].codec);
        }
        // Writers end their pages where they like, also within an array.
        map.by_value = column.values_per_item > 1;
        Filler filler{map, source.sums, model::size_bytes(column.scalar), 0};
        for (auto const& cluster : ntuple_.clusters) add_cluster(filler, cluster, source, column);
        return map;
    }

    struct Filler {
        model::TableMap::ColumnMap& map;
        bool sums;
        std::size_t value_bytes;
        std::uint64_t elements;

        model::Page& add(std::uint64_t count, std::uint64_t cluster) {
            auto& page = map.pages.emplace_back();
            page.first = elements;
            page.count = count;
            page.raw_bytes = count * value_bytes;
            page.sums = sums;
            page.cluster = cluster;
            elements += count;
            return page;
        }
    };

    void add_cluster(Filler& filler, ClusterDescription const& cluster, ForeignTable::Source const& source,
                     model::Column const& column) {
        auto const [representation, range] = stored_in(cluster, source, column);
        std::uint64_t stored = 0;
        for (auto const& page : range.pages) stored += page.elements;
        auto const wanted = cluster.entries * column.values_per_item;
        if (!column.parent && stored != wanted) {
            // A column that was added while the file was written: what came before it reads as zeros.
            if (stored > wanted || !source.representations[representation].first_element) {
                base::fail_data({fmt::format("table '{}', column '{}' cannot be read", name_, column.path),
                                 fmt::format("the cluster at row {} has {} elements instead of {}", cluster.first_entry,
                                             stored, wanted)});
            }
            filler.add(wanted - stored, cluster.first_entry).place = model::Page::Place::nowhere;
        }
        for (auto const& each : range.pages) {
            if (each.elements == 0) continue;
            auto& page = filler.add(each.elements, cluster.first_entry);
            page.offset = each.locator.offset;
            page.stored_bytes = each.locator.stored_bytes;
            page.encoded = true;
            page.checksum_follows = each.checksum;
            page.codec = static_cast<std::uint8_t>(representation);
            if (page.raw_bytes / kMostShrinking > page.stored_bytes) {
                base::fail_data({fmt::format("table '{}', column '{}' cannot be read", name_, column.path),
                                 fmt::format("the {} bytes at offset {} are said to hold {}", page.stored_bytes,
                                             page.offset, page.raw_bytes)});
            }
        }
    }

    struct Stored {
        std::size_t representation;
        ColumnRange const& range;
    };

    Stored stored_in(ClusterDescription const& cluster, ForeignTable::Source const& source,
                     model::Column const& column) {
        static ColumnRange const nothing;
        for (std::size_t i = 0; i < source.representations.size(); ++i) {
            auto const& representation = source.representations[i];
            // Clusters that are older than a column do not list it.
            if (representation.physical >= cluster.columns.size()) {
                if (representation.first_element) return {i, nothing};
            } else if (!cluster.columns[representation.physical].suppressed) {
                return {i, cluster.columns[representation.physical]};
            }
        }
        base::fail_data({fmt::format("table '{}', column '{}' cannot be read", name_, column.path),
                         fmt::format("the cluster at row {} does not have it", cluster.first_entry)});
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

// Other programs may have rewritten an RNTuple and kept the text beside it.
bool is_own(NTupleFile const& file) {
    auto const& head = file.text->head;
    for (std::size_t t = 0; t < head.schema.tables.size(); ++t) {
        auto const is_table = [&](auto const& each) { return each.path == head.schema.tables[t].name; };
        auto const found = std::find_if(file.ntuples.begin(), file.ntuples.end(), is_table);
        if (found == file.ntuples.end()) continue; // said by `load_own`
        bool const same = found->header.schema == describe(head.schema.tables[t], head.layouts[t]);
        if (!same || found->extension != SchemaDescription{}) return false;
    }
    return true;
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
            sources.push_back({{{sources.size(), "", std::nullopt}}, column.role == model::Column::Role::lengths});
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
        map.notes.insert(map.notes.end(), table.notes.begin(), table.notes.end());
    }
    return map;
}

} // namespace

model::RunMap RNTupleFormat::load(storage::Storage const& file) const {
    auto ntuples = read_ntuples(file);
    if (ntuples.text && is_own(ntuples)) {
        auto const units = std::move(ntuples.text->units);
        auto map = load_own(ntuples);
        try {
            map.units = read_units(file, units);
        } catch (base::DataError const& error) {
            map.units_fault = error.what();
        }
        return map;
    }
    if (ntuples.ntuples.empty()) base::fail_data({file.path() + " cannot be read", "there is no RNTuple in it"});
    return load_foreign(ntuples);
}

} // namespace thalweg::format::rntuple
