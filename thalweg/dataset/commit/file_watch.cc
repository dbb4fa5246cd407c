#include "thalweg/dataset/commit/file_watch.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::dataset {

namespace {

std::string extension(std::string const& path) { return std::filesystem::path(path).extension().string(); }

} // namespace

FileWatch::FileWatch(std::string path, std::string journal_path)
    : path_(std::move(path)), journal_path_(std::move(journal_path)), file_(base::open_file(path_, O_RDONLY)),
      journal_(base::open_file(journal_path_, O_RDONLY)) {}

std::string FileWatch::problem() const {
    auto const ours = base::identity_of(file_);
    auto const there = base::identity_of(path_);
    if (there && *there == ours) return "";
    auto const what = there ? "another file has taken its place" : "there is no file of that name any more";
    if (ours.links > 0) {
        return base::Message{fmt::format("{} was moved while it is being written", path_), what,
                             "what is recorded goes into the file that was moved; put it back before the run is closed"}
            .str();
    }
    auto const pid = ::getpid();
    return base::Message{
        fmt::format("{} was removed while it is being written", path_), what,
        fmt::format("copy what is in it before process {} ends: `cp /proc/{}/fd/{} COPY{}`, and, unless "
                    "the run has been closed by then, `cp /proc/{}/fd/{} COPY{}.journal` and `thalweg "
                    "recover COPY{}`",
                    pid, pid, file_.get(), extension(path_), pid, journal_.get(), extension(path_), extension(path_))}
        .str();
}

} // namespace thalweg::dataset
