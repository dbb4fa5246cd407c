// Measures the nodes of one run, each a process of this machine with its ledger, its committer and its journal.
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "studies/driver/clocks.h"
#include "studies/driver/measurements.h"
#include "studies/driver/producers.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/node_folder/parts_folder.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kCloseTimeoutNs = 120'000'000'000;

struct Message {
    Produced produced;
    double close_s = 0;
    double gather_cpu_s = 0;
    std::uint64_t pages = 0;
    std::uint64_t stored_bytes = 0;
};

void tell(int socket, Message const& message) {
    if (::write(socket, &message, sizeof message) != sizeof message) base::fail_system({"a node is gone"}, errno);
}

Message hear(int socket) {
    Message message;
    if (::read(socket, &message, sizeof message) != sizeof message) base::fail_system({"a node died"}, errno);
    return message;
}

struct Plan {
    std::string path;
    std::uint32_t nodes;
    std::uint64_t producers; // per node
    Material material;
    dataset::CreateOptions options;
};

std::unique_ptr<dataset::Writer> writer_of(Plan const& plan, std::uint32_t node) {
    if (node == 0) return dataset::Writer::create(plan.path, plan.material.schema, plan.options);
    return dataset::Writer::join(plan.path, node, {});
}

// The parent begins each of three steps for all: create, append, close.
void be_node(Plan const& plan, std::uint32_t node, int socket) {
    std::vector<std::pair<std::string, Rows>> all;
    for (std::uint64_t i = 0; i < plan.producers; ++i) {
        auto const index = node * plan.producers + i;
        all.emplace_back(plan.material.tables[index], plan.material.prepare(index));
    }
    tell(socket, {});
    hear(socket);
    auto const writer = writer_of(plan, node);
    tell(socket, {});
    hear(socket);
    auto const begin_cpu_s = process_cpu_s();
    Message message;
    std::vector<Produced> produced(all.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto const& [table, rows] = all[i];
            threads.emplace_back([&, i] { produced[i] = produce(writer->producer(table), rows); });
        }
    }
    for (auto const& each : produced) message.produced += each;
    tell(socket, message);
    hear(socket);
    auto const begin_ns = base::monotonic_ns();
    auto const result = writer->close(kCloseTimeoutNs);
    message.close_s = seconds_since(begin_ns);
    message.produced.cpu_s = process_cpu_s() - begin_cpu_s;
    message.gather_cpu_s = static_cast<double>(result.gather_cpu_ns) * 1e-9;
    message.pages = result.report.pages;
    for (auto const& table : result.report.tables) message.stored_bytes += table.stored_bytes;
    tell(socket, message);
}

struct Member {
    pid_t pid;
    base::FileDescriptor socket;
};

std::vector<Member> fork_nodes(Plan const& plan) {
    std::vector<Member> members;
    for (std::uint32_t node = 0; node < plan.nodes; ++node) {
        int sockets[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
            base::fail_system({"cannot make a socket"}, errno);
        base::FileDescriptor ours(sockets[0]), theirs(sockets[1]);
        auto const pid = ::fork();
        if (pid < 0) base::fail_system({"cannot fork"}, errno);
        if (pid > 0) {
            members.push_back({pid, std::move(ours)});
            continue;
        }
        members.clear();
        ours = {};
        try {
            be_node(plan, node, theirs.get());
            ::_exit(0);
        } catch (std::exception const& error) {
            fmt::print(stderr, "node {}: {}\n", node + 1, error.what());
            ::_exit(1);
        }
    }
    return members;
}

// Counts names that are created, renamed or removed in the folder of the run, from now on.
class NameCount {
  public:
    explicit NameCount(std::string const& folder) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        ::inotify_add_watch(fd_.get(), folder.c_str(), IN_CREATE | IN_DELETE | IN_MOVE);
    }

    void read() {
        alignas(inotify_event) char bytes[64 << 10];
        for (ssize_t size; (size = ::read(fd_.get(), bytes, sizeof bytes)) > 0;) {
            for (ssize_t at = 0; at < size;) {
                auto const* const event = reinterpret_cast<inotify_event const*>(bytes + at);
                bool const is_region = event->len > 0 && std::string_view(event->name).starts_with("region-");
                if ((event->mask & (IN_CREATE | IN_DELETE | IN_MOVE)) != 0) ++(is_region ? regions : others);
                at += static_cast<ssize_t>(sizeof *event + event->len);
            }
        }
    }

    std::uint64_t regions = 0, others = 0;

  private:
    base::FileDescriptor fd_;
};

void step(std::vector<Member> const& members, std::vector<Message>* heard = nullptr) {
    for (auto const& member : members) tell(member.socket.get(), {});
    for (auto const& member : members) {
        auto message = hear(member.socket.get());
        if (heard != nullptr) heard->push_back(message);
    }
}

std::uint64_t disk_bytes(std::string const& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) base::fail_system({"cannot look at " + path}, errno);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

} // namespace

