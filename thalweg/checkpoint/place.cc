#include "thalweg/checkpoint/place.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/checkpoint/head.h"

namespace thalweg::checkpoint {
namespace {

constexpr std::string_view kEnding = ".saving";

std::string folder_of(std::string const& path) {
    auto const folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

std::string name_of(std::string const& path) { return std::filesystem::path(path).filename().string(); }

std::string older(std::string const& path, std::uint64_t number) { return fmt::format("{}.{}", path, number); }

// By number, without `path` itself.
std::vector<std::pair<std::uint64_t, std::string>> older_files(std::string const& path) {
    std::vector<std::pair<std::uint64_t, std::string>> files;
    auto const prefix = name_of(path) + ".";
    for (auto const& name : base::list_directory(folder_of(path))) {
        if (!name.starts_with(prefix)) continue;
        auto const digits = std::string_view(name).substr(prefix.size());
        std::uint64_t number = 0;
        auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error == std::errc() && end == digits.data() + digits.size() && digits[0] != '0') {
            files.emplace_back(number, older(path, number));
        }
    }
    std::ranges::sort(files);
    return files;
}

void rename_file(std::string const& from, std::string const& to) {
    if (std::rename(from.c_str(), to.c_str()) == 0) return;
    base::fail_system({fmt::format("cannot rename {} to {}", from, to)}, errno);
}

// Throws if the file is not a checkpoint: files of other programs are neither overwritten nor removed.
void check_checkpoint(std::string const& path) {
    if (!base::identity_of(path) || id_of_file(path)) return;
    base::fail_usage({"cannot replace " + path, "it is no checkpoint", "choose another name, or move it away"});
}

} // namespace

std::vector<std::string> kept_files(std::string const& path) {
    std::vector<std::string> files;
    if (base::identity_of(path)) files.push_back(path);
    if (!base::is_directory(folder_of(path))) return files;
    for (auto& [_, file] : older_files(path)) files.push_back(std::move(file));
    return files;
}

NewFile::NewFile(std::string const& path, std::string const& id, unsigned keep)
    : path_(path), own_(fmt::format("{}/.{}.{}{}", folder_of(path), name_of(path), id, kEnding)), keep_(keep) {
    if (keep == 0) base::fail_usage({"a checkpoint cannot be saved with keep=0", "the new one is one, too"});
    if (name_of(path).empty() || base::is_directory(path))
        base::fail_usage({"cannot save to " + path, "it is a folder"});
    check_checkpoint(path);
    for (std::uint64_t number = 1; number < keep; ++number) check_checkpoint(older(path, number));
    lock_ = base::open_file(own_, O_RDWR | O_CREAT | O_EXCL);
    try {
        if (!base::try_lock_file(lock_, own_, true)) check_it_is_there();
        remove_remnants();
    } catch (...) {
        ::unlink(own_.c_str());
        throw;
    }
}

// A lock tells whether the job that made a file is alive.
void NewFile::remove_remnants() const {
    auto const prefix = "." + name_of(path_) + ".";
    for (auto const& name : base::list_directory(folder_of(path_))) {
        auto const other = folder_of(path_) + "/" + name;
        if (!name.starts_with(prefix) || !name.ends_with(kEnding) || other == own_) continue;
        base::FileDescriptor file;
        try {
            file = base::open_file(other, O_RDWR);
        } catch (base::SystemError const& error) {
            if (error.code == ENOENT) continue; // it has become the checkpoint by now
            throw;
        }
        if (!base::try_lock_file(file, other, true)) {
            base::fail_system({"cannot save to " + path_, "another job saves to it at this moment",
                               "let only one job at a time save to a path"},
                              EBUSY);
        }
        base::remove_file(other);
    }
}

NewFile::~NewFile() {
    if (!is_published_) ::unlink(own_.c_str());
}

void NewFile::check_it_is_there() const {
    auto const there = base::identity_of(own_);
    if (there && *there == base::identity_of(lock_)) return;
    base::fail_system({"cannot save to " + path_, "another job that saves to it has removed " + own_,
                       "let only one job at a time save to a path"},
                      EBUSY);
}

void NewFile::publish() {
    THALWEG_ASSERT(!is_published_, "a file gets its name once");
    check_it_is_there();
    for (auto number = keep_ - 1; number >= 2; --number) {
        if (base::identity_of(older(path_, number - 1))) rename_file(older(path_, number - 1), older(path_, number));
    }
    if (keep_ >= 2 && base::identity_of(path_)) {
        auto const beside = own_.substr(0, own_.size() - kEnding.size()) + ".older" + std::string(kEnding);
        base::remove_file(beside);
        // Not renamed: `path` is there at every moment. Some file systems have no second names.
        if (::link(path_.c_str(), beside.c_str()) == 0) {
            rename_file(beside, older(path_, 1));
            base::remove_file(beside); // which is still there if both were one file already
        } else {
            rename_file(path_, older(path_, 1));
        }
    }
    rename_file(own_, path_);
    is_published_ = true;
    base::sync_directory_of(path_);
    for (auto const& [number, file] : older_files(path_)) {
        if (number >= keep_ && id_of_file(file)) base::remove_file(file);
    }
}

} // namespace thalweg::checkpoint
