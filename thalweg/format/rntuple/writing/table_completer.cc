#include "thalweg/format/rntuple/writing/table_completer.h"

#include <set>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/format/cluster_items.h"

namespace thalweg::format::rntuple {
namespace {

// Pages of a cluster that are equal lie in the file once.
std::uint64_t stored_bytes_of(std::vector<std::span<model::Page const>> const& pages) {
    std::set<std::uint64_t> offsets;
    std::uint64_t bytes = 0;
    for (auto const& column : pages) {
        for (auto const& page : column) {
            if (offsets.insert(page.offset).second) bytes += page.stored_bytes + kPageChecksumBytes;
        }
    }
    return bytes;
}

} // namespace

TableCompleter::TableCompleter(storage::Storage const& file, storage::Storage const& journal,
                               model::RunHead const& head, std::size_t table, BlobWriter& writer, Joining& joining)
    : columns_(head.columns[table]), describer_(columns_, head.layouts[table]),
      rest_(file, journal, head.schema.tables[table].name, columns_, head.layouts[table], writer), joining_(joining) {}

TableCompleter::Pages TableCompleter::pages_of(model::Part const& part, model::Cluster const& cluster) {
    Pages pages;
    for (auto const& column : part.columns) pages.push_back(pages_of_cluster(column, cluster));
    return pages;
}

std::uint64_t TableCompleter::raw_bytes_of(Pages const& pages) const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        for (auto const& page : pages[i]) bytes += page.count * columns_[i].item_bytes();
    }
    return bytes;
}

bool TableCompleter::may_be_joined(model::Cluster const& cluster, std::uint64_t raw_bytes) const {
    return cluster.ended_by_age && whole_bytes_ + raw_bytes <= joining_.room_bytes;
}

PageList TableCompleter::list(std::uint64_t header_checksum, std::vector<model::Part> const& parts) {
    PageList list{header_checksum, {}};
    for (auto const& [index, cluster] : model::order_of_clusters(parts)) {
        auto const& part = parts[index];
        if (cluster.whole) {
            auto pages = pages_of(part, cluster);
            auto const raw_bytes = raw_bytes_of(pages);
            bool const joins = may_be_joined(cluster, raw_bytes);
            if (!joins || !rest_.has_room(raw_bytes)) end_rest(list);
            if (!joins) {
                list.clusters.push_back(describer_.describe(cluster.rows, pages));
                continue;
            }
            whole_.push_back({cluster.rows, std::move(pages)});
            whole_bytes_ += raw_bytes;
        }
        rest_.add(part, cluster);
        if (rest_.is_full() || joining_.keeps_pages) end_rest(list);
    }
    end_rest(list);
    return list;
}

void TableCompleter::end_rest(PageList& list) {
    if (rest_.is_empty()) return;
    auto const whole = std::exchange(whole_, {});
    auto const whole_bytes = std::exchange(whole_bytes_, 0);
    if (whole.size() == 1 && rest_.pieces() == 1) {
        rest_.clear();
        list.clusters.push_back(describer_.describe(whole[0].rows, whole[0].pages));
        return;
    }
    list.clusters.push_back(rest_.write(describer_, joining_.keeps_pages));
    THALWEG_ASSERT(whole_bytes <= joining_.room_bytes, "clusters that are joined keep to their room");
    joining_.room_bytes -= whole_bytes;
    auto& done = joining_.done;
    done.joined_clusters += whole.size();
    done.clusters_of_joined += whole.empty() ? 0 : 1;
    for (auto const& each : whole) done.superseded_bytes += stored_bytes_of(each.pages);
}

} // namespace thalweg::format::rntuple
