// Makes an open RNTuple file readable: each interim footer appends one cluster group a table and new footers, and the
// anchors name these afterwards.
//
// Invariants
//   1. An anchor names a footer that was durable before it. So between `write` and `publish` the caller syncs the file.
//   2. A footer that an anchor may name is never written over: each `write` lies behind the one before it.
//   3. The footer of a table lists all clusters that were added to it before the last `write`, in their order.
//
// States of a table, and what moves them:
//
//                add                          write                            (caller syncs)   publish
//   published ─────────→ has pending clusters ──────→ changed: footer written ───────────────────────→ published
//
//   - `add` may be called in any state; the cluster waits for the next `write`.
//   - A table without pending clusters keeps its footer in `write`, and its anchor in `publish`.
//   - If `write` or the sync fails, the anchors still name the last footers, and the file stays readable up to these.
//   - dataset/commit/flush.cc moves all tables of a run together; FileEnding (file_ending.h) takes over at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "thalweg/format/format.h"
#include "thalweg/format/rntuple/writing/blob_writer.h"
#include "thalweg/format/rntuple/writing/cluster_descriptions.h"
#include "thalweg/format/rntuple/writing/file_parts.h"

namespace thalweg::format::rntuple {

class RNTupleInterimFooters final : public InterimMetadata {
  public:
    explicit RNTupleInterimFooters(model::RunHead const& head);

    bool takes_clusters() const override { return true; }
    void add(std::size_t table, ClusterPages const& cluster) override;
    std::uint64_t expected_bytes() const override;
    std::uint64_t prepare(Known const&) override { return expected_bytes(); }
    bool write(storage::Storage& file, std::uint64_t offset) override;
    void publish(storage::Storage& file) override;

    Skeleton const& skeleton() const { return parts_.skeleton; }
    // Writes a footer for every table, whether it has pending clusters or not. Returns how many bytes it has written.
    std::uint64_t write_all(storage::Storage& file, std::uint64_t offset);

  private:
    struct Table {
        ClusterDescriber describer;
        std::vector<ClusterDescription> pending;
        std::uint64_t pending_bytes = 0; // of their descriptions
        std::vector<ClusterGroup> groups;
        EnvelopeLink footer;
        bool changed = false; // since its anchor was written
    };

    Blob blob_at(std::uint64_t offset, bool all, std::vector<Table>& tables) const;
    void write_behind_the_last(storage::Storage& file, std::uint64_t offset, std::vector<std::byte> const& bytes);

    FileParts parts_;
    std::uint64_t created_s_;
    std::vector<Table> tables_;
    std::uint64_t end_ = 0; // of what was written last
};

} // namespace thalweg::format::rntuple
