#include "thalweg/dataset/begin/earlier_files.h"

#include <filesystem>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

std::string name_of(std::string const& path) { return std::filesystem::path(path).filename().string(); }

std::string value(Metadata const& metadata, char const* key) {
    auto const found = metadata.find(key);
    return found == metadata.end() ? "" : found->second;
}

[[noreturn]] void refuse(std::string const& path, std::string const& why, std::string const& suggestion) {
    base::fail_usage({"cannot resume the run at " + path, why, suggestion});
}

std::unique_ptr<Reader> open_earlier(std::string const& path, std::string const& earlier, std::string const& run_id) {
    if (RunPlace(earlier).has_journal()) {
        refuse(path, fmt::format("{} has keys of work units that may not be done again, and is not complete", earlier),
               fmt::format("run `thalweg recover {}` first", earlier));
    }
    if (!exists(earlier)) {
        refuse(path,
               fmt::format("it continues {}, whose keys of work units may not be done again, and which is not there",
                           earlier),
               "put that file beside it, or recover this one and begin a new run");
    }
    auto reader = Reader::open(earlier);
    if (reader->head().id != run_id) {
        refuse(path, fmt::format("{} is not the file that it continues: it is of another run", earlier),
               "put the right file there, or recover this one and begin a new run");
    }
    return reader;
}

} // namespace

Metadata previous_file(std::string const& path, std::string const& run_id) {
    return {{kPreviousFile, name_of(path)}, {kPreviousRun, run_id}};
}

Metadata next_file(std::string const& path, std::string const& run_id) {
    return {{kNextFile, name_of(path)}, {kNextRun, run_id}};
}

void check_not_continued(std::string const& path, Metadata const& metadata) {
    if (!metadata.contains(kNextRun)) return;
    refuse(path, fmt::format("it goes on in {}", value(metadata, kNextFile)),
           "recover it, and resume the last file of the run");
}

std::vector<UnitKey> keys_of_earlier_files(std::string const& path, Metadata metadata) {
    std::vector<UnitKey> keys;
    auto const folder = std::filesystem::path(path).parent_path();
    while (metadata.contains(kPreviousRun)) {
        auto const earlier = (folder / name_of(value(metadata, kPreviousFile))).string();
        auto const reader = open_earlier(path, earlier, value(metadata, kPreviousRun));
        for (auto& unit : reader->units()) keys.push_back(std::move(unit.key));
        metadata = reader->metadata();
    }
    return keys;
}

} // namespace thalweg::dataset
