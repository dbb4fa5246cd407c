#include "thalweg/format/hdf5/page_table.h"

#include <cstring>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {
namespace {

constexpr auto kOffset = "/thalweg/pages/offset";
constexpr auto kStoredBytes = "/thalweg/pages/stored_bytes";
constexpr auto kChecksum = "/thalweg/pages/checksum";
constexpr auto kReadableEverywhere = "shuffle+deflate-1"; // by every build of HDF5
constexpr auto kRandom = "none";                          // does not shrink

using Member = std::uint64_t GridPage::*;

CheckedDataset plan_member(FilePlan const& plan, char const* path, char const* codec, Member member,
                           Appender& appender) {
    std::vector<std::uint64_t> values;
    for (auto const& dataset : plan.datasets) {
        for (auto const& page : dataset.pages) values.push_back(page.*member);
    }
    return append_checked(path, model::Scalar::uint64, std::as_bytes(std::span(values)), codec, appender);
}

void read_member(std::vector<GridPage>& pages, FileHandle const& handle, char const* path, Member member) {
    auto const bytes = read_checked(handle, path, model::Scalar::uint64);
    if (pages.empty()) pages.resize(bytes.size() / sizeof(std::uint64_t));
    if (bytes.size() != pages.size() * sizeof(std::uint64_t)) {
        base::fail_data({"the page table cannot be read", std::string(path) + " differs in length"});
    }
    for (std::size_t i = 0; i < pages.size(); ++i) {
        std::memcpy(&(pages[i].*member), bytes.data() + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
    }
}

} // namespace

std::vector<CheckedDataset> plan_page_table(FilePlan const& plan, Appender& appender) {
    std::vector<CheckedDataset> table;
    table.push_back(plan_member(plan, kOffset, kReadableEverywhere, &GridPage::offset, appender));
    table.push_back(plan_member(plan, kStoredBytes, kReadableEverywhere, &GridPage::stored_bytes, appender));
    table.push_back(plan_member(plan, kChecksum, kRandom, &GridPage::checksum, appender));
    return table;
}

std::vector<GridPage> read_page_table(FileHandle const& handle) {
    std::vector<GridPage> pages;
    read_member(pages, handle, kOffset, &GridPage::offset);
    read_member(pages, handle, kStoredBytes, &GridPage::stored_bytes);
    read_member(pages, handle, kChecksum, &GridPage::checksum);
    return pages;
}

} // namespace thalweg::format::hdf5
