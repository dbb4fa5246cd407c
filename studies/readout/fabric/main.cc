// Measures the connections of one wire, and responses over them: prints what it found as JSON.
//     fabric_study WIRE CONNECTIONS IN_FLIGHT SECONDS     (0 s: no responses)
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "studies/readout/fabric/wire.h"

namespace thalweg::study {
namespace {

constexpr std::size_t kFragments = 192, kFragmentBytes = 456, kSlotBytes = 512;
constexpr std::size_t kSourceBytes = std::size_t{64} << 20;
constexpr unsigned kAtOnce = 16; // connections that are being made
constexpr double kSetUpS = 4;
constexpr double kMostMemory = 3e9;
constexpr unsigned kWholeS = 20;

double seconds_of(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double now() { return seconds_of(CLOCK_MONOTONIC); }

double resident_bytes(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    double whole = 0, resident = 0;
    file >> whole >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

struct Process {
    pid_t pid;
    clockid_t clock;
    double cpu = 0, memory = 0; // at the mark

    explicit Process(pid_t its) : pid(its) { ::clock_getcpuclockid(pid, &clock); }
    void mark() {
        cpu = seconds_of(clock);
        memory = resident_bytes(pid);
    }
    double cpu_since() const { return seconds_of(clock) - cpu; }
    double memory_since() const { return resident_bytes(pid) - memory; }
};

std::unique_ptr<Wire> make_wire(std::string const& name, Plan const& plan) {
    if (name == "TCP" || name == "Unix") return make_sockets(name == "Unix", plan);
    return make_fabric(name, name == "tcp" || name == "sockets", plan);
}

// Copies fragments out of memory that no cache holds, as a handler does with those of its index.
class Flattener {
  public:
    Flattener() : source_(kSourceBytes, std::byte{1}) {}
    void operator()(std::byte* to) {
        for (std::size_t i = 0; i < kFragments; ++i, to += kFragmentBytes) {
            std::memcpy(to, source_.data() + position_, kFragmentBytes);
            position_ = (position_ + kSlotBytes) % kSourceBytes;
        }
    }

  private:
    std::vector<std::byte> source_;
    std::size_t position_ = 0;
};

int serve(Wire& wire, Plan const& plan, int address_pipe, bool const volatile& stop) {
    std::unique_ptr<Flattener> flatten;
    if (plan.response_bytes > kRequestBytes) flatten = std::make_unique<Flattener>();
    std::vector<std::vector<std::byte>> responses(plan.in_flight, std::vector<std::byte>(plan.response_bytes));
    std::vector<std::array<std::byte, kRequestBytes>> hellos(plan.connections);
    auto const address = wire.listen();
    if (::write(address_pipe, address.data(), address.size()) < 0) return 1;
    ::close(address_pipe);
    auto const answer = [&](unsigned connection, std::byte const* message) {
        Header header;
        std::memcpy(&header, message, sizeof header);
        if (header.hello != 0) {
            std::memcpy(hellos[connection].data(), &header, sizeof header);
            return wire.send(connection, hellos[connection]);
        }
        auto& response = responses[header.slot];
        (*flatten)(response.data());
        header.bytes = static_cast<std::uint32_t>(plan.response_bytes);
        std::memcpy(response.data(), &header, sizeof header);
        wire.send(connection, response);
    };
    while (!stop) wire.turn(20, answer, [](unsigned) {});
    return 0;
}

class Client {
  public:
    Client(Wire& wire, Plan const& plan, pid_t server) : wire_(wire), plan_(plan), me_(::getpid()), server_(server) {
        hellos_.resize(plan.connections);
        requests_.resize(plan.in_flight);
    }

    void set_up() {
        mark();
        auto const begin = now();
        unsigned begun = 0, done = 0;
        bool checked = false;
        auto const on_message = [&](unsigned, std::byte const*) { ++done; };
        auto const on_connected = [&](unsigned number) { say_hello(number); };
        while (done < plan_.connections) {
            // One alone is first, to know how much memory each will take.
            while (begun < plan_.connections && begun - done < (done == 0 ? 1 : kAtOnce)) wire_.connect(begun++);
            wire_.turn(20, on_message, on_connected);
            if (done == 1 && !std::exchange(checked, true)) check_memory();
            if (now() > begin + kSetUpS)
                throw WireError(std::to_string(done) + " of " + std::to_string(plan_.connections) +
                                " connections after " + std::to_string(static_cast<int>(kSetUpS)) + " s");
        }
        auto const each = 1.0 / plan_.connections;
        std::printf("\"setup_server_us\": %g, \"setup_client_us\": %g, ", server_.cpu_since() * 1e6 * each,
                    me_.cpu_since() * 1e6 * each);
        std::printf("\"server_kB\": %g, \"client_kB\": %g, ", server_.memory_since() / 1e3 * each,
                    me_.memory_since() / 1e3 * each);
        std::printf("\"connections\": %u", done);
    }

    // Says how much a server that waits for nothing uses: hardly anything, unless waiting is polling.
    void be_idle(double seconds) {
        mark();
        auto const begin = now();
        ::usleep(static_cast<useconds_t>(seconds * 1e6));
        std::printf(", \"idle_cores\": %g", server_.cpu_since() / (now() - begin));
    }

    void ask(double seconds) {
        for (unsigned slot = 0; slot < plan_.in_flight; ++slot) request(slot);
        receive_for(seconds / 5); // caches and buffers become warm
        mark();
        auto const begin = now();
        auto const responses = receive_for(seconds);
        auto const fragments = static_cast<double>(std::max(1u, responses)) * kFragments;
        auto const server_s = server_.cpu_since(), client_s = me_.cpu_since(), elapsed = now() - begin;
        std::printf(", \"server_ns\": %g, \"client_ns\": %g, \"GB_per_s\": %g, \"responses\": %u, \"wrong\": %u",
                    server_s / fragments * 1e9, client_s / fragments * 1e9, fragments * kFragmentBytes / elapsed / 1e9,
                    responses, wrong_);
    }

  private:
    using Request = std::array<std::byte, kRequestBytes>;

    void mark() {
        me_.mark();
        server_.mark();
    }

    void check_memory() const {
        auto const each = std::max(me_.memory_since(), server_.memory_since());
        if (each * plan_.connections < kMostMemory) return;
        throw WireError("the first endpoint takes " + std::to_string(static_cast<int>(each / 1e6)) + " MB");
    }

    void say_hello(unsigned number) {
        auto const address = wire_.address_of(number);
        auto& hello = hellos_[number];
        Header const header{.bytes = kRequestBytes, .connection = number, .hello = 1};
        std::memcpy(hello.data(), &header, sizeof header);
        std::memcpy(hello.data() + sizeof header, address.data(), address.size());
        wire_.send(number, hello);
    }

    void request(unsigned slot) {
        Header const header{.bytes = kRequestBytes, .connection = slot % plan_.connections, .slot = slot};
        std::memcpy(requests_[slot].data(), &header, sizeof header);
        wire_.send(header.connection, requests_[slot]);
    }

    unsigned receive_for(double seconds) {
        auto const end = now() + seconds;
        unsigned count = 0;
        auto const take = [&](unsigned, std::byte const* message) {
            ++count;
            check(message);
            Header header;
            std::memcpy(&header, message, sizeof header);
            request(header.slot);
        };
        while (now() < end) wire_.turn(20, take, [](unsigned) {});
        return count;
    }

    // Looks at all bytes, as a client does: behind the header all are 1.
    void check(std::byte const* message) {
        std::uint64_t sum = 0;
        for (auto at = sizeof(Header); at < plan_.response_bytes; at += sizeof sum) {
            std::uint64_t word = 0;
            std::memcpy(&word, message + at, sizeof word);
            sum += word ^ 0x0101010101010101u;
        }
        if (sum != 0) ++wrong_;
    }

    Wire& wire_;
    Plan plan_;
    Process me_, server_;
    std::vector<Request> hellos_, requests_;
    unsigned wrong_ = 0;
};

int measure(std::string const& name, Plan const& plan, double seconds) {
    auto& stop =
        *static_cast<bool volatile*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw WireError("pipe");
    auto const pid = ::fork();
    ::alarm(kWholeS);
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::close(pipe[0]);
        auto const wire = make_wire(name, plan);
        return serve(*wire, plan, pipe[1], stop);
    }
    ::close(pipe[1]);
    std::string address(256, '\0');
    auto const size = ::read(pipe[0], address.data(), address.size());
    if (size <= 0) throw WireError("the server does not listen");
    address.resize(static_cast<std::size_t>(size));
    auto const wire = make_wire(name, plan);
    // The server ends first and in order: providers leave files in /dev/shm otherwise.
    auto const end_server = [&] {
        stop = true;
        for (int i = 0; i < 300 && ::waitpid(pid, nullptr, WNOHANG) == 0; ++i) ::usleep(10'000);
    };
    try {
        wire->prepare(address);
        Client client(*wire, plan, pid);
        std::printf("{");
        client.set_up();
        if (seconds > 0) {
            client.be_idle(std::min(0.1, seconds));
            client.ask(seconds);
        }
        std::printf(", \"waiting\": \"%s\"}\n", wire->waiting());
    } catch (WireError const&) {
        end_server();
        throw;
    }
    end_server();
    return 0;
}

} // namespace
} // namespace thalweg::study

int main(int count, char** words) {
    using namespace thalweg::study;
    if (count != 5) return 2;
    auto const seconds = std::atof(words[4]);
    Plan const plan{.connections = static_cast<unsigned>(std::atoi(words[2])),
                    .in_flight = static_cast<unsigned>(std::atoi(words[3])),
                    .response_bytes = seconds > 0 ? kFragments * kFragmentBytes : kRequestBytes};
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    try {
        return measure(words[1], plan, seconds);
    } catch (WireError const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
