// Saves a file for each process, as a programmer would write it by hand.
#include "strategies.h"

namespace {

constexpr std::size_t kPieceBytes = 8 << 20;

void write_all(int fd, Job const& job, char* staging) {
    auto const* data = reinterpret_cast<char const*>(job.values.data());
    for (std::uint64_t at = 0; at < job.bytes();) {
        auto count = std::min<std::uint64_t>(kPieceBytes, job.bytes() - at);
        if (staging != nullptr) {
            std::memcpy(staging, data + at, count);
            count = (count + 4095) / 4096 * 4096; // whole blocks
        }
        auto const written = ::pwrite(fd, staging != nullptr ? staging : data + at, count, static_cast<off_t>(at));
        require(written, "cannot write");
        at += static_cast<std::uint64_t>(written);
    }
}

void save(Job& job, bool direct) {
    int const fd = ::open(job.own_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | (direct ? O_DIRECT : 0), 0644);
    require(fd, "cannot create a file");
    void* staging = nullptr;
    if (direct && ::posix_memalign(&staging, 4096, kPieceBytes) != 0) fail("there is no memory");
    job.phase("open");
    write_all(fd, job, static_cast<char*>(staging));
    std::free(staging);
    require(::ftruncate(fd, static_cast<off_t>(job.bytes())), "cannot cut a file");
    job.phase("write");
    require(::fsync(fd), "cannot sync");
    job.phase("sync");
    ::close(fd);
    job.phase("close");
}

void restore(Job& job) {
    int const fd = ::open(job.own_path().c_str(), O_RDONLY);
    require(fd, "cannot open a file");
    job.phase("open");
    auto* data = reinterpret_cast<char*>(job.values.data());
    for (std::uint64_t at = 0; at < job.bytes();) {
        auto const got =
            ::pread(fd, data + at, std::min<std::uint64_t>(kPieceBytes, job.bytes() - at), static_cast<off_t>(at));
        if (got <= 0) fail("cannot read");
        at += static_cast<std::uint64_t>(got);
    }
    job.phase("read");
    ::close(fd);
    job.phase("close");
}

} // namespace

Strategies posix_strategies() {
    return {{"posix-buffered", {[](Job& job) { save(job, false); }, restore}},
            {"posix-direct", {[](Job& job) { save(job, true); }, restore}}};
}
