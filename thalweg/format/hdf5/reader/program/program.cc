#include "thalweg/format/hdf5/reader/program/program.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/reader/load_here.h"
#include "thalweg/format/hdf5/reader/messages.h"
#include "thalweg/format/hdf5/reader/run_map_bytes.h"
#include "thalweg/model/readable_names.h"
#include "thalweg/storage/read_only.h"
#include "thalweg/storage/storage.h"

namespace thalweg::format::hdf5::reader::program {
namespace {

// Damaged metadata may ask for anything: loops without an end, all the memory there is.
constexpr rlim_t kMostCpuSeconds = 300;
// Between two reads of the file: libhdf5 goes round for ever in a global heap of zeros. Sound metadata take
// milliseconds, and the answer a second for every 10^7 pages.
constexpr time_t kMostSilentCpuSeconds = 5;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr rlim_t kMostMemoryBytes = RLIM_INFINITY; // sanitizers take terabytes of addresses
#else
constexpr rlim_t kMostMemoryBytes = 16 * base::kGiB;
#endif

std::span<std::byte const> bytes_of(std::string const& text) { return std::as_bytes(std::span(text)); }

void limit(decltype(RLIMIT_CPU) resource, rlim_t most) {
    rlimit now{};
    if (::getrlimit(resource, &now) != 0) return;
    now.rlim_cur = std::min(now.rlim_cur, most);
    ::setrlimit(resource, &now);
}

// The tests shorten it, since they have many files with which libhdf5 comes to no end.
time_t most_silent_cpu_seconds() {
    auto const* const text = std::getenv("THALWEG_HDF5_READER_SECONDS");
    time_t const wanted = text == nullptr ? 0 : std::atoi(text);
    return wanted > 0 ? std::min(wanted, kMostSilentCpuSeconds) : kMostSilentCpuSeconds;
}

// The program ends when it has computed for so long without having been here again.
void expect_progress() {
    static auto const seconds = most_silent_cpu_seconds();
    itimerval const timer{{}, {seconds, 0}};
    ::setitimer(ITIMER_PROF, &timer, nullptr);
}

// The file of the process that asks.
class AskedFor final : public storage::ReadOnly {
  public:
    AskedFor(int socket, std::string path, std::uint64_t size_bytes)
        : socket_(socket), path_(std::move(path)), size_bytes_(size_bytes) {}

    std::string const& path() const override { return path_; }
    std::string engine() const override { return "another process"; }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        if (offset > size_bytes_ || bytes.size() > size_bytes_ - offset) {
            base::fail_data({fmt::format("{} bytes at offset {} are wanted", bytes.size(), offset),
                             fmt::format("the file ends at {}", size_bytes_)});
        }
        expect_progress();
        if (!send_message(socket_, {ReaderMessageKind::read, offset, bytes.size()}, {}) ||
            !receive_all(socket_, bytes)) {
            base::fail_system({path_ + " cannot be read", "the process that asked is gone"});
        }
    }
    std::uint64_t size() const override { return size_bytes_; }

  private:
    int socket_;
    std::string path_;
    std::uint64_t size_bytes_;
};

std::vector<std::byte> map_of(storage::Storage const& file, ReaderMessageKind question) {
    auto map = load_here(file, false,
                         question == ReaderMessageKind::file_rows ? ours::Contents::rows : ours::Contents::everything);
    model::make_names_readable(map); // the answer has them in JSON, which is UTF-8
    return to_bytes(map);
}

std::vector<std::byte> pages_of(storage::Storage const& file, std::span<std::byte const> datasets) {
    return to_bytes(load_datasets_here(file, wanted_datasets_from_bytes(datasets)));
}

} // namespace

int run_reader_program(int socket) {
    limit(RLIMIT_CPU, kMostCpuSeconds);
    limit(RLIMIT_AS, kMostMemoryBytes);
    limit(RLIMIT_CORE, 0);
    expect_progress();
    ReaderMessage head;
    if (!receive_all(socket, std::as_writable_bytes(std::span(&head, 1)))) return 2;
    std::string path(head.size_bytes, '\0');
    if (!receive_all(socket, std::as_writable_bytes(std::span(path)))) return 2;
    AskedFor const file(socket, path, head.offset);
    auto const question = head.kind;
    std::vector<std::byte> datasets;
    if (question == ReaderMessageKind::file_pages) {
        if (!receive_all(socket, std::as_writable_bytes(std::span(&head, 1)))) return 2;
        datasets.resize(head.size_bytes);
        if (!receive_all(socket, datasets)) return 2;
    }
    try {
        auto const answer =
            question == ReaderMessageKind::file_pages ? pages_of(file, datasets) : map_of(file, question);
        return send_message(socket, {ReaderMessageKind::map, 0, answer.size()}, answer) ? 0 : 2;
    } catch (base::UsageError const& error) {
        std::string const why = error.what();
        return send_message(socket, {ReaderMessageKind::usage_error, 0, why.size()}, bytes_of(why)) ? 0 : 2;
    } catch (std::exception const& error) {
        std::string const why = error.what();
        return send_message(socket, {ReaderMessageKind::data_error, 0, why.size()}, bytes_of(why)) ? 0 : 2;
    }
}

} // namespace thalweg::format::hdf5::reader::program
