#include "thalweg/format/hdf5/ours/checked_dataset.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/dataset_pages.h"
#include "thalweg/format/hdf5/ours/chunk_encoder.h"
#include "thalweg/format/hdf5/ours/linked_datasets.h"
#include "thalweg/format/hdf5/plain_attributes.h"
#include "thalweg/format/hdf5/stored_dataset.h"
#include "thalweg/format/hdf5/types.h"
#include "thalweg/format/page_decoder.h"

namespace thalweg::format::hdf5::ours {
namespace {

constexpr std::uint64_t kMaxPageItems = 1 << 16;
constexpr std::uint64_t kMostShrunk = 1032; // deflate, of zeros: what says it is more must not ask for memory
constexpr auto kChecksum = "xxh3";

DatasetHandle open_dataset(FileHandle const& handle, std::string const& path) {
    return {H5Dopen2(handle.get(), path.c_str(), H5P_DEFAULT), "the dataset " + path + " cannot be read"};
}

// None where another program has rewritten it in a way that only libhdf5 reads.
std::optional<Dataset> stored_as_written(ReadingFile& file, FileHandle const& handle, std::string const& path,
                                         model::Scalar scalar, std::uint64_t items) {
    try {
        auto dataset = StoredDataset(file, handle, path).read();
        bool const whole = std::ranges::all_of(dataset.pages, [](auto const& page) { return page.stored_bytes > 0; });
        bool const same =
            whole && is_plain(dataset) && dataset.scalar == scalar && dataset.shape.empty() && dataset.items == items;
        return same ? std::optional(std::move(dataset)) : std::nullopt;
    } catch (base::DataError const&) {
        return std::nullopt;
    }
}

// With our own codecs: libhdf5 trusts what its filters give, however short that is.
void decode(Dataset const& dataset, storage::Storage const& file, std::span<std::byte> items) {
    PageDecoder decoder;
    PageUnit const unit{dataset.scalar, dataset.item_bytes};
    for (auto const& page : pages_of(dataset)) {
        auto const out = items.subspan(page.first * dataset.item_bytes, page.count * dataset.item_bytes);
        decoder.decode(page, file, unit, dataset.codec, false, out);
    }
}

} // namespace

CheckedDataset append_checked(std::string path, model::Scalar scalar, std::span<std::byte const> items,
                              std::string codec, Appender& appender) {
    auto const item_bytes = model::size_bytes(scalar);
    auto const page_items = std::clamp<std::uint64_t>(items.size() / item_bytes, 1, kMaxPageItems);
    Dataset dataset{std::move(path), scalar, {}, item_bytes, std::move(codec), page_items, 0, {}};
    append_items(dataset, items, appender);
    return {std::move(dataset), base::xxh3(items)};
}

void link_checked(CheckedDataset const& checked, FileHandle const& handle, ClaimingFile& file) {
    link_dataset(checked.dataset, handle, file);
    write_number(open_dataset(handle, checked.dataset.path).get(), kChecksum, checked.checksum);
}

std::vector<std::byte> read_checked(ReadingFile& file, FileHandle const& handle, std::string const& path,
                                    model::Scalar scalar) {
    auto const what = "the dataset " + path + " cannot be read";
    auto const dataset = open_dataset(handle, path);
    SpaceHandle const space(H5Dget_space(dataset.get()), what);
    auto const items = H5Sget_simple_extent_npoints(space.get());
    if (items < 0) fail_hdf5(what);
    auto const file_bytes = file.storage().size();
    if (static_cast<std::uint64_t>(items) / kMostShrunk > file_bytes) {
        base::fail_data({what, fmt::format("{} items do not fit in the file's {} bytes", items, file_bytes)});
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(items) * model::size_bytes(scalar));
    auto const stored = stored_as_written(file, handle, path, scalar, static_cast<std::uint64_t>(items));
    if (stored) {
        decode(*stored, file.storage(), bytes);
    } else {
        check(H5Dread(dataset.get(), make_type(scalar).get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()), what);
    }
    if (read_number(dataset.get(), kChecksum) != base::xxh3(bytes)) {
        base::fail_data({what, "its checksum does not fit: it is damaged"});
    }
    return bytes;
}

} // namespace thalweg::format::hdf5::ours
