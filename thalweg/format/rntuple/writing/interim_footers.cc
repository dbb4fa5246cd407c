#include "thalweg/format/rntuple/writing/interim_footers.h"

#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"

namespace thalweg::format::rntuple {
namespace {

// At most: of a cluster group in a footer, and of the two envelopes around them.
constexpr std::uint64_t kGroupBytes = 60, kEnvelopesBytes = 256;

} // namespace

RNTupleInterimFooters::RNTupleInterimFooters(model::RunHead const& head)
    : parts_(file_parts(head)), created_s_(head.created_s) {
    for (std::size_t i = 0; i < head.columns.size(); ++i) {
        tables_.push_back({ClusterDescriber(head.columns[i], head.layouts[i]), {}, 0, {}, {}, false});
    }
}

void RNTupleInterimFooters::add(std::size_t table, ClusterPages const& cluster) {
    std::vector<std::span<model::Page const>> pages(cluster.columns.begin(), cluster.columns.end());
    auto& changed = tables_[table];
    changed.pending.push_back(changed.describer.describe(cluster.rows, pages));
    changed.pending_bytes += described_bytes(changed.pending.back());
}

std::uint64_t RNTupleInterimFooters::expected_bytes() const {
    std::uint64_t bytes = 0;
    for (auto const& table : tables_) {
        if (!table.pending.empty()) bytes += table.pending_bytes + kEnvelopesBytes + kGroupBytes * table.groups.size();
    }
    return bytes == 0 ? 0 : kBlobHeadBytes + bytes;
}

// Tables without anything new keep their footer.
Blob RNTupleInterimFooters::blob_at(std::uint64_t offset, bool all, std::vector<Table>& tables) const {
    Blob blob(offset);
    for (std::size_t i = 0; i < tables.size(); ++i) {
        auto& table = tables[i];
        if (table.pending.empty() && !all) continue;
        auto const header_checksum = parts_.header_checksums[i];
        if (!table.pending.empty()) {
            PageList const list{header_checksum, std::exchange(table.pending, {})};
            table.pending_bytes = 0;
            table.groups.push_back(group_of(list, blob.add_envelope(to_envelope(list))));
        }
        table.footer = blob.add_envelope(to_envelope(Footer{0, header_checksum, {}, table.groups}));
        table.changed = true;
    }
    return blob;
}

bool RNTupleInterimFooters::write(storage::Storage& file, std::uint64_t offset) {
    write_behind_the_last(file, offset, blob_at(offset, false, tables_).finish(created_s_));
    return true;
}

std::uint64_t RNTupleInterimFooters::write_all(storage::Storage& file, std::uint64_t offset) {
    auto const bytes = blob_at(offset, true, tables_).finish(created_s_);
    write_behind_the_last(file, offset, bytes);
    return bytes.size();
}

void RNTupleInterimFooters::write_behind_the_last(storage::Storage& file, std::uint64_t offset,
                                                  std::vector<std::byte> const& bytes) {
    THALWEG_ASSERT(offset >= end_, "footers that anchors may name are never written over");
    end_ = offset + bytes.size();
    file.write_beside_queues(offset, bytes);
}

void RNTupleInterimFooters::publish(storage::Storage& file) {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        if (!std::exchange(tables_[i].changed, false)) continue;
        auto const& place = parts_.skeleton.tables[i];
        file.write_beside_queues(place.anchor_offset, to_bytes(anchor_of(place, tables_[i].footer)));
    }
}

} // namespace thalweg::format::rntuple
