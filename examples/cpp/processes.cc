// Forked processes write one table, each its own events. They attach to the run by its handle, as any other process on
// this machine could. Usage: processes FILE
#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <thalweg/thalweg.h>

using namespace thalweg;

namespace {

constexpr std::uint64_t kProcesses = 3;
constexpr std::uint64_t kEvents = 10'000; // for each process

struct Hit {
    std::uint16_t channel;
    float energy;
};

struct Event {
    std::uint64_t number;
    std::vector<Hit> hits;
};

auto event_type() {
    auto const hit = dataset::struct_type<Hit>().with("channel", &Hit::channel).with("energy", &Hit::energy, "keV");
    return dataset::struct_type<Event>().with("number", &Event::number).with("hits", &Event::hits, hit);
}

void work(std::string const& handle, std::uint64_t first) {
    auto const run = dataset::attach(handle);
    dataset::StructProducer events(dataset::Producer(run, "events"), event_type());
    for (auto number = first; number < first + kEvents; ++number) {
        Event event{number, {}};
        for (std::uint64_t i = 0; i < number % 4; ++i)
            event.hits.push_back({static_cast<std::uint16_t>(i), static_cast<float>(number)});
        events.append(event);
    }
    events.finish();
}

// The child must neither use nor end the parent's run, so it leaves with _exit.
[[noreturn]] void child(std::string const& handle, std::uint64_t first) {
    try {
        work(handle, first);
        ::_exit(0);
    } catch (base::Error const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ::_exit(1);
    }
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    model::Schema schema;
    schema.tables = {event_type().table("events")};
    dataset::CreateOptions options;
    options.force = true;
    auto const run = dataset::Writer::create(argv[1], schema, options);
    for (std::uint64_t i = 0; i < kProcesses; ++i) {
        auto const pid = ::fork();
        if (pid == 0) child(run->handle(), i * kEvents);
        if (pid < 0) {
            std::perror("fork");
            return 1;
        }
    }
    bool all_well = true;
    for (int status = 0; ::wait(&status) > 0;) all_well = all_well && status == 0;
    auto const rows = run->close(10'000'000'000).report.tables[0].rows;
    std::printf("events: %llu rows\n", static_cast<unsigned long long>(rows));
    return all_well ? 0 : 1;
} catch (base::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
