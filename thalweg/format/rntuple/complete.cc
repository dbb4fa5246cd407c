#include <algorithm>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/codec.h"
#include "thalweg/format/cluster_items.h"
#include "thalweg/format/rntuple/cluster_descriptions.h"
#include "thalweg/format/rntuple/envelopes.h"
#include "thalweg/format/rntuple/file_ending.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/format/rntuple/rest_cluster.h"
#include "thalweg/format/rntuple/tfile_records.h"

namespace thalweg::format::rntuple {
namespace {

// Describes the clusters of one table. Those that their producers ended lie in the file as they are to stay.
class TableCompleter {
  public:
    TableCompleter(storage::Storage const& file, storage::Storage const& journal, model::RunHead const& head,
                   std::size_t table, BlobWriter& writer)
        : describer_(head.columns[table], head.layouts[table]),
          rest_(file, journal, head.schema.tables[table].name, head.columns[table], head.layouts[table], writer) {}

    PageList list(std::uint64_t header_checksum, std::vector<model::Part> const& parts) {
        PageList list{header_checksum, {}};
        auto const end_rest = [&] {
            if (!rest_.is_empty()) list.clusters.push_back(rest_.write(describer_));
        };
        for (auto const& [part, cluster] : model::order_of_clusters(parts)) {
            if (cluster.whole) {
                end_rest();
                list.clusters.push_back(linked(parts[part], cluster));
            } else {
                rest_.add(parts[part], cluster);
                if (rest_.is_full()) end_rest();
            }
        }
        end_rest();
        return list;
    }

  private:
    ClusterDescription linked(model::Part const& part, model::Cluster const& cluster) {
        std::vector<std::span<model::Page const>> pages;
        for (auto const& column : part.columns) pages.push_back(pages_of_cluster(column, cluster));
        return describer_.describe(cluster.rows, pages);
    }

    ClusterDescriber describer_;
    RestCluster rest_;
};

// Behind everything that is referred to by some anchor (an interim footer, or an earlier attempt to complete the file)
// or by the first sector (an attempt that failed after its last write but one).
std::uint64_t end_of_readable(storage::Storage const& file, FileParts const& parts) {
    std::array<std::byte, kSectorBytes> sector;
    file.read(0, sector);
    BigTaker from(sector, file.path());
    auto end = take_file_head(from).end;
    for (auto const& place : parts.skeleton.tables) {
        std::array<std::byte, kAnchorBytes> bytes;
        file.read(place.anchor_offset, bytes);
        try {
            auto const anchor = parse_anchor(bytes, "the anchor");
            end = std::max(end, anchor.footer_offset + anchor.footer_stored_bytes);
        } catch (base::DataError const&) {
            // Torn by a power cut: it names nothing, and is about to be written anew.
        }
    }
    return base::round_up(end, base::kBlockBytes);
}

} // namespace

std::uint64_t RNTupleFormat::end_of_readable(storage::Storage const& file, model::RunHead const& head) const {
    return rntuple::end_of_readable(file, file_parts(head));
}

std::uint64_t RNTupleFormat::complete(storage::Storage& file, storage::Storage const& journal,
                                      model::RunHead const& head, model::RunFacts const& facts) const {
    auto const parts = file_parts(head);
    BlobWriter writer(file, std::max(facts.end_offset, rntuple::end_of_readable(file, parts)), head.created_s);
    FileEnding ending(file, parts, writer, head.created_s);
    for (std::size_t i = 0; i < head.schema.tables.size(); ++i) {
        TableCompleter completer(file, journal, head, i, writer);
        ending.add_table(completer.list(parts.header_checksums[i], facts.tables[i]));
    }
    auto const units = append_units(facts.units, writer);
    return std::move(ending).finish(
        [&](FileSeal const& seal) { return run_text(head, facts.metadata, true, units, seal); });
}

} // namespace thalweg::format::rntuple
