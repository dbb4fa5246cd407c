#include "thalweg/dataset/begin/set_aside.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/base/error.h"
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

// The journals of a run, and the memory that it keeps in files, begin with the name of its file.
std::vector<std::string> files_of_run(fs::path const& data) {
    std::vector<std::string> files;
    auto const file = data.filename().string();
    for (auto const& name : base::list_directory(data.parent_path().string())) {
        if (name == file || name.starts_with(file + ".journal") || name == file + ".parts")
            files.push_back((data.parent_path() / name).string());
    }
    return files;
}

} // namespace

SetAside::SetAside(std::string const& path) {
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
        if (!fs::exists(fs::symlink_status(from, error))) fs::rename(to, from, error);
    }
    locks_.clear();
}

void SetAside::discard() {
    auto const renamed = std::exchange(renamed_, {});
    if (!data_.empty()) remove_run_at(data_);
    for (auto const& [_, to] : renamed) base::remove_file(to); // a file that is no run, and the link to one
    locks_.clear();
}

} // namespace thalweg::dataset
