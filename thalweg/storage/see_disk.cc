#include "thalweg/storage/see_disk.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "thalweg/base/file_descriptor.h"
#include "thalweg/storage/stand_in.h"

namespace thalweg::storage {

std::string see_disk(std::string const& path) {
    if (stand_in != nullptr) return "";
    auto const file = base::open_file(path, O_RDONLY);
    int error = 0;
    while (::fdatasync(file.get()) != 0 && (error = errno) == EINTR) error = 0;
    // Pages of a file that another program has mapped stay.
    static_cast<void>(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED));
    if (error == 0) return "";
    return fmt::format("the disk has not taken all that was written to {} ({}): rows may be missing", path,
                       std::strerror(error));
}

} // namespace thalweg::storage
