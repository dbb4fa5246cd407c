#include "thalweg/base/process.h"

#include <atomic>
#include <cerrno>
#include <fstream>
#include <pthread.h>
#include <signal.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "thalweg/base/stand_in.h"

namespace thalweg::base {
namespace {

struct Stat {
    char state = '?';
    std::uint64_t threads = 0;
    std::uint64_t start_ticks = 0;
};

// /proc/PID/stat: "pid (name) state ppid ...": the name may hold blanks and brackets, so fields count from the last
// ')'.
bool read_stat(std::int32_t pid, Stat& stat) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text(1024, '\0'); // that is some 300 bytes
    // A process that goes between the two makes reading fail (ESRCH): `read` notes that, and an iterator would throw.
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    auto const name_end = text.rfind(')');
    if (name_end == std::string::npos) return false;
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    fields >> stat.state;
    for (int field = 4; field < 20; ++field) fields >> skipped;
    fields >> stat.threads >> skipped >> stat.start_ticks;
    return static_cast<bool>(fields);
}

std::atomic<std::uint64_t> forks = 0;

// Before main: no fork can come earlier.
[[maybe_unused]] int const kForkHandler = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });

} // namespace

std::uint64_t fork_generation() { return forks.load(std::memory_order_relaxed); }

ProcessId this_process() {
    if (stand_in != nullptr) return stand_in->this_process();
    ProcessId self;
    self.pid = ::getpid();
    Stat stat;
    if (read_stat(self.pid, stat)) self.start_ticks = stat.start_ticks;
    return self;
}

bool is_alive(ProcessId const& process) {
    if (stand_in != nullptr) return stand_in->is_alive(process);
    if (process.pid <= 0) return false;
    Stat stat;
    if (!read_stat(process.pid, stat)) return ::kill(process.pid, 0) == 0 || errno == EPERM;
    if (stat.start_ticks != process.start_ticks || stat.state == 'X') return false;
    return stat.state != 'Z' || stat.threads > 1; // only its first thread has ended: the others may still write
}

bool is_in_use(std::int32_t pid) {
    if (stand_in != nullptr) return stand_in->is_in_use(pid);
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

std::string boot_id() {
    if (stand_in != nullptr) return stand_in->boot_id();
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id;
}

std::uint64_t pid_namespace() {
    if (stand_in != nullptr) return 1;
    struct stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

std::string host_name() {
    if (stand_in != nullptr) return stand_in->host_name();
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

} // namespace thalweg::base
