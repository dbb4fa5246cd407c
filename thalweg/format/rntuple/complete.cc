#include <algorithm>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/codec.h"
#include "thalweg/format/cluster_items.h"
#include "thalweg/format/rntuple/blob_writer.h"
#include "thalweg/format/rntuple/cluster_descriptions.h"
#include "thalweg/format/rntuple/envelopes.h"
#include "thalweg/format/rntuple/file_parts.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/format/rntuple/rest_cluster.h"
#include "thalweg/format/rntuple/tfile_records.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::uint64_t kMaxListBytes = 512 * base::kMiB;

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

// One cluster group a table, even where there are no rows, because some readers look at the first only; more only where
// the list would not fit into a key.
std::vector<PageList> pieces_of(PageList list) {
    std::vector<PageList> pieces{{list.header_checksum, {}}};
    std::uint64_t bytes = 0;
    for (auto& cluster : list.clusters) {
        if (bytes > kMaxListBytes) {
            pieces.push_back({list.header_checksum, {}});
            bytes = 0;
        }
        bytes += described_bytes(cluster);
        pieces.back().clusters.push_back(std::move(cluster));
    }
    return pieces;
}

// The seal is of what surrounds the text that it stands in: any seal gives the same surroundings.
template <typename MakeText>
Ending sealed_ending(Skeleton const& skeleton, std::uint64_t offset, std::uint64_t seconds, MakeText const& make_text) {
    auto const unsealed = make_text(FileSeal{skeleton.bytes.size(), 0, 0});
    auto const seal = make_seal(skeleton, make_ending(skeleton.bytes, unsealed, offset, seconds), unsealed);
    return make_ending(skeleton.bytes, make_text(seal), offset, seconds);
}

} // namespace

std::uint64_t RNTupleFormat::end_of_readable(storage::Storage const& file, model::RunHead const& head) const {
    return rntuple::end_of_readable(file, file_parts(head));
}

std::uint64_t RNTupleFormat::complete(storage::Storage& file, storage::Storage const& journal,
                                      model::RunHead const& head, model::RunFacts const& facts) const {
    auto const parts = file_parts(head);
    BlobWriter writer(file, std::max(facts.end_offset, rntuple::end_of_readable(file, parts)), head.created_s);
    std::vector<Anchor> anchors;
    for (std::size_t i = 0; i < head.schema.tables.size(); ++i) {
        auto const checksum = parts.header_checksums[i];
        std::vector<ClusterGroup> groups;
        for (auto const& list :
             pieces_of(TableCompleter(file, journal, head, i, writer).list(checksum, facts.tables[i]))) {
            groups.push_back(group_of(list, writer.add_envelope(to_envelope(list))));
        }
        auto const footer = writer.add_envelope(to_envelope(Footer{0, checksum, {}, std::move(groups)}));
        anchors.push_back(anchor_of(parts.skeleton.tables[i], footer));
    }
    auto const units = append_units(facts.units, writer);
    auto const end = writer.flush();
    auto const ending = sealed_ending(parts.skeleton, end, head.created_s, [&](FileSeal const& seal) {
        return run_text(head, facts.metadata, true, units, seal);
    });
    file.write(end, ending.appended);
    file.resize(ending.file_bytes);
    file.sync();
    for (std::size_t i = 0; i < anchors.size(); ++i) {
        file.write(parts.skeleton.tables[i].anchor_offset, to_bytes(anchors[i]));
    }
    file.sync(); // before the file says that it is closed
    file.write(0, ending.first_sector);
    file.sync();
    return ending.file_bytes;
}

} // namespace thalweg::format::rntuple
