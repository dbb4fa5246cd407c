#include "thalweg/dataset/run/left_over.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

// Returns why it is not ours to judge; empty if it is ours, and we would see its journal.
std::string why_foreign(LedgerHead const& head) {
    if (auto why = why_elsewhere(head); !why.empty()) return why;
    if (head.device != device_of_directory(head.path))
        return fmt::format("the disk of {} is not mounted here", head.path);
    return "";
}

// Returns an empty one if it is gone.
base::FileDescriptor open_memory(std::string const& ledger) {
    auto const path = base::SharedMemory::path_of(ledger);
    base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno != ENOENT) base::fail_system({"cannot open " + path}, errno);
    return file;
}

// Tries to hold it alone, for as long as it is open.
bool is_held_by_another(base::FileDescriptor const& file, std::string const& ledger) {
    return file && !base::try_lock_file(file, base::SharedMemory::path_of(ledger), true);
}

void judge(Ledger const& ledger, bool held, MemoryOfRun& memory) {
    auto const& head = ledger.head();
    memory.why = why_foreign(head);
    if (!memory.why.empty()) return;
    memory.closed = head.state == LedgerState::closed;
    if (held || base::is_alive(head.committer) || ledger.has_producers()) {
        memory.state = MemoryState::held;
        memory.why = fmt::format("living processes use it (the committer is or was process {})", head.committer.pid);
    } else if (memory.closed) {
        memory.state = MemoryState::left_over;
        memory.why = "the run is closed";
    } else if (auto const place = RunPlace(head.path, ledger.node()); !place.may_be_of(head.run_id)) {
        memory.state = MemoryState::left_over;
        memory.why = "the journal of its run is not there any more: if the run was moved, recover it first";
    } else if (!exists(place.data())) {
        memory.state = MemoryState::left_over;
        memory.why =
            fmt::format("{} is not there any more: if it was moved, put it back and recover it first", head.path);
    } else {
        memory.state = MemoryState::recoverable;
        memory.why = fmt::format("the run is unfinished: `thalweg recover {}` takes what is in it", head.path);
    }
}

std::uint64_t size_of(std::vector<std::string> const& names) {
    std::uint64_t size = 0;
    for (auto const& name : names) {
        struct stat status {};
        if (::stat(base::SharedMemory::path_of(name).c_str(), &status) == 0) size += std::uint64_t(status.st_size);
    }
    return size;
}

// The memory in each folder ("": /dev/shm). Each folder is read once, however many runs have left something in it:
// every creation of a run looks at them all.
class MemoryNames {
  public:
    std::vector<std::string> const& in(std::string const& folder) {
        auto const [place, is_new] = names_.try_emplace(folder);
        if (is_new) place->second = base::SharedMemory::list(base::name_in_folder(folder, kSegmentPrefix));
        return place->second;
    }

  private:
    std::map<std::string, std::vector<std::string>> names_;
};

std::vector<std::string> files_of(std::string const& ledger, LedgerHead const& head, MemoryNames& names) {
    std::set<std::string> files{ledger};
    auto const plain = ledger_name(head.run_id, head.node);
    for (std::string const folder : {"", static_cast<char const*>(head.memory_folder)}) {
        auto const prefix = base::name_in_folder(folder, plain) + "-";
        for (auto const& name : names.in(folder)) {
            if (name.starts_with(prefix)) files.insert(name);
        }
    }
    return {files.begin(), files.end()};
}

// `file`: the memory, from then on: locked, unless another process holds it.
MemoryOfRun look_at(std::string const& name, base::FileDescriptor& file, MemoryNames& names) {
    MemoryOfRun memory;
    memory.ledger = name;
    memory.files = {name};
    try {
        if (!file) file = open_memory(name);
        auto const ledger = Ledger::attach(name);
        auto const& head = ledger->head();
        memory.run_id = head.run_id;
        memory.data_path = head.path;
        memory.files = files_of(name, head, names);
        auto const now = base::monotonic_ns(), beat = head.heartbeat_ns.load();
        memory.age_ns = head.boot_id == base::boot_id() && now > beat ? now - beat : 0;
        judge(*ledger, is_held_by_another(file, name), memory);
    } catch (base::Error const& error) {
        memory.why = error.what();
    }
    memory.size_bytes = size_of(memory.files);
    return memory;
}

// "thalweg-" and 16 hexadecimal digits: the emulated card has buffers of its own beside them.
bool is_ledger_name(std::string const& name) {
    auto const file = std::filesystem::path(name).filename().string().substr(std::string(kSegmentPrefix).size());
    return file.size() == 16 && file.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

std::string why_elsewhere(LedgerHead const& head) {
    if (head.host != base::host_name()) return fmt::format("it is of another machine or container, '{}'", head.host);
    if (head.boot_id != base::boot_id()) return "it is from before a restart of the machine, or of another one";
    if (head.pid_namespace != base::pid_namespace()) return "it is of another container";
    return "";
}

base::FileDescriptor hold_memory(std::string const& ledger) {
    auto file = open_memory(ledger);
    while (file && ::flock(file.get(), LOCK_SH) != 0 && errno == EINTR) {
    }
    return file;
}

std::vector<MemoryOfRun> list_memory(std::vector<std::string> const& folders) {
    std::set<std::string> ledgers;
    MemoryNames names;
    auto places = folders;
    places.emplace_back(""); // /dev/shm
    for (auto const& place : places) {
        for (auto const& name : names.in(place)) {
            if (is_ledger_name(name)) ledgers.insert(name);
        }
    }
    std::vector<MemoryOfRun> found;
    found.reserve(ledgers.size());
    for (auto const& ledger : ledgers) {
        base::FileDescriptor file;
        found.push_back(look_at(ledger, file, names));
    }
    return found;
}

void remove_left_over(MemoryOfRun const& memory) {
    auto const path = base::SharedMemory::path_of(memory.ledger);
    auto file = open_memory(memory.ledger); // held until all is removed
    if (!file) return;                      // another process was faster
    MemoryNames names;
    auto const now = look_at(memory.ledger, file, names);
    if (now.state != MemoryState::left_over)
        base::fail_usage({fmt::format("the memory {} of {} is not cleared", path, now.data_path), now.why});
    auto const ledger = Ledger::attach(memory.ledger);
    remove_memory(now.run_id, {ledger->head().memory_folder}, ledger->node().node);
    if (exists(path)) base::fail_system({"cannot remove " + path});
}

void remove_stale_segments() try {
    for (auto const& memory : list_memory()) {
        try {
            if (memory.closed && memory.state == MemoryState::left_over) remove_left_over(memory);
        } catch (base::Error const&) { // taken up by another process, or gone
        }
    }
} catch (base::SystemError const&) {
    // Nothing is known about what is there: it stays.
}

} // namespace thalweg::dataset
