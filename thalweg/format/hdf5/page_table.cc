#include "thalweg/format/hdf5/page_table.h"

#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr auto kOffset = "/thalweg/pages/offset";
constexpr auto kStoredBytes = "/thalweg/pages/stored_bytes";
constexpr auto kChecksum = "/thalweg/pages/checksum";
constexpr auto kReadableEverywhere = "shuffle+deflate-1"; // by every build of HDF5
constexpr auto kRandom = "none";                          // does not shrink

// Every page has one: producers, and whoever gathers rows at the end, sum up what they write.
std::uint64_t page_checksum(GridPage const& page) {
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
void read_member(std::vector<GridPage>& pages, ReadingFile& file, FileHandle const& handle, char const* path,
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
        plan, kOffset, kReadableEverywhere, [](GridPage const& page) { return page.offset; }, appender));
    table.push_back(plan_member(
        plan, kStoredBytes, kReadableEverywhere, [](GridPage const& page) { return page.stored_bytes; }, appender));
    table.push_back(plan_member(plan, kChecksum, kRandom, page_checksum, appender));
    return table;
}

std::vector<GridPage> read_page_table(ReadingFile& file, FileHandle const& handle) {
    std::vector<GridPage> pages;
    read_member(pages, file, handle, kOffset, [](GridPage& page, std::uint64_t value) { page.offset = value; });
    read_member(pages, file, handle, kStoredBytes,
                [](GridPage& page, std::uint64_t value) { page.stored_bytes = value; });
    read_member(pages, file, handle, kChecksum, [](GridPage& page, std::uint64_t value) {
        if (page.stored_bytes > 0) page.checksum = value;
    });
    return pages;
}

} // namespace thalweg::format::hdf5
