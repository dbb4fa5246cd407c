#include "thalweg/dataset/node_folder/sign_of_life.h"

#include <cerrno>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/say.h"
#include "thalweg/dataset/node_folder/parts_folder.h"

namespace thalweg::dataset {
namespace {

// Opened anew each time: a file system of several machines may show an open file as it was. Returns nothing if it
// cannot be asked.
std::optional<std::uint64_t> size_of(std::string const& path) {
    try {
        if (!is_listed(path)) return 0;
        return storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix)->size();
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return 0; // it has not begun
        return std::nullopt;
    }
}

} // namespace

// This node may have one already: that of its committer.
void Heartbeat::open() {
    try {
        file_ = storage::open_file_storage(path_, storage::OpenMode::create_new, storage::Engine::posix);
    } catch (base::SystemError const& error) {
        if (error.code != EEXIST) throw;
        file_ = storage::open_file_storage(path_, storage::OpenMode::read_write, storage::Engine::posix);
        beats_ = file_->size();
    }
}

void Heartbeat::beat() {
    try {
        if (!file_) open();
        file_->resize(++beats_);
        has_failed_ = false;
    } catch (base::SystemError const& error) {
        file_.reset();                             // a server that has come back wants it opened anew
        bool const is_over = error.code == ENOENT; // the file is complete, and the folder gone
        if (!is_over && !std::exchange(has_failed_, true))
            base::say(fmt::format("the other nodes see no sign of life of this one ({}): it gives the next one soon",
                                  error.what()));
    }
}

SignOfLife::SignOfLife(std::string path) : path_(std::move(path)), changed_ns_(base::monotonic_ns()) {}

std::uint64_t SignOfLife::silent_ns() {
    auto const asked_ns = base::monotonic_ns(); // what has not changed when we look later has not changed by then
    auto const size = size_of(path_);
    if (size && std::exchange(size_bytes_, *size) == *size) return asked_ns - changed_ns_;
    changed_ns_ = base::monotonic_ns();
    return 0;
}

} // namespace thalweg::dataset
