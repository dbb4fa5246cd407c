#include "thalweg/format/rntuple/format.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/rntuple/container/tfile_records.h"
#include "thalweg/format/rntuple/reading/ntuple_file.h"
#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/format/rntuple/writing/file_parts.h"
#include "thalweg/format/rntuple/writing/interim_footers.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::uint64_t kUsualPageBytes = 256 * base::kKiB;
constexpr std::uint64_t kClusterBytesPerColumn = 256 * base::kKiB; // more than one page each: memory ends it before
constexpr std::uint64_t kMaxPageBytes = 512 * base::kMiB;          // a key holds 1 GiB at most
constexpr std::uint64_t kLargestGapBytes = base::kGiB;             // its size is one number of 32 bits, with a sign
constexpr char const* kCodec = "zstd-1";

} // namespace

model::LayoutOptions RNTupleFormat::with_own_values(model::LayoutOptions options) const {
    options.narrow_page_bytes = options.narrow_page_bytes.value_or(kUsualPageBytes);
    if (options.wide_codec.empty()) options.wide_codec = kCodec;
    if (options.narrow_codec.empty()) options.narrow_codec = kCodec;
    return options;
}

model::RunHead RNTupleFormat::make_head(model::Schema schema, model::LayoutOptions const& options,
                                        std::map<std::string, std::string> metadata) const {
    auto own = with_own_values(options);
    auto head = model::make_run_head(storable(schema), own, std::move(metadata));
    // Also where no column has it: it is written down as what is in effect.
    for (auto const& codec : {own.wide_codec, own.narrow_codec}) static_cast<void>(codec_of(model::Column{}, codec));
    for (std::size_t t = 0; t < head.layouts.size(); ++t) {
        auto& layout = head.layouts[t];
        own.cluster_bytes = std::max(options.cluster_bytes, head.columns[t].size() * kClusterBytesPerColumn);
        layout = model::plan_cluster_layout(head.columns[t], own);
        for (std::size_t i = 0; i < layout.columns.size(); ++i) {
            auto const& column = head.columns[t][i];
            layout.columns[i].codec = codec_of(column, layout.columns[i].codec);
            if (layout.columns[i].page_items * column.item_bytes() <= kMaxPageBytes) continue;
            base::fail_usage(
                {fmt::format("table '{}', column '{}' cannot be stored", head.schema.tables[t].name, column.path),
                 "a page of it has more than 512 MiB", "split it, or ask for smaller pages"});
        }
    }
    static_cast<void>(file_parts(head)); // names that ROOT cannot hold are refused before anything is written
    return head;
}

ExtentRules RNTupleFormat::extent_rules() const { return {kBlobHeadBytes, true, true}; }

void RNTupleFormat::write_extent_head(std::span<std::byte> extent, std::uint64_t offset) const {
    write_blob_head(extent, offset, base::unix_seconds());
}

void RNTupleFormat::write_gap(storage::Storage& file, std::uint64_t offset, std::uint64_t size_bytes) const {
    for (auto const end = offset + size_bytes; offset < end;) {
        auto const bytes = std::min(end - offset, kLargestGapBytes);
        BigPutter head;
        head.put<std::int32_t>(-static_cast<std::int32_t>(bytes));
        file.write(offset, head.bytes());
        offset += bytes;
    }
}

// The file can be opened from now on: it has no rows yet.
std::uint64_t RNTupleFormat::begin(storage::Storage& file, model::RunHead const& head) const {
    RNTupleInterimFooters empty(head);
    file.write(0, empty.skeleton().bytes);
    auto const footers_offset = empty.skeleton().bytes.size();
    auto const footers_bytes = empty.write_all(file, footers_offset);
    empty.publish(file); // durable with all the rest, or written again
    return footers_offset + footers_bytes;
}

std::unique_ptr<InterimMetadata> RNTupleFormat::interim_footers(model::RunHead const& head) const {
    return std::make_unique<RNTupleInterimFooters>(head);
}

std::optional<std::string> RNTupleFormat::run_id_of(storage::Storage const& file) const {
    try {
        for (auto const& key : read_keys(file)) {
            if (key.path == kTextName) return parse_run_text(read_text(file, key)).head.id;
        }
    } catch (base::DataError const&) {
        // Whatever it is, it is not what Thalweg began.
    }
    return std::nullopt;
}

bool RNTupleFormat::is_torn(storage::Storage const& file, model::RunHead const& head) const {
    std::array<std::byte, kSectorBytes> sector;
    file.read(0, sector);
    return has_place_of(sector, RNTupleInterimFooters(head).skeleton().bytes);
}

void RNTupleFormat::check(storage::Storage const& file) const {
    check_free_list(file); // also where our text is not found: its name may be what is damaged
    auto const ntuples = read_ntuples(file);
    if (!ntuples.text) return;
    check_seal(file, ntuples.text->seal);
    read_units(file, ntuples.text->units);
}

MetadataBound RNTupleFormat::metadata_bound(model::RunHead const& head) const {
    constexpr std::uint64_t kPageEntryBytes = 16;
    constexpr std::uint64_t kColumnEntryBytes = 48; // of each column in each cluster, pages or not
    std::uint64_t most_columns = 1;
    for (auto const& columns : head.columns) {
        // A cluster has a page of every column that counts rows; only the others can be empty.
        // Every table has one, because it has fields; clang-tidy cannot know.
        auto const counting = std::max<std::ptrdiff_t>(
            1, std::count_if(columns.begin(), columns.end(), [](auto const& each) { return !each.parent; }));
        most_columns = std::max<std::uint64_t>(most_columns, (columns.size() + counting - 1) / counting);
    }
    auto const parts = file_parts(head).skeleton.bytes.size();
    return {2 * parts + base::kMiB, kPageEntryBytes + most_columns * kColumnEntryBytes};
}

Format const& rntuple_format() {
    static RNTupleFormat const format;
    return format;
}

} // namespace thalweg::format::rntuple
