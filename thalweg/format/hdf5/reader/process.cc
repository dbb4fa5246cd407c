#include "thalweg/format/hdf5/reader/process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"
#include "thalweg/format/hdf5/ours/header.h"
#include "thalweg/format/hdf5/reader/messages.h"
#include "thalweg/format/hdf5/reader/run_map_bytes.h"

namespace thalweg::format::hdf5::reader {
namespace {

constexpr char const* kProgram = "thalweg-hdf5-reader";
constexpr char const* kVariable = "THALWEG_HDF5_READER";
constexpr std::uint64_t kMostReadBytes = base::kGiB;
constexpr std::uint64_t kMostAnswerBytes = 16 * base::kGiB;

// Looks beside the library or program that contains this code, and at the places of the installation and of the build.
std::string find_program() {
    if (auto const* path = std::getenv(kVariable)) return path;
    std::vector<std::filesystem::path> places;
    if (Dl_info info{}; ::dladdr(reinterpret_cast<void const*>(&kProgram), &info) != 0 && info.dli_fname != nullptr) {
        auto const folder = std::filesystem::path(info.dli_fname).parent_path();
        places = {folder / kProgram, folder / "../libexec/thalweg" / kProgram};
    }
    places.emplace_back(THALWEG_HDF5_READER_INSTALLED);
    places.emplace_back(THALWEG_HDF5_READER_BUILT);
    for (auto const& place : places) {
        if (::access(place.c_str(), X_OK) == 0) return place;
    }
    base::fail_system({fmt::format("the program {} is missing", kProgram),
                       "HDF5 files that no seal of Thalweg's vouches for are read by it, because libhdf5 can crash on "
                       "damaged ones",
                       fmt::format("install it, or let {} say where it is", kVariable)});
}

class ReaderProcess {
  public:
    ReaderProcess() {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            base::fail_system({"no socket can be made"}, errno);
        }
        socket_ = base::FileDescriptor(ends[0]);
        base::FileDescriptor const theirs(ends[1]);
        auto program = find_program();
        char* const words[] = {program.data(), nullptr};
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
        // What libhdf5 and the C library print before they crash is of no use.
        ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        auto const error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, words, environ);
        ::posix_spawn_file_actions_destroy(&actions);
        if (error != 0) base::fail_system({program + " cannot be started"}, error);
    }
    ReaderProcess(ReaderProcess const&) = delete;
    ReaderProcess& operator=(ReaderProcess const&) = delete;
    ~ReaderProcess() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        wait();
    }

    int socket() const { return socket_.get(); }

    // Waits for the process, and returns how it ended.
    std::string wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0) {
            if (errno != EINTR) break; // another part of the program waits for all children
        }
        pid_ = 0;
        bool const signaled = WIFSIGNALED(status);
        if (signaled && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGXCPU)) {
            return "libhdf5 came to no end with it";
        }
        if (signaled) return fmt::format("libhdf5 crashed on it: {}", ::strsignal(WTERMSIG(status)));
        return fmt::format("the program that reads it ended with exit code {}", WEXITSTATUS(status));
    }

  private:
    base::FileDescriptor socket_;
    pid_t pid_ = 0;
};

std::vector<std::byte> receive(int socket, std::uint64_t size_bytes, std::uint64_t most, bool& good) {
    good = size_bytes <= most;
    std::vector<std::byte> bytes(good ? size_bytes : 0);
    good = good && receive_all(socket, bytes);
    return bytes;
}

bool serve_read(int socket, storage::Storage const& file, ReaderMessage const& head) {
    auto const size = file.size();
    if (head.size_bytes > kMostReadBytes || head.offset > size || head.size_bytes > size - head.offset) return false;
    std::vector<std::byte> bytes(head.size_bytes);
    file.read(head.offset, bytes);
    return send_all(socket, bytes);
}

// Returns nothing if the program ended without an answer; `why` then says how it ended.
std::optional<std::vector<std::byte>> ask(storage::Storage const& file, ReaderMessageKind question, std::string& why,
                                          std::span<std::byte const> datasets = {}) {
    ReaderProcess process;
    auto const& path = file.path();
    send_message(process.socket(), {question, file.size(), path.size()}, std::as_bytes(std::span(path)));
    if (question == ReaderMessageKind::file_pages) {
        send_message(process.socket(), {ReaderMessageKind::datasets, 0, datasets.size()}, datasets);
    }
    ReaderMessage head;
    while (receive_all(process.socket(), std::as_writable_bytes(std::span(&head, 1)))) {
        if (head.kind == ReaderMessageKind::read) {
            if (!serve_read(process.socket(), file, head)) break;
            continue;
        }
        bool good = false;
        auto answer = receive(process.socket(), head.size_bytes, kMostAnswerBytes, good);
        if (!good) break;
        if (head.kind == ReaderMessageKind::map) return answer;
        std::string const said(reinterpret_cast<char const*>(answer.data()), answer.size());
        if (head.kind == ReaderMessageKind::usage_error) throw base::UsageError(said);
        throw base::DataError(said);
    }
    why = process.wait();
    return std::nullopt;
}

[[noreturn]] void fail_damaged(storage::Storage const& file, std::string const& why) {
    base::fail_data({file.path() + " cannot be read", why + "; its metadata is damaged",
                     "ask h5dump or h5debug what can still be read of it"});
}

} // namespace

model::RunMap load_by_program(storage::Storage const& file) {
    std::string why;
    if (auto const answer = ask(file, ReaderMessageKind::file, why)) return run_map_from_bytes(*answer);
    // Damage where attributes or groups are must not cost the rows of a run, which can be found without them.
    std::string ignored;
    if (auto const answer = ours::run_id_of(file) ? ask(file, ReaderMessageKind::file_rows, ignored) : std::nullopt) {
        auto map = run_map_from_bytes(*answer);
        map.left_out.push_back({"/", "attributes, and what other programs may have added, are unreadable: " + why});
        return map;
    }
    fail_damaged(file, why);
}

std::vector<LateColumn> load_datasets_by_program(storage::Storage const& file,
                                                 std::vector<WantedDataset> const& wanted) {
    std::string why;
    auto const answer = ask(file, ReaderMessageKind::file_pages, why, to_bytes(wanted));
    if (!answer) fail_damaged(file, why);
    auto late = late_columns_from_bytes(*answer);
    if (late.size() != wanted.size()) fail_damaged(file, "the process that read it has answered something else");
    return late;
}

} // namespace thalweg::format::hdf5::reader
