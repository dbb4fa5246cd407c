#include "thalweg/base/process.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <pthread.h>
#include <signal.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/stand_in.h"

namespace thalweg::base {
namespace {

struct Stat {
    char state = '?';
    std::uint64_t threads = 0;
    std::uint64_t start_ticks = 0;
};

// Returns nothing if there is no such process. Throws SystemError if the system cannot say.
std::optional<std::string> text_of(std::string const& path) {
    FileDescriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 1024> text; // a line of some 300 bytes
    ssize_t size = -1;
    while (file && (size = ::read(file.get(), text.data(), text.size())) < 0 && errno == EINTR) {
    }
    if (size >= 0) return std::string(text.data(), static_cast<std::size_t>(size));
    if (errno == ENOENT || errno == ESRCH) return std::nullopt; // a process may go between the two
    fail_system({"cannot read " + path}, errno);
}

std::string required_text_of(std::string const& path) {
    auto text = text_of(path);
    if (!text || text->empty())
        fail_system({"cannot read " + path, "it is not there: /proc is needed", "mount /proc"}, ENOENT);
    return *std::move(text);
}

// /proc/PID/stat: "pid (name) state ppid ...": the name may hold blanks and brackets, so fields count from the last
// ')'.
Stat stat_in(std::string const& text, std::string const& path) {
    Stat stat;
    auto const name_end = text.rfind(')');
    std::istringstream fields(name_end == std::string::npos ? "" : text.substr(name_end + 1));
    std::string skipped;
    fields >> stat.state;
    for (int field = 4; field < 20; ++field) fields >> skipped;
    fields >> stat.threads >> skipped >> stat.start_ticks;
    if (!fields) fail_system({path + " cannot be read", "it is not what Linux writes there"}, EIO);
    return stat;
}

std::string stat_path(std::int32_t pid) { return "/proc/" + std::to_string(pid) + "/stat"; }

// A process that is not there cannot be hidden, and one that is there may be: then nothing is known about it.
constexpr int kTries = 3; // a process may begin or end between two looks

std::atomic<std::uint64_t> forks = 0;

// Before main: no fork can come earlier.
[[maybe_unused]] int const kForkHandler = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });

} // namespace

std::uint64_t fork_generation() { return forks.load(std::memory_order_relaxed); }

ProcessId this_process() {
    if (stand_in != nullptr) return stand_in->this_process();
    ProcessId self;
    self.pid = ::getpid();
    self.start_ticks = stat_in(required_text_of(stat_path(self.pid)), stat_path(self.pid)).start_ticks;
    return self;
}

// Only the kernel's word that no process has the number says that it is dead: what cannot be read says nothing.
bool is_alive(ProcessId const& process) {
    if (stand_in != nullptr) return stand_in->is_alive(process);
    if (process.pid <= 0) return false;
    auto const path = stat_path(process.pid);
    for (int tries = 0; tries < kTries; ++tries) {
        if (!is_in_use(process.pid)) return false;
        auto const text = text_of(path);
        if (!text) continue;
        auto const stat = stat_in(*text, path);
        if (stat.start_ticks != process.start_ticks || stat.state == 'X') return false;
        return stat.state != 'Z' || stat.threads > 1; // only its first thread has ended: the others may still write
    }
    fail_system({"cannot tell whether process " + std::to_string(process.pid) + " lives",
                 "there is a process of that number, and no " + path, "mount /proc, so that it shows all processes"},
                ENOENT);
}

bool is_in_use(std::int32_t pid) {
    if (stand_in != nullptr) return stand_in->is_in_use(pid);
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

std::string boot_id() {
    if (stand_in != nullptr) return stand_in->boot_id();
    auto id = required_text_of("/proc/sys/kernel/random/boot_id");
    id.erase(id.find_last_not_of(" \n") + 1);
    return id;
}

std::uint64_t pid_namespace() {
    if (stand_in != nullptr) return 1;
    struct stat status {};
    if (::stat("/proc/self/ns/pid", &status) != 0) fail_system({"cannot look at /proc/self/ns/pid"}, errno);
    return status.st_ino;
}

std::string host_name() {
    if (stand_in != nullptr) return stand_in->host_name();
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) fail_system({"cannot read the name of this machine"}, errno);
    return name;
}

} // namespace thalweg::base
