// Measures how one thread passes descriptors of fragments to another, and what that costs both.
#include <array>
#include <thread>
#include <vector>

#include "studies/readout/driver/measurements.h"
#include "studies/readout/driver/passages.h"
#include "studies/readout/driver/threads.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::study {
namespace {

constexpr std::size_t kMaxBatch = 256;
constexpr std::uint64_t kBatchesBetweenClocks = 1024;
using Batch = std::array<Descriptor, kMaxBatch>;

struct Side {
    std::uint64_t cpu_ns = 0;
    std::uint64_t items = 0;
    std::uint64_t wrong = 0;
    std::uint64_t sleeps = 0;
};

void fill(std::span<Descriptor> batch, std::uint64_t first_event) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto const event = first_event + i;
        batch[i] = {event, static_cast<std::uint32_t>(event) * 456, 456};
    }
}

std::uint64_t count_wrong(std::span<Descriptor const> batch, std::uint64_t first_event) {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto const event = first_event + i;
        wrong += batch[i].event != event || batch[i].offset != static_cast<std::uint32_t>(event) * 456;
    }
    return wrong;
}

template <class Passage> void take_all(Passage& passage, std::size_t size, Side& side) {
    Batch batch;
    while (auto const count = passage.take(std::span(batch).first(size))) {
        side.wrong += count_wrong(std::span(batch).first(count), side.items);
        side.items += count;
    }
}

// Puts descriptors for `duration_ns`; calls `room` if there is none.
template <class Passage, class Room>
Side put_for(Passage& passage, std::size_t size, std::uint64_t duration_ns, Room const& room) {
    Batch batch;
    Side side;
    auto const end_ns = base::monotonic_ns() + duration_ns;
    do {
        for (std::uint64_t i = 0; i < kBatchesBetweenClocks; ++i) {
            fill(std::span(batch).first(size), side.items);
            while (!passage.put(std::span<Descriptor const>(batch).first(size))) room(side);
            side.items += size;
        }
    } while (base::monotonic_ns() < end_ns);
    return side;
}

template <class Passage> std::pair<Side, Side> in_one_thread(std::size_t size, std::uint64_t duration_ns) {
    Passage passage;
    Side consumer;
    auto const begin_ns = base::thread_cpu_ns();
    auto producer = put_for(passage, size, duration_ns, [&](Side&) { take_all(passage, size, consumer); });
    take_all(passage, size, consumer);
    producer.cpu_ns = base::thread_cpu_ns() - begin_ns;
    return {producer, consumer};
}

template <class Passage>
std::pair<Side, Side> between_two(std::size_t size, std::uint64_t duration_ns, Processors const& processors) {
    Passage passage;
    Side consumer;
    std::atomic<bool> done = false;
    std::thread taker([&] {
        pin(processors.consumer);
        auto const begin_ns = base::thread_cpu_ns();
        for (bool last = false; !last;) {
            last = done.load();
            take_all(passage, size, consumer);
            if (!last) {
                ++consumer.sleeps;
                nap();
            }
        }
        consumer.cpu_ns = base::thread_cpu_ns() - begin_ns;
    });
    pin(processors.producer);
    auto const begin_ns = base::thread_cpu_ns();
    auto producer = put_for(passage, size, duration_ns, [](Side& side) {
        ++side.sleeps;
        nap();
    });
    producer.cpu_ns = base::thread_cpu_ns() - begin_ns;
    done = true;
    taker.join();
    return {producer, consumer};
}

template <class Passage> Json measure(Arguments& arguments) {
    auto const batch = arguments.number("batch", 64);
    if (batch == 0 || batch > kMaxBatch) base::fail_usage({"--batch is 1 to 256"});
    auto const threads = arguments.number("threads", 2);
    auto const duration_ns = arguments.number("milliseconds", 1000) * 1'000'000;
    Processors const processors{arguments.text("producer-processor", ""), arguments.text("consumer-processor", "")};
    auto const begin_ns = base::monotonic_ns();
    auto const [producer, consumer] = threads == 1 ? in_one_thread<Passage>(batch, duration_ns)
                                                   : between_two<Passage>(batch, duration_ns, processors);
    auto const seconds = static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-9;
    auto const items = static_cast<double>(consumer.items);
    return {{"item", "descriptor"},
            {"ns_per_item", static_cast<double>(producer.cpu_ns + consumer.cpu_ns) / items},
            {"producer_ns", static_cast<double>(producer.cpu_ns) / items},
            {"consumer_ns", static_cast<double>(consumer.cpu_ns) / items},
            {"batch", batch},
            {"items", consumer.items},
            {"M_items_per_s", items / seconds * 1e-6},
            {"sleeps", producer.sleeps + consumer.sleeps},
            {"wrong", consumer.wrong + (producer.items - consumer.items)},
            {"seconds", seconds}};
}

} // namespace

Json measure_hand_off(Arguments& arguments) {
    auto const through = arguments.text("through", "ring");
    if (through == "ring") return measure<RingPassage>(arguments);
#ifdef THALWEG_STUDY_TBB
    if (through == "map") return measure<MapPassage>(arguments);
#else
    if (through == "map") base::fail_system({"the hash map was not built in", "libtbb-dev is not installed"});
#endif
    base::fail_usage({"--through " + through + " is neither ring nor map"});
}

} // namespace thalweg::study
