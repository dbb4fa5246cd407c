#include "thalweg/format/rntuple/checkpoints.h"

#include <algorithm>
#include <utility>

#include "thalweg/format/rntuple/envelopes.h"

namespace thalweg::format::rntuple {

RNTupleCheckpoints::RNTupleCheckpoints(model::RunHead const& head)
    : parts_(file_parts(head)), created_s_(head.created_s) {
    for (std::size_t i = 0; i < head.columns.size(); ++i) {
        tables_.push_back({ClusterDescriber(head.columns[i], head.layouts[i]), {}, {}, {}, false});
    }
}

void RNTupleCheckpoints::add(std::size_t table, ClusterPages cluster) {
    std::vector<std::span<model::Page const>> pages(cluster.columns.begin(), cluster.columns.end());
    tables_[table].pending.push_back(tables_[table].describer.describe(cluster.rows, pages));
}

std::uint64_t RNTupleCheckpoints::pending_bytes() const {
    if (std::all_of(tables_.begin(), tables_.end(), [](auto const& table) { return table.pending.empty(); })) return 0;
    auto tables = tables_;
    return blob_at(0, false, tables).size_bytes();
}

// Tables without anything new keep their footer.
Blob RNTupleCheckpoints::blob_at(std::uint64_t offset, bool all, std::vector<Table>& tables) const {
    Blob blob(offset);
    for (std::size_t i = 0; i < tables.size(); ++i) {
        auto& table = tables[i];
        if (table.pending.empty() && !all) continue;
        auto const header_checksum = parts_.header_checksums[i];
        if (!table.pending.empty()) {
            PageList const list{header_checksum, std::exchange(table.pending, {})};
            table.groups.push_back(group_of(list, blob.add_envelope(to_envelope(list))));
        }
        table.footer = blob.add_envelope(to_envelope(Footer{0, header_checksum, {}, table.groups}));
        table.changed = true;
    }
    return blob;
}

void RNTupleCheckpoints::write(storage::Storage& file, std::uint64_t offset) {
    file.write(offset, blob_at(offset, false, tables_).finish(created_s_));
}

std::uint64_t RNTupleCheckpoints::write_all(storage::Storage& file, std::uint64_t offset) {
    auto const bytes = blob_at(offset, true, tables_).finish(created_s_);
    file.write(offset, bytes);
    return bytes.size();
}

void RNTupleCheckpoints::publish(storage::Storage& file) {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        if (!std::exchange(tables_[i].changed, false)) continue;
        auto const& place = parts_.skeleton.tables[i];
        file.write(place.anchor_offset, to_bytes(anchor_of(place, tables_[i].footer)));
    }
}

} // namespace thalweg::format::rntuple
