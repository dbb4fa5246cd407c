// Reads the table that `processes` writes: as structs, some rows at a time, and one column. Usage: read FILE
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <thalweg/thalweg.h>

using namespace thalweg;

namespace {

constexpr std::uint64_t kRowsAtOnce = 10'000;

struct Hit {
    std::uint16_t channel;
    float energy;
};

struct Event {
    std::uint64_t number;
    std::vector<Hit> hits;
};

// As the program that writes them says it; a table may have more columns than the struct.
auto event_type() {
    auto const hit = dataset::struct_type<Hit>().with("channel", &Hit::channel).with("energy", &Hit::energy, "keV");
    return dataset::struct_type<Event>().with("number", &Event::number).with("hits", &Event::hits, hit);
}

} // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    dataset::RunReader const run(argv[1]); // complete, or still written
    auto const events = run.table("events");
    double energy = 0;
    for (std::uint64_t first = 0; first < events.rows(); first += kRowsAtOnce) {
        for (auto const& event : events.read(event_type(), {first, std::min(kRowsAtOnce, events.rows() - first)}))
            for (auto const& hit : event.hits) energy += static_cast<double>(hit.energy);
    }
    auto const numbers = events.column<std::uint64_t>("number");
    std::printf("%zu events up to number %llu, %.0f keV\n", numbers.size(),
                static_cast<unsigned long long>(*std::max_element(numbers.begin(), numbers.end())), energy);
} catch (base::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