Json measure_nodes(Arguments& arguments) {
    Plan plan{.path = arguments.text("path"), .nodes = {}, .producers = {}, .material = {}, .options = {}};
    plan.nodes = static_cast<std::uint32_t>(arguments.number("nodes", 2));
    plan.producers = arguments.number("producers", 1);
    plan.material = material_from(arguments, plan.nodes * plan.producers, "pulses", base::kGiB);
    auto& options = plan.options;
    options.force = true;
    options.nodes.nodes = plan.nodes;
    options.layout.wide_codec = options.layout.narrow_codec = arguments.text("codec", "");
    if (auto const bytes = arguments.number("page-bytes", 0)) options.layout.narrow_page_bytes = bytes;
    arguments.check_all_used();

    dataset::PartsFolder const parts(plan.path);
    auto const members = fork_nodes(plan);
    for (auto const& member : members) hear(member.socket.get()); // rows are ready
    auto const begin_ns = base::monotonic_ns();
    step(members);
    auto const created_s = seconds_since(begin_ns);
    auto const names_at_begin = plan.nodes > 1 ? base::list_directory(parts.path()).size() : 0;
    NameCount names(plan.nodes > 1 ? parts.path() : std::filesystem::path(plan.path).parent_path().string());
    step(members);
    auto const regions = plan.nodes > 1 ? parts.regions().size() : 0;
    auto const produced_s = seconds_since(begin_ns);
    std::vector<Message> closed;
    step(members, &closed);
    auto const total_s = seconds_since(begin_ns);
    names.read();
    Produced produced;
    double close_s = 0, gather_cpu_s = 0;
    for (auto const& each : closed) {
        produced += each.produced;
        close_s = std::max(close_s, each.close_s);
        gather_cpu_s = std::max(gather_cpu_s, each.gather_cpu_s);
    }
    for (auto const& member : members) ::waitpid(member.pid, nullptr, 0);
    auto const stored_bytes = closed.front().stored_bytes;
    auto const gigabytes = static_cast<double>(produced.raw_bytes) * 1e-9;
    return {{"seconds", total_s},
            {"raw_bytes", produced.raw_bytes},
            {"GB_per_s", gigabytes / (total_s - created_s)},
            {"create_s", created_s},
            {"produce_s", produced_s - created_s},
            {"close_s", close_s},
            {"gather_cpu_s", gather_cpu_s},
            {"cpu_s_per_GB", produced.cpu_s / gigabytes},
            {"pages", closed.front().pages},
            {"stored_bytes", stored_bytes},
            {"file_bytes", std::filesystem::file_size(plan.path)},
            {"disk_bytes", disk_bytes(plan.path)},
            {"regions", regions},
            // Names that exist when all nodes have joined count as created.
            {"other_names_per_node", static_cast<double>(names.others + names_at_begin) / plan.nodes}};
}

// Measures extents of 64 bytes, claimed by threads of one node of two while the committer takes its regions.
Json measure_claims(Arguments& arguments) {
    auto const threads = arguments.number("threads", 2), claims = arguments.number("claims", 8'000'000);
    auto const path = arguments.text("path");
    constexpr std::uint64_t kBytes = 64;
    dataset::CreateOptions options;
    options.force = true;
    options.nodes.nodes = 2;
    auto const material = pulses(1, base::kMiB);
    std::unique_ptr<dataset::Writer> other;
    std::jthread joining([&] { other = dataset::Writer::join(path, 1, {}); });
    auto const writer = dataset::Writer::create(path, material.schema, options);
    joining.join();
    auto const ledger = dataset::Ledger::attach(writer->handle());
    std::size_t before = dataset::PartsFolder(path).regions().size();
    auto const begin_ns = base::monotonic_ns();
    {
        std::vector<std::jthread> all;
        for (std::uint64_t i = 0; i < threads; ++i)
            all.emplace_back([&] {
                for (std::uint64_t claim = 0; claim < claims / threads; ++claim) ledger->claim(kBytes, {});
            });
    }
    auto const seconds = seconds_since(begin_ns);
    auto const regions = dataset::PartsFolder(path).regions().size() - before;
    writer->abandon();
    other->abandon();
    dataset::PartsFolder(path).remove();
    return {{"seconds", seconds},
            {"claims", claims},
            {"claims_M_per_s", static_cast<double>(claims) / seconds * 1e-6},
            {"regions", regions}};
}

// Measures names that threads create in one folder, each of them once: this is what a region costs the server of a
// folder.
Json measure_names(Arguments& arguments) {
    auto const threads = arguments.number("threads", 8), names = arguments.number("names", 4000);
    dataset::PartsFolder const parts(arguments.text("path"));
    parts.make();
    std::atomic<std::uint32_t> next = 0;
    auto const begin_ns = base::monotonic_ns();
    {
        std::vector<std::jthread> all;
        for (std::uint64_t i = 0; i < threads; ++i)
            all.emplace_back([&] {
                while (next < names) {
                    if (parts.take_region(next)) ++next; // all compete for one
                }
            });
    }
    auto const seconds = seconds_since(begin_ns);
    parts.remove();
    return {{"seconds", seconds}, {"names_per_s", static_cast<double>(names) / seconds}};
}

} // namespace thalweg::study
