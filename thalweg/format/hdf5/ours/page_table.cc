#include "thalweg/format/hdf5/ours/page_table.h"

#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5::ours {
namespace {

constexpr auto kOffsetPath = "/thalweg/pages/offset";
constexpr auto kStoredBytesPath = "/thalweg/pages/stored_bytes";
constexpr auto kChecksumPath = "/thalweg/pages/checksum";
constexpr auto kNumbersCodec = "shuffle+deflate-1"; // every build of HDF5 reads it
constexpr auto kChecksumsCodec = "none";            // they do not shrink

// Every page has a checksum: producers compute it as they write, and so does the code that gathers rows at the end.
std::uint64_t page_checksum(Chunk const& page) {
    if (page.stored_bytes == 0) return 0;
    if (!page.checksum) base::fail_data({fmt::format("the page at offset {} has no checksum", page.offset)});
    return *page.checksum;
}

template <typename Get>
CheckedDataset plan_member(FilePlan const& plan, char const* path, char const* codec, Get const& get,
                           Appender& appender) {
    std::vector<std::uint64_t> values;
    for (auto const& dataset : plan.datasets) {
        for (auto const& page : dataset.pages) values.push_back(get(page));
    }
    return append_checked(path, model::Scalar::uint64, std::as_bytes(std::span(values)), codec, appender);
}

template <typename Set>
void read_member(std::vector<Chunk>& pages, ReadingFile& file, FileHandle const& handle, char const* path,
                 Set const& set) {
    auto const bytes = read_checked(file, handle, path, model::Scalar::uint64);
    if (pages.empty()) pages.resize(bytes.size() / sizeof(std::uint64_t));
    if (bytes.size() != pages.size() * sizeof(std::uint64_t)) {
        base::fail_data({"the page table cannot be read", std::string(path) + " differs in length"});
    }
    for (std::size_t i = 0; i < pages.size(); ++i) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        set(pages[i], value);
    }
}

} // namespace

std::vector<CheckedDataset> plan_page_table(FilePlan const& plan, Appender& appender) {
    std::vector<CheckedDataset> table;
    table.push_back(plan_member(
        plan, kOffsetPath, kNumbersCodec, [](Chunk const& page) { return page.offset; }, appender));
    table.push_back(plan_member(
        plan, kStoredBytesPath, kNumbersCodec, [](Chunk const& page) { return page.stored_bytes; }, appender));
    table.push_back(plan_member(plan, kChecksumPath, kChecksumsCodec, page_checksum, appender));
    return table;
}

std::vector<Chunk> read_page_table(ReadingFile& file, FileHandle const& handle) {
    std::vector<Chunk> pages;
    read_member(pages, file, handle, kOffsetPath, [](Chunk& page, std::uint64_t value) { page.offset = value; });
    read_member(pages, file, handle, kStoredBytesPath,
                [](Chunk& page, std::uint64_t value) { page.stored_bytes = value; });
    read_member(pages, file, handle, kChecksumPath, [](Chunk& page, std::uint64_t value) {
        if (page.stored_bytes > 0) page.checksum = value;
    });
    return pages;
}

} // namespace thalweg::format::hdf5::ours
