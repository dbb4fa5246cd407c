#include "thalweg/format/hdf5/page_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/attributes.h"
#include "thalweg/format/hdf5/page_encoder.h"

namespace thalweg::format::hdf5 {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxPageEntries = 1 << 16;
constexpr auto kGroup = "/thalweg";
constexpr auto kMetadataGroup = "/thalweg/metadata";
constexpr auto kOffset = "/thalweg/pages/offset";
constexpr auto kStoredBytes = "/thalweg/pages/stored_bytes";
constexpr auto kChecksum = "/thalweg/pages/checksum";
constexpr auto kReadableEverywhere = "shuffle+deflate-1"; // by every build of HDF5

template <typename Member>
Dataset plan_member(FilePlan const& plan, char const* path, std::string codec, Member GridPage::* member,
                    Appender& appender) {
    std::vector<Member> values;
    for (auto const& dataset : plan.datasets) {
        for (auto const& page : dataset.pages) values.push_back(page.*member);
    }
    auto const entries = std::clamp<std::uint64_t>(values.size(), 1, kMaxPageEntries);
    Dataset table{path, model::Scalar::uint64, {}, sizeof(Member), std::move(codec), entries, 0, {}};
    append_items(table, std::as_bytes(std::span(values)), appender);
    return table;
}

json datasets_to_json(FilePlan const& plan) {
    auto list = json::array();
    for (auto const& dataset : plan.datasets) list.push_back({dataset.path, dataset.items, dataset.pages.size()});
    return list;
}

std::vector<std::uint64_t> read_member(FileHandle const& handle, char const* path) {
    auto const what = std::string(path) + " cannot be read";
    DatasetHandle const dataset(H5Dopen2(handle.get(), path, H5P_DEFAULT), what);
    SpaceHandle const space(H5Dget_space(dataset.get()), what);
    auto const count = H5Sget_simple_extent_npoints(space.get());
    // Each entry stands for at least one byte of a file.
    if (count < 0 || H5Dget_storage_size(dataset.get()) > (1ull << 40)) base::fail_data({what, "its size is wrong"});
    std::vector<std::uint64_t> values(static_cast<std::size_t>(count));
    check(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
    return values;
}

GroupHandle make_group(FileHandle const& handle, char const* path) {
    return {H5Gcreate2(handle.get(), path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
            std::string("the group ") + path + " cannot be made"};
}

std::optional<GroupHandle> open_group(FileHandle const& handle, char const* path) {
    if (H5Lexists(handle.get(), kGroup, H5P_DEFAULT) <= 0) return std::nullopt;
    if (H5Lexists(handle.get(), path, H5P_DEFAULT) <= 0) return std::nullopt;
    return GroupHandle(H5Gopen2(handle.get(), path, H5P_DEFAULT), std::string(path) + " cannot be opened");
}

void check_version(hid_t group) {
    auto const version = read_number(group, "format_version");
    if (!version || *version > kFormatVersion) {
        base::fail_data({"the group /thalweg cannot be read",
                         fmt::format("its format has version {}, known is {}", version.value_or(0), kFormatVersion),
                         "use a newer Thalweg"});
    }
}

herr_t take_name(hid_t, char const* name, H5A_info_t const*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

} // namespace

std::vector<Dataset> plan_page_table(FilePlan const& plan, Appender& appender) {
    std::vector<Dataset> table;
    table.push_back(plan_member(plan, kOffset, kReadableEverywhere, &GridPage::offset, appender));
    table.push_back(plan_member(plan, kStoredBytes, kReadableEverywhere, &GridPage::stored_bytes, appender));
    table.push_back(plan_member(plan, kChecksum, "none", &GridPage::checksum, appender));
    return table;
}

void write_run_attributes(FilePlan const& plan, model::RunHead const& head,
                          std::map<std::string, std::string> const& metadata, FileHandle const& handle) {
    GroupHandle const group(H5Gopen2(handle.get(), kGroup, H5P_DEFAULT), "the group /thalweg cannot be opened");
    write_number(group.get(), "format_version", kFormatVersion);
    write_text(group.get(), "run_id", head.id);
    write_text(group.get(), "head", model::to_json(head));
    write_text(group.get(), "datasets", datasets_to_json(plan).dump());
    auto const values = make_group(handle, kMetadataGroup);
    for (auto const& [key, value] : metadata) write_text(values.get(), key, value);
}

std::optional<model::RunHead> read_run_head(FileHandle const& handle) {
    auto const group = open_group(handle, kGroup);
    if (!group) return std::nullopt;
    check_version(group->get());
    auto const head = read_text(group->get(), "head");
    if (!head) base::fail_data({"the group /thalweg cannot be read", "it has no attribute 'head'"});
    return model::run_head_from_json(*head);
}

std::map<std::string, std::string> read_metadata(FileHandle const& handle) {
    std::map<std::string, std::string> metadata;
    auto const group = open_group(handle, kMetadataGroup);
    if (!group) return metadata;
    std::vector<std::string> names;
    check(H5Aiterate2(group->get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_name, &names),
          "the metadata of the run cannot be read");
    for (auto const& name : names) metadata[name] = read_text(group->get(), name).value_or("");
    return metadata;
}

std::optional<std::map<std::string, Dataset>> read_page_table(FileHandle const& handle) {
    auto const group = open_group(handle, kGroup);
    auto const text = group ? read_text(group->get(), "datasets") : std::nullopt;
    if (!text) return std::nullopt;
    auto const list = json::parse(*text, nullptr, false);
    auto const offsets = read_member(handle, kOffset);
    auto const stored = read_member(handle, kStoredBytes);
    auto const checksums = read_member(handle, kChecksum);
    std::map<std::string, Dataset> datasets;
    std::size_t next = 0;
    try {
        for (auto const& entry : list) {
            Dataset dataset;
            dataset.path = entry.at(0).get<std::string>();
            dataset.items = entry.at(1).get<std::uint64_t>();
            dataset.pages.resize(std::min<std::size_t>(entry.at(2).get<std::size_t>(), offsets.size() - next));
            for (auto& page : dataset.pages) {
                page = {offsets[next], stored.at(next), checksums.at(next)};
                ++next;
            }
            datasets.emplace(dataset.path, std::move(dataset));
        }
    } catch (std::exception const& error) {
        base::fail_data({"the page table in /thalweg cannot be read", error.what()});
    }
    return datasets;
}

} // namespace thalweg::format::hdf5
