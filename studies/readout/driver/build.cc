// Measures what decoding costs per packet, alone and together with the building of fragments, in one thread.
#include <memory>
#include <utility>

#include "studies/readout/driver/blocks.h"
#include "studies/readout/driver/measurements.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/felix/walk.h"
#include "thalweg/readout/builder/group.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kBufferBytes = 64 * base::kMiB;
constexpr std::uint64_t kBlocksBetweenTicks = 256;
constexpr std::uint64_t kNsOfABlock = 780; // of a card with 42 e-links, 24 bytes, 1.1 MHz

// Walks the buffer again and again.
class Walk {
  public:
    Walk(Arguments& arguments, std::uint32_t elinks)
        : elinks_(elinks), blocks_(elinks, felix::parse_packet_sizes(arguments.text("sizes", "24")),
                                   arguments.number("buffer-bytes", kBufferBytes)),
          duration_ns_(arguments.number("milliseconds", 1000) * 1'000'000) {}

    felix::BlockFormat const& format() const { return blocks_.format(); }
    std::uint32_t elinks() const { return elinks_; }

    // `lap(blocks)` goes through all blocks once and returns the number of packets. If the buffer is filled again for
    // every lap, this time does not count. The first lap only touches memory.
    template <class Lap> void run(bool filled_anew, Lap const& lap) {
        auto const begin_ns = base::monotonic_ns();
        for (bool first = true; laps_ == 0 || base::monotonic_ns() - begin_ns < duration_ns_; first = false) {
            if (first || filled_anew) blocks_.refill();
            auto const lap_begin_ns = base::thread_cpu_ns();
            auto const packets = lap(std::as_const(blocks_));
            if (first) continue;
            cpu_ns_ += base::thread_cpu_ns() - lap_begin_ns;
            packets_ += packets;
            ++laps_;
        }
    }

    Json result() const {
        auto const ns = static_cast<double>(cpu_ns_) / static_cast<double>(packets_);
        return {{"item", "packet"},
                {"ns_per_item", ns},
                {"items", packets_},
                {"M_items_per_s", 1e3 / ns},
                {"laps", laps_},
                {"streams", elinks_},
                {"seconds", static_cast<double>(cpu_ns_) * 1e-9}};
    }

  private:
    std::uint32_t elinks_;
    Blocks blocks_;
    std::uint64_t duration_ns_;
    std::uint64_t cpu_ns_ = 0, packets_ = 0, laps_ = 0;
};

std::uint64_t packets_of(std::vector<std::unique_ptr<readout::Group>> const& groups) {
    std::uint64_t packets = 0;
    for (auto const& group : groups) {
        for (auto const& stream : group->report().streams) packets += stream.packets;
    }
    return packets;
}

readout::GroupOptions options_of(std::uint32_t group, std::uint32_t streams, std::uint32_t fragment_bytes,
                                 felix::BlockFormat const& format) {
    readout::GroupOptions options;
    options.group.source_id = group + 1;
    for (std::uint32_t i = 0; i < streams; ++i) {
        options.group.elinks.push_back(static_cast<std::uint16_t>(group * streams + i));
    }
    options.group.fragment_bytes = fragment_bytes;
    options.format = format;
    return options;
}

} // namespace

Json measure_decode(Arguments& arguments) {
    Walk walk(arguments, static_cast<std::uint32_t>(arguments.number("elinks", 42)));
    std::vector<std::unique_ptr<felix::StreamDecoder>> decoders;
    for (std::uint32_t i = 0; i < walk.elinks(); ++i) {
        decoders.push_back(std::make_unique<felix::StreamDecoder>(walk.format()));
    }
    walk.run(false, [&](Blocks const& blocks) {
        std::uint64_t packets = 0;
        auto const all = [](std::uint16_t) { return true; };
        auto const decode = [&](std::byte const* block, felix::BlockHeader const& header) {
            packets += decoders[header.elink]->decode(block).size();
            return true;
        };
        felix::walk_blocks(blocks.block(0), blocks.count(), blocks.format().block_bytes, all, decode);
        return packets;
    });
    return walk.result();
}

// One thread builds `own` of the groups whose streams are in the buffer.
Json measure_build(Arguments& arguments) {
    auto const all = static_cast<std::uint32_t>(arguments.number("groups", 3));
    auto const own = static_cast<std::uint32_t>(arguments.number("own-groups", all));
    auto const streams = static_cast<std::uint32_t>(arguments.number("streams", 14));
    auto const fragment_bytes = static_cast<std::uint32_t>(arguments.number("fragment-bytes", 512));
    Walk walk(arguments, all * streams);
    std::vector<std::unique_ptr<readout::Group>> groups;
    for (std::uint32_t i = 0; i < own; ++i) {
        groups.push_back(std::make_unique<readout::Group>(options_of(i, streams, fragment_bytes, walk.format())));
    }
    struct Target {
        readout::Group* group = nullptr;
        std::size_t stream = 0;
    };
    std::vector<Target> targets(walk.elinks());
    for (std::uint32_t i = 0; i < own * streams; ++i) targets[i] = {groups[i / streams].get(), i % streams};

    // The groups' clock stands still while the buffer is filled, so nothing is late because of that.
    auto now_ns = base::monotonic_ns();
    std::uint64_t seen = 0;
    walk.run(true, [&](Blocks const& blocks) {
        for (auto const& group : groups) group->ring().release(group->ring().closed_event());
        std::uint64_t position = 0;
        auto const is_own = [&](std::uint16_t elink) { return targets[elink].group != nullptr; };
        auto const take = [&](std::byte const* block, felix::BlockHeader const& header) {
            auto const& target = targets[header.elink];
            ++position;
            if (target.group == nullptr) return true;
            if (!target.group->has_room()) base::fail_system({"the index is too small for the buffer"});
            target.group->hold_block(target.stream, block, position);
            return true;
        };
        for (std::uint64_t i = 0; i < blocks.count(); i += kBlocksBetweenTicks) {
            now_ns += kBlocksBetweenTicks * kNsOfABlock;
            for (auto const& group : groups) group->tick(now_ns);
            auto const count = std::min(kBlocksBetweenTicks, blocks.count() - i);
            felix::walk_blocks(blocks.block(i), count, blocks.format().block_bytes, is_own, take);
        }
        for (auto const& group : groups) group->let_go(); // the buffer is filled again
        return packets_of(groups) - std::exchange(seen, packets_of(groups));
    });
    auto result = walk.result();
    std::uint64_t wrong = 0, complete = 0;
    for (auto const& group : groups) {
        auto const report = group->report();
        wrong += report.incomplete + report.absent;
        complete += report.complete;
    }
    result["fragments"] = complete;
    result["wrong"] = wrong;
    return result;
}

} // namespace thalweg::study
