#include "thalweg/dataset/begin/set_aside.h"

#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/base/say.h"
#include "thalweg/dataset/begin/creation.h"
#include "thalweg/dataset/complete/nodes_down.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 220; // leaves room for ".journal.12" and the like, and for what is put before it

// A name that is free, with the same ending, and not longer than file systems allow.
std::string name_aside(fs::path const& path) {
    auto name = path.filename().string();
    if (name.size() > kLongestName) name = name.substr(name.size() - kLongestName);
    for (int number = 0;; ++number) {
        auto aside = path.parent_path() / fmt::format(".replaced-{}.{}-{}", getpid(), number, name);
        if (!fs::exists(fs::symlink_status(aside)) && !exists(journal_path(aside.string()))) return aside.string();
    }
}

bool is_free(std::string const& path) {
    std::error_code error; // a name that cannot be looked at is not known to be free
    return fs::symlink_status(path, error).type() == fs::file_type::not_found;
}

// Returns what there is of the run: its file, its journal with the later segments, and the folder of its nodes. Other
// names that begin like these are of its user.
std::vector<std::string> files_of_run(std::string const& data) {
    auto const journal = journal_path(data);
    std::vector<std::string> files{data, journal};
    for (auto const number : segments_beside(journal)->list()) files.push_back(fmt::format("{}.{}", journal, number));
    files.push_back(PartsFolder(data).path());
    std::erase_if(files, is_free);
    return files;
}

} // namespace

SetAside::SetAside(std::string const& path) : path_(path) {
    if (base::is_directory(path)) base::fail_usage({"cannot replace " + path, "it is a directory"});
    std::vector<std::pair<std::string, std::string>> names;
    if (auto const places = places_of_run(path); !places.empty()) {
        locks_ = lock_for_creation(path, places);
        check_nodes_are_down(places, open_journals(places, storage::OpenMode::read_only), "replace");
        auto const data = places.front().data();
        data_ = name_aside(data);
        for (auto const& file : files_of_run(data)) names.emplace_back(file, data_ + file.substr(data.size()));
        if (fs::is_symlink(path)) names.emplace_back(path, name_aside(path));
    } else if (fs::exists(fs::symlink_status(path))) {
        names.emplace_back(path, name_aside(path));
    }
    try {
        for (auto const& [from, to] : names) {
            fs::rename(from, to);
            renamed_.emplace_back(from, to);
        }
    } catch (fs::filesystem_error const& error) {
        restore();
        base::fail_system({"cannot rename " + path + ", which is to be replaced"}, error.code().value());
    }
}

void SetAside::restore() noexcept {
    for (; !renamed_.empty(); renamed_.pop_back()) {
        auto const& [from, to] = renamed_.back();
        std::error_code error;
        bool const may_return = is_free(from);
        if (may_return) fs::rename(to, from, error);
        if (may_return && !error) continue;
        auto const why = error ? error.message() : "there may be something else at its place";
        base::say(base::Message{fmt::format("{} cannot be put back", from), why, "it is " + to + " now"}.str());
    }
    locks_.clear();
}

void SetAside::discard() {
    auto const renamed = std::exchange(renamed_, {}); // at their old names there is the new run
    locks_.clear(); // a network file system keeps what is open under another name, and its folder with it
    std::string why;
    try {
        if (!data_.empty()) remove_run_at(data_);
        for (auto const& [_, to] : renamed) {
            if (!base::is_directory(to)) base::remove_file(to); // a file that is no run, and the link to one
        }
    } catch (base::Error const& error) {
        why = error.what();
    }
    std::string left;
    for (auto const& [_, to] : renamed) {
        if (!is_free(to)) left += (left.empty() ? "" : ", ") + to;
    }
    if (left.empty()) return;
    base::say(base::Message{fmt::format("{} is replaced, and not all of what was there is removed", path_), why,
                            "remove " + left}
                  .str());
}

} // namespace thalweg::dataset
