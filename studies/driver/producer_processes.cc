#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "studies/driver/clocks.h"
#include "studies/driver/producers.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/run/attach.h"

namespace thalweg::study {
namespace {

// The messages between parent and child: "ready", the handle, what was produced.
struct Message {
    char handle[64] = {};
    Produced produced;
};

void tell(int socket, Message const& message) {
    if (::write(socket, &message, sizeof message) != sizeof message) base::fail_system({"a producer is gone"}, errno);
}

Message hear(int socket) {
    Message message;
    if (::read(socket, &message, sizeof message) != sizeof message) base::fail_system({"a producer died"}, errno);
    return message;
}

void attach_and_produce(int socket, Material const& material, std::size_t index, unsigned seal_threads) {
    auto const rows = material.prepare(index);
    tell(socket, {});
    auto const run = dataset::attach(hear(socket).handle, seal_threads);
    auto const begin_cpu_s = process_cpu_s();
    Message message;
    message.produced = produce({run, run->head.schema.table_index(material.tables[index])}, rows);
    message.produced.cpu_s = process_cpu_s() - begin_cpu_s;
    tell(socket, message);
}

class ProducerProcesses final : public Producers {
  public:
    ProducerProcesses(Material const& material, unsigned seal_threads) {
        for (std::size_t i = 0; i < material.tables.size(); ++i) add(material, i, seal_threads);
        for (auto const& member : members_) hear(member.socket.get());
    }
    ~ProducerProcesses() override {
        for (auto& member : members_) {
            member.socket = {}; // a child that still waits for its handle ends with an error
            ::waitpid(member.pid, nullptr, 0);
        }
    }

    void start(dataset::Writer& writer) override {
        Message message;
        writer.handle().copy(message.handle, sizeof message.handle - 1);
        for (auto const& member : members_) tell(member.socket.get(), message);
    }

    Produced wait() override {
        Produced all;
        for (auto const& member : members_) all += hear(member.socket.get()).produced;
        return all;
    }

  private:
    struct Member {
        pid_t pid;
        base::FileDescriptor socket;
    };

    void add(Material const& material, std::size_t index, unsigned seal_threads) {
        int sockets[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
            base::fail_system({"cannot make a socket"}, errno);
        }
        base::FileDescriptor ours(sockets[0]), theirs(sockets[1]);
        auto const pid = ::fork();
        if (pid < 0) base::fail_system({"cannot fork"}, errno);
        if (pid > 0) return members_.push_back({pid, std::move(ours)});
        ours = {};
        members_.clear(); // closes the sockets of the others: only the parent may see their end
        try {
            attach_and_produce(theirs.get(), material, index, seal_threads);
            ::_exit(0);
        } catch (std::exception const& error) {
            fmt::print(stderr, "producer {}: {}\n", index, error.what());
            ::_exit(1);
        }
    }

    std::vector<Member> members_;
};

} // namespace

std::unique_ptr<Producers> make_producer_processes(Material const& material, dataset::WriteOptions const& write) {
    return std::make_unique<ProducerProcesses>(material, write.seal_threads);
}

} // namespace thalweg::study
