#include "thalweg/dataset/begin/creation.h"

#include <filesystem>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/run/lock.h"
#include "thalweg/dataset/run/run_memory.h"

namespace thalweg::dataset {
namespace {

constexpr std::string_view kReplaceIt =
    "replace it with the option 'force' (--force in the terminal, force=True in Python, CreateOptions::force in C++)";

// Removes the memory of an unfinished run, unless it is that of the run which this is a copy of.
void remove_memory_at(std::vector<RunPlace> const& places, Journals const& journals) {
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto const start = journals[i].start();
        bool const has_memory = start->kind == JournalKind::journal && places[i].is_original(start->preamble);
        if (has_memory) remove_memory_of(start->preamble.run_id, places[i], journals[i]);
    }
}

// The others write, or have completed the file already and removed the journals.
bool has_begun(RunPlace const& place) {
    if (!place.is_of_many()) return false;
    return !place.has_journal() || place.parts().has(kBegun);
}

// Why a creation failed is what its caller has to hear, and each thing that it left is removed whatever becomes of the
// others.
template <typename Step> void quietly(Step const& step) {
    try {
        step();
    } catch (base::SystemError const&) {
    }
}

} // namespace

std::vector<base::FileDescriptor> lock_for_creation(std::string const& path, std::vector<RunPlace> const& places) {
    std::vector<base::FileDescriptor> locks;
    for (auto const& place : places) {
        locks.push_back(try_lock_exclusive(place.journal()));
        if (locks.back()) continue;
        base::fail_usage({"cannot create " + path,
                          "the run there is still being written, or another process recovers it",
                          "choose another path, or wait until that run is closed"});
    }
    return locks;
}

void check_folder_of(std::string const& path) {
    auto const folder = std::filesystem::path(path).parent_path().string();
    if (!exists(folder)) base::fail_usage({"cannot create " + path, "there is no folder " + folder, "make it first"});
    if (base::is_directory(path)) base::fail_usage({"cannot create " + path, "it is a directory"});
}

void clear_place(std::string const& path) {
    check_folder_of(path);
    if (auto const places = places_of_run(path); !places.empty()) {
        auto const locks = lock_for_creation(path, places); // until all is gone
        auto const journals = open_journals(places, storage::OpenMode::read_only);
        check_nodes_are_down(places, journals, "replace");
        if (!is_stub(places, journals)) {
            base::fail_usage({"cannot create " + path, "the journal of an unfinished run is there",
                              fmt::format("{} with `thalweg recover {}`, or {}",
                                          exists(path) ? "complete that run" : "put its file back and complete the run",
                                          path, kReplaceIt)});
        }
        places.front().clear_stub();
    }
    if (exists(path)) {
        base::fail_usage({"cannot create " + path, "it exists, and a closed file is not opened for writing again",
                          fmt::format("choose another path, or {}", kReplaceIt)});
    }
    RunPlace const place(path);
    place.remove_later_segments(); // that were left without their journal
    place.parts().remove();
}

void remove_run_at(std::string const& path) {
    auto const places = places_of_run(path);
    if (places.empty()) return;
    remove_memory_at(places, open_journals(places, storage::OpenMode::read_only)); // which are closed behind it
    base::remove_file(places.front().data());
    places.front().remove_journal();
    RunPlace(path).parts().remove();
}

JournalFiles take_place(RunPlace const& place) {
    if (place.is_of_many()) place.parts().make();
    try {
        return place.open_journal(storage::OpenMode::create_new);
    } catch (base::SystemError const&) {
        if (place.is_of_many()) base::remove_directory(place.parts().path()); // unless another node has come already
        throw;
    }
}

void remove_traces(OpenRun& run, RunPlace const& place, std::string const& why) {
    bool const made_file = run.file != nullptr;
    run.file.reset();
    run.journal_lock.reset();
    if (run.ledger && run.ledger->is_shared()) remove_segments(run.ledger->name());
    auto const there = place.run_id();
    if (there && *there != run.head.id) return; // another process was faster
    bool begun = true;
    quietly([&] {
        begun = has_begun(place);
        if (!begun || !run.node) return;
        auto share = *run.node;
        share.rules = rules_of(share.parts);
        share.announce_end(why);
    });
    if (begun) return;
    bool const is_first = place.node().node == 0;
    if (made_file && is_first) quietly([&] { base::remove_file(place.data()); });
    quietly([&] { base::remove_file(place.journal()); });
    if (place.is_of_many() && is_first) quietly([&] { place.parts().remove(); });
}

} // namespace thalweg::dataset
