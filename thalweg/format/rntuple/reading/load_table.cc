#include "thalweg/format/rntuple/reading/load_table.h"

#include <fmt/format.h>
#include <optional>

#include "thalweg/base/error.h"

namespace thalweg::format::rntuple {
namespace {

// No page shrinks more than this, and elements of a bit grow eightfold: a damaged count must not make a reader ask for
// all the memory there is.
constexpr std::uint64_t kMostShrinking = 1 << 18;

// Fills the page map of one table from the clusters of its RNTuple.
class TableLoader {
  public:
    TableLoader(std::vector<model::Column> const& columns, StoredNTuple const& ntuple)
        : name_(ntuple.path), columns_(columns), ntuple_(ntuple) {}

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
            auto const first_element = source.representations[representation].first_element;
            if (stored > wanted || wanted - stored > older_than(first_element, cluster, column)) {
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

    // How many elements of a cluster are older than a column that was added while the file was written: they are stored
    // nowhere.
    static std::uint64_t older_than(std::optional<std::int64_t> first_element, ClusterDescription const& cluster,
                                    model::Column const& column) {
        auto const begin = cluster.first_entry * column.values_per_item;
        auto const stored = first_element.value_or(0); // negative: of a column that is suppressed, too
        auto const first = stored < 0 ? 0 - static_cast<std::uint64_t>(stored) : static_cast<std::uint64_t>(stored);
        return first > begin ? first - begin : 0;
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
            if (representation.physical >= cluster.columns.size()) {
                // Clusters that are older than a column of the extension do not list it.
                if (representation.physical >= ntuple_.header.schema.columns.size()) return {i, nothing};
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

} // namespace

model::TableMap load_table(StoredNTuple const& ntuple, std::vector<model::Column> const& columns,
                           std::vector<ForeignTable::Source> const& sources) {
    return TableLoader(columns, ntuple).load(sources);
}

} // namespace thalweg::format::rntuple
