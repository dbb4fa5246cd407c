#include "thalweg/format/rntuple/writing/file_ending.h"

#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/writing/cluster_descriptions.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::uint64_t kMaxListBytes = 512 * base::kMiB;

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
EndingBytes sealed_ending(Skeleton const& skeleton, std::uint64_t offset, std::uint64_t seconds,
                          FileEnding::MakeText const& make_text) {
    auto const unsealed = make_text(FileSeal{skeleton.bytes.size(), 0, 0});
    auto const ending = make_ending(skeleton.bytes, unsealed, offset, seconds);
    auto sealed = make_ending(skeleton.bytes, make_text(make_seal(skeleton, ending, unsealed)), offset, seconds);
    THALWEG_ASSERT(sealed.file_bytes == ending.file_bytes,
                   "the seal is in the part of the text that is not compressed");
    return sealed;
}

} // namespace

FileEnding::FileEnding(storage::Storage& file, FileParts const& parts, BlobWriter& writer, std::uint64_t seconds)
    : file_(file), parts_(parts), writer_(writer), seconds_(seconds) {}

void FileEnding::add_table(PageList list, SchemaDescription const& extension) {
    auto const checksum = list.header_checksum;
    std::vector<ClusterGroup> groups;
    for (auto const& piece : pieces_of(std::move(list))) {
        groups.push_back(group_of(piece, writer_.add_envelope(to_envelope(piece))));
    }
    auto const footer = writer_.add_envelope(to_envelope(Footer{0, checksum, extension, std::move(groups)}));
    anchors_.push_back(anchor_of(parts_.skeleton.tables[anchors_.size()], footer));
}

std::uint64_t FileEnding::finish(MakeText const& make_text, bool is_cut_last) && {
    THALWEG_ASSERT(anchors_.size() == parts_.skeleton.tables.size(), "every table of the file gets an anchor");
    auto const end = writer_.flush();
    auto const ending = sealed_ending(parts_.skeleton, end, seconds_, make_text);
    file_.write(end, ending.appended);
    if (!is_cut_last) file_.resize(ending.file_bytes);
    file_.sync();
    auto const durable_end = ending.file_bytes;
    for (std::size_t i = 0; i < anchors_.size(); ++i) {
        THALWEG_ASSERT(anchors_[i].footer_offset + anchors_[i].footer_stored_bytes <= durable_end,
                       "anchors are written after the sync of what they name");
        file_.write(parts_.skeleton.tables[i].anchor_offset, to_bytes(anchors_[i]));
    }
    file_.sync(); // before the file says that it is closed
    file_.write(0, ending.first_sector);
    file_.sync();
    return ending.file_bytes;
}

} // namespace thalweg::format::rntuple
