#include "thalweg/dataset/commit/file_watch.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/name_now.h"

namespace thalweg::dataset {

namespace {

std::string extension(std::string const& path) { return std::filesystem::path(path).extension().string(); }

} // namespace

FileWatch::FileWatch(std::string path, std::string journal_path)
    : path_(std::move(path)), journal_path_(std::move(journal_path)), file_(base::open_file(path_, O_RDONLY)),
      journal_(base::open_file(journal_path_, O_RDONLY)) {}

FilePlace FileWatch::look() const try {
    auto const ours = base::identity_of(file_);
    auto const there = base::identity_of(path_);
    if (there && *there == ours) return {FileState::in_place, "", path_, path_};
    auto const what = there ? "another file has taken its place" : "there is no file of that name any more";
    return ours.links > 0 ? moved(what) : removed(what);
} catch (base::SystemError const& error) {
    auto const problem = base::Message{fmt::format("cannot see whether {} is in its place", path_), error.what()};
    return {FileState::unknown, problem.str(), "", ""};
}

FilePlace FileWatch::moved(std::string const& what) const {
    auto const now = base::name_now(file_);
    auto const where = now.empty() ? "the file that was moved" : now;
    auto const problem = base::Message{fmt::format("{} was moved while it is being written", path_), what,
                                       fmt::format("what is recorded goes into {}", where)};
    return {FileState::moved, problem.str(), now, file_of_journal()};
}

FilePlace FileWatch::removed(std::string const& what) const {
    auto const pid = ::getpid();
    auto const problem = base::Message{
        fmt::format("{} was removed while it is being written", path_), what,
        fmt::format("copy what is in it before process {} ends: `cp /proc/{}/fd/{} COPY{}`, and, unless "
                    "the run has been closed by then, `cp /proc/{}/fd/{} COPY{}.journal` and `thalweg "
                    "recover COPY{}`",
                    pid, pid, file_.get(), extension(path_), pid, journal_.get(), extension(path_), extension(path_))};
    return {FileState::removed, problem.str(), "", ""};
}

// A journal that was begun at its old name since then is of another run.
std::string FileWatch::file_of_journal() const {
    if (base::identity_of(journal_path_) == base::identity_of(journal_)) return path_;
    auto const suffix = journal_path_.substr(path_.size()), now = base::name_now(journal_);
    return now.ends_with(suffix) ? now.substr(0, now.size() - suffix.size()) : "";
}

} // namespace thalweg::dataset
