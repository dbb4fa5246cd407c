#include "thalweg/storage/see_disk.h"

#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/posix.h"
#include "thalweg/storage/stand_in.h"

namespace thalweg::storage {

std::string see_disk(std::string const& path) {
    if (stand_in != nullptr) return "";
    auto const file = base::open_file(path, O_RDONLY);
    int const refused = uninterrupted([&] { return ::fdatasync(file.get()); });
    if (int const error = ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED); error != 0)
        fail_whole("see the disk of", path, error);
    if (refused == 0) return "";
    return fmt::format("the disk has not taken all that was written to {} ({}): rows may be missing", path,
                       std::strerror(refused));
}

} // namespace thalweg::storage
