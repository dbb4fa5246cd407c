#include "thalweg/dataset/complete/image.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/complete/unit_list.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/run/unit_group.h"

namespace thalweg::dataset {
namespace {

constexpr char const* kMetadataKey = "snapshot";

[[noreturn]] void refuse(std::string const& path, ImageOptions const& options, std::string const& why,
                         std::string const& suggestion) {
    base::fail_usage({"cannot " + options.what + " " + path, why, suggestion});
}

// Returns nothing if the run was closed just now.
std::optional<Journals> open_run(std::string const& path, std::vector<RunPlace> const& places,
                                 ImageOptions const& options) {
    try {
        auto journals = open_journals(places, storage::OpenMode::read_only);
        if (is_stub(places, journals)) refuse(path, options, "nothing is recorded yet", "try again in a moment");
        if (!exists(path))
            refuse(path, options, "its journal is there, and it is not", "has it been moved or removed?");
        return journals;
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw;
        return std::nullopt;
    }
}

// Holds what is known besides the journal. The memory of the run is only looked at.
struct Circumstances {
    RunState state = RunState::copied;
    std::uint64_t committed = 0; // units or, in a run that is ordered by key, groups of them
};

// Looks at the nodes on this machine. If all nodes are elsewhere, pages that may not be durable are compared with their
// checksums.
Circumstances look_around(std::vector<RunPlace> const& places, Journals const& journals, std::string const& run_id) {
    if (!places.front().is_original(journals.front().required_start()->preamble)) return {};
    Circumstances found{RunState::ended, 0};
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto const ledger = find_ledger(run_id, places[i], journals[i]);
        if (!ledger) continue;
        auto const& head = ledger->head();
        if (base::is_alive(head.committer)) found.state = RunState::open;
        found.committed += head.units_committed;
    }
    return found;
}

// The journal does not know yet of units that are committed while some of their rows are in memory alone.
std::uint64_t units_left_out(Gathered const& gathered, std::uint64_t committed) {
    auto const per_group = gathered.head.keys_per_group;
    std::uint64_t counted = gathered.units.size();
    if (per_group > 0) {
        std::set<std::int64_t> groups;
        for (auto const& unit : gathered.units) groups.insert(group_of(unit.key.integer, per_group));
        counted = groups.size();
    }
    return std::max<std::uint64_t>(gathered.left_out.size(), committed - std::min(committed, counted));
}

std::string described(std::string const& path, Gathered const& gathered) {
    nlohmann::ordered_json json;
    json["of"] = std::filesystem::path(path).filename().string();
    json["taken"] = base::utc_now();
    for (auto const& table : gathered.report.tables) {
        json["rows"][table.table] = table.rows;
        if (table.rows_to_come > 0) json["rows_to_come"][table.table] = table.rows_to_come;
        if (table.lost_rows > 0) json["lost_rows"][table.table] = table.lost_rows;
    }
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Returns the end of all that the metadata of the file may refer to, and of what lies in front of all pages.
std::uint64_t end_of_data(Gathered const& gathered, format::Format const& format, std::string const& path) {
    auto const begin = format.begin(*storage::make_memory_storage(path), gathered.head);
    return base::round_up(std::max(gathered.facts.end_offset, begin), base::kBlockBytes);
}

// What a journal has is told by its main file and by its last segment.
ImageStamp stamp_of_unfinished(std::vector<RunPlace> const& places, Journals const& journals) {
    ImageStamp stamp;
    for (std::size_t i = 0; i < places.size(); ++i) {
        stamp.files.push_back(storage::SteadyFile(places[i].journal()).state());
        auto const segments = journals[i].segments->list();
        if (segments.empty()) continue;
        auto const last = journals[i].segments->open(segments.back());
        stamp.files.push_back({0, segments.back(), last ? last->size() : 0, 0});
    }
    stamp.is_unfinished = true;
    stamp.is_written = look_around(places, journals, read_head(journals.front()).id).state == RunState::open;
    return stamp;
}

void leave_clusters_as_they_are(model::RunFacts& facts) {
    for (auto& parts : facts.tables) {
        for (auto& part : parts) {
            for (auto& cluster : part.clusters) cluster.ended_by_age = false;
        }
    }
}

} // namespace

std::optional<Image> image_of_unfinished(std::string const& path, ImageOptions const& options) {
    auto const places = places_of_run(path);
    if (places.empty()) {
        if (!exists(path)) refuse(path, options, "there is no such file", "name the file that is being written");
        return std::nullopt;
    }
    auto const journals = open_run(path, places, options);
    if (!journals) return std::nullopt;
    auto const head = read_head(journals->front());
    auto file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
    auto const& format = format_for(path);
    check_pair(*file, format, head);
    auto const [state, committed] = look_around(places, *journals, head.id); // before the journal: so none is missed
    auto gathered = gather(*journals, *file, state);
    if (gathered.closed && state != RunState::copied) return std::nullopt;
    gathered.facts.end_offset = end_of_data(gathered, format, path);
    gathered.facts.metadata[kMetadataKey] = described(path, gathered);
    gathered.facts.units = encode_units(place_units(gathered.units, gathered.head, gathered.facts));
    if (!options.joins_clusters) leave_clusters_as_they_are(gathered.facts);

    Image image;
    image.run_id = head.id;
    image.file = std::make_unique<storage::Overlay>(std::move(file), gathered.facts.end_offset);
    begin_again(*image.file, format, gathered, state);
    note_joined(format.complete(*image.file, *gathered.rows, gathered.head, gathered.facts), gathered.report);
    clear_interim_sector(*image.file, format);
    image.units_left_out = units_left_out(gathered, committed);
    image.is_written = state == RunState::open;
    image.report = std::move(gathered.report);
    return image;
}

FileImage image_of(std::string const& path) {
    if (auto image = image_of_unfinished(path)) {
        auto file = std::move(image->file);
        auto const memory_bytes = file->changed_bytes();
        return {std::move(file), std::move(image), std::nullopt, memory_bytes};
    }
    auto file = std::make_unique<storage::SteadyFile>(path);
    file->hold();
    auto const state = file->state();
    return {std::move(file), std::nullopt, state};
}

ImageStamp image_stamp(std::string const& path) {
    try {
        auto const places = places_of_run(path);
        auto const journals = places.empty() ? std::nullopt : open_run(path, places, {});
        if (journals) return stamp_of_unfinished(places, *journals);
    } catch (base::SystemError const& error) {
        if (error.code != ENOENT) throw; // else it was closed just now
    }
    if (!exists(path)) refuse(path, {}, "there is no such file", "has it been moved or removed?");
    return {{storage::SteadyFile(path).state()}, false, false};
}

} // namespace thalweg::dataset
