#include <algorithm>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/container/tfile_records.h"

namespace thalweg::format::rntuple {

void write_blob_head(std::span<std::byte> blob, std::uint64_t offset, std::uint64_t seconds) {
    if (blob.size() < kBlobHeadBytes || blob.size() > kMaxRecordBytes) {
        base::fail_usage(
            {"an extent of " + std::to_string(blob.size()) + " bytes",
             "an RBlob of ROOT has " + std::to_string(kBlobHeadBytes) + " to " + std::to_string(kMaxRecordBytes)});
    }
    BigPutter head;
    put(head, {.class_name = "RBlob",
               .name = "",
               .title = "",
               .date = packed_date(seconds),
               .offset = offset,
               .key_bytes = kBlobHeadBytes,
               .record_bytes = static_cast<std::uint32_t>(blob.size()),
               .object_bytes = static_cast<std::uint32_t>(blob.size() - kBlobHeadBytes)});
    std::ranges::copy(head.bytes(), blob.begin());
}

} // namespace thalweg::format::rntuple
