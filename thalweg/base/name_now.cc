#include "thalweg/base/name_now.h"

#include <fcntl.h>
#include <filesystem>

#include "thalweg/base/error.h"
#include "thalweg/base/stand_in.h"

namespace thalweg::base {

FileDescriptor hold_folder_of(std::string const& path) {
    if (stand_in != nullptr) return {};
    auto const folder = std::filesystem::path(path).parent_path();
    try {
        return open_file(folder.empty() ? "." : folder.string(), O_PATH | O_DIRECTORY);
    } catch (SystemError const&) {
        return {};
    }
}

std::string name_now(FileDescriptor const& file) {
    if (stand_in != nullptr || !file) return "";
    std::error_code error;
    auto const path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file.get()), error).string();
    if (error) return "";
    try {
        // The text alone proves nothing: it may be of another mount, or of a file that was removed.
        return identity_of(path) == identity_of(file) ? path : "";
    } catch (SystemError const&) {
        return "";
    }
}

} // namespace thalweg::base
