#include "thalweg/dataset/run/sign_of_life.h"

#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

// Opened anew each time: a file system of several machines may show an open file as it was.
std::uint64_t size_of(std::string const& path) {
    try {
        return storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix)->size();
    } catch (base::SystemError const&) {
        return 0;
    }
}

} // namespace

SignOfLife::SignOfLife(std::string path) : path_(std::move(path)), changed_ns_(base::monotonic_ns()) {}

std::uint64_t SignOfLife::silent_ns() {
    auto const size = size_of(path_);
    auto const now = base::monotonic_ns();
    if (std::exchange(size_bytes_, size) != size) changed_ns_ = now;
    return now - changed_ns_;
}

} // namespace thalweg::dataset
