#include "thalweg/format/hdf5/ours/run_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/object_creation.h"
#include "thalweg/format/hdf5/plain_attributes.h"
#include "thalweg/model/json_part.h"

namespace thalweg::format::hdf5::ours {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFormatVersion = 1;
constexpr auto kGroup = "/thalweg";
constexpr auto kMetadataGroup = "/thalweg/metadata";
constexpr auto kRun = "/thalweg/run";
constexpr auto kUnits = "/thalweg/units";
constexpr auto kTextCodec = "deflate-1"; // every build of HDF5 reads it
constexpr auto kVersion = "format_version";

json datasets_to_json(FilePlan const& plan) {
    auto list = json::array();
    for (auto const& dataset : plan.datasets) list.push_back({dataset.path, dataset.items, dataset.pages.size()});
    return list;
}

json mappings_to_json(FilePlan const& plan) {
    auto object = json::object();
    for (auto const& dataset : plan.virtual_datasets) {
        auto& list = object[dataset.path] = json::array();
        for (auto const& each : dataset.mappings) list.push_back({each.source, each.first, each.count, each.at});
    }
    return object;
}

RecordedDataset dataset_from_json(json const& entry) {
    return {entry.at(0).get<std::string>(), entry.at(1).get<std::uint64_t>(), entry.at(2).get<std::uint64_t>()};
}

Mapping mapping_from_json(json const& entry) {
    Mapping mapping;
    mapping.source = entry.at(0).get<std::string>();
    mapping.first = entry.at(1).get<std::uint64_t>();
    mapping.count = entry.at(2).get<std::uint64_t>();
    mapping.at = entry.at(3).get<std::uint64_t>();
    return mapping;
}

RunRecord record_from_json(json const& all) {
    RunRecord record;
    record.head = model::run_head_from_json(all.at("head").get<std::string>());
    record.metadata = all.at("metadata").get<std::map<std::string, std::string>>();
    for (auto const& entry : all.at("datasets")) record.datasets.push_back(dataset_from_json(entry));
    for (auto const& [path, list] : all.at("mappings").items()) {
        for (auto const& entry : list) record.mappings[path].push_back(mapping_from_json(entry));
    }
    return record;
}

bool exists(FileHandle const& handle, char const* path) {
    auto const found = H5Lexists(handle.get(), path, H5P_DEFAULT);
    if (found < 0) fail_hdf5(std::string("whether there is a ") + path + " cannot be read");
    return found > 0;
}

void check_version(FileHandle const& handle) {
    GroupHandle const group(H5Gopen2(handle.get(), kGroup, H5P_DEFAULT), "the group /thalweg cannot be opened");
    auto const version = read_number(group.get(), kVersion);
    if (version && *version <= kFormatVersion) return;
    base::fail_data({"the group /thalweg cannot be read",
                     fmt::format("its format has version {}, known is {}", version.value_or(0), kFormatVersion),
                     "use a newer Thalweg"});
}

} // namespace

CheckedDataset plan_run_record(FilePlan const& plan, model::RunHead const& head,
                               std::map<std::string, std::string> const& metadata, Appender& appender) {
    json const record{{"head", model::to_json(head)},
                      {"metadata", metadata},
                      {"datasets", datasets_to_json(plan)},
                      {"mappings", mappings_to_json(plan)}};
    auto const text = record.dump(-1, ' ', false, json::error_handler_t::replace);
    return append_checked(kRun, model::Scalar::uint8, std::as_bytes(std::span(text)), kTextCodec, appender);
}

CheckedDataset plan_units(std::span<std::byte const> units, Appender& appender) {
    return append_checked(kUnits, model::Scalar::uint8, units, kTextCodec, appender);
}

void write_run_attributes(model::RunHead const& head, std::map<std::string, std::string> const& metadata,
                          FileHandle const& handle) {
    GroupHandle const group(H5Gopen2(handle.get(), kGroup, H5P_DEFAULT), "the group /thalweg cannot be opened");
    write_number(group.get(), kVersion, kFormatVersion);
    write_text(group.get(), "run_id", head.id);
    auto const values = make_group(handle, kMetadataGroup);
    for (auto const& [key, value] : metadata) write_text(values.get(), key, value);
}

std::optional<RunRecord> read_run_record(ReadingFile& file, FileHandle const& handle) {
    if (!exists(handle, kGroup) || !exists(handle, kRun)) return std::nullopt;
    check_version(handle);
    auto const text = read_checked(file, handle, kRun, model::Scalar::uint8);
    try {
        auto const* begin = reinterpret_cast<char const*>(text.data());
        return record_from_json(json::parse(begin, begin + text.size()));
    } catch (json::exception const& error) {
        base::fail_data({"the dataset /thalweg/run cannot be read", model::why_of(error)});
    }
}

std::vector<std::byte> read_units(ReadingFile& file, FileHandle const& handle) {
    if (!exists(handle, kUnits)) return {};
    return read_checked(file, handle, kUnits, model::Scalar::uint8);
}

} // namespace thalweg::format::hdf5::ours
