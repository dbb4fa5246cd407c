#include "thalweg/felix/card.h"

#include <algorithm>
#include <deque>
#include <thread>

#include "thalweg/base/assert.h"
#include "thalweg/base/clock.h"
#include "thalweg/base/stop.h"
#include "thalweg/felix/card_events.h"
#include "thalweg/felix/dma_outlet.h"
#include "thalweg/felix/feed.h"
#include "thalweg/felix/template_feed.h"
#include "thalweg/felix/writer_feed.h"

namespace thalweg::felix {
namespace {

constexpr std::uint64_t kEventsAtOnce = 1024;        // events between two clock readings
constexpr std::uint64_t kShortestSleepNs = 100'000;  // waking up costs more than the work that is due then
constexpr std::uint64_t kLongestSleepNs = 2'000'000; // so that timeouts and stop() are noticed

FeedLinks links_of(CardOptions const& options, std::uint32_t buffer) {
    auto const first = options.elinks * buffer / options.buffers;
    return {buffer, first, options.elinks * (buffer + 1) / options.buffers - first, 0, {}};
}

// Returns whether blocks fill within the timeout, so that none times out.
bool fills_in_time(CardOptions const& options) {
    if (options.event_rate_hz == 0 || options.timeout_ns == 0) return true;
    auto const packet_bytes = (options.sizes.min_bytes + options.sizes.max_bytes) / 2.0 + options.format.trailer_bytes;
    auto const events = options.format.block_bytes / packet_bytes;
    return events / options.event_rate_hz * 1e9 < static_cast<double>(options.timeout_ns);
}

// Returns the length of a cycle: all buffers begin and end their cycles together. 0: the fast way is not possible.
std::uint64_t cycle_of(CardOptions const& options) {
    if (options.faults.any() || !fills_in_time(options)) return 0;
    auto events = cycle_events(options, links_of(options, 0));
    for (std::uint32_t buffer = 1; buffer < options.buffers; ++buffer) {
        events = std::min(events, cycle_events(options, links_of(options, buffer)));
    }
    return events;
}

void sleep_until_due(double ns) {
    auto const whole_ns = static_cast<std::uint64_t>(std::min<double>(ns, kLongestSleepNs));
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::max(whole_ns, kShortestSleepNs)));
}

} // namespace

struct Card::State {
    State(CardOptions const& options, std::atomic<bool> const& stop) {
        auto const cycle = cycle_of(options);
        for (std::uint32_t buffer = 0; buffer < options.buffers; ++buffer) {
            auto& outlet =
                outlets.emplace_back(dma_name(options.name, buffer), options.format, options.buffer_bytes, stop);
            auto const links = links_of(options, buffer);
            if (cycle > 0) {
                feeds.push_back(std::make_unique<TemplateFeed>(options, links, outlet, cycle));
            } else {
                feeds.push_back(std::make_unique<WriterFeed>(options, links, outlet));
            }
        }
        heart = std::jthread([this](std::stop_token const& end) { beat(end); });
    }

    void beat(std::stop_token const& end) {
        while (!end.stop_requested()) {
            for (auto& outlet : outlets) outlet.writer().beat();
            base::sleep_ns(end, kHeartbeatNs);
        }
    }

    void advance(std::uint64_t event) {
        THALWEG_ASSERT(event >= events.get(), "a card's events only advance");
        for (auto& feed : feeds) feed->advance(event);
        events.set(event);
    }

    std::uint64_t stall_ns() const {
        std::uint64_t sum = 0;
        for (auto const& outlet : outlets) sum += outlet.stall_ns();
        return sum;
    }

    std::deque<DmaOutlet> outlets;
    std::vector<std::unique_ptr<Feed>> feeds;
    base::SharedNumber events;
    std::jthread heart;
};

Card::Card(CardOptions const& options) : options_(options) {
    validate(options);
    state_ = std::make_unique<State>(options, stop_);
}

Card::~Card() = default;

void Card::run() {
    auto const rate_per_ns = options_.event_rate_hz * 1e-9;
    auto const limit = options_.events == 0 ? ~std::uint64_t{0} : options_.events;
    auto const start_ns = base::monotonic_ns();
    std::uint64_t done = 0;
    while (!stop_ && done < limit) {
        auto const now_ns = base::monotonic_ns();
        for (auto& feed : state_->feeds) feed->tick(now_ns);
        auto due = done + kEventsAtOnce;
        if (options_.event_rate_hz > 0) {
            // While a buffer is full there are no triggers, so none have to be sent later.
            auto const ran_ns =
                static_cast<double>(now_ns - start_ns - std::min(state_->stall_ns(), now_ns - start_ns));
            due = std::min(due, static_cast<std::uint64_t>(ran_ns * rate_per_ns) + 1);
            if (due <= done) {
                sleep_until_due(static_cast<double>(done) / rate_per_ns - ran_ns);
                continue;
            }
        }
        done = std::min(due, limit);
        state_->advance(done);
    }
    state_->advance(state_->feeds.front()->next_end(done));
    for (auto& feed : state_->feeds) feed->finish();
    for (auto& outlet : state_->outlets) outlet.writer().stop();
}

std::uint64_t Card::events_sent() const { return state_->events.get(); }

std::uint64_t Card::stall_ns() const { return state_->stall_ns(); }

std::uint64_t Card::bytes_sent() const {
    std::uint64_t blocks = 0;
    for (auto const& outlet : state_->outlets) blocks += outlet.writer().position();
    return blocks * options_.format.block_bytes;
}

std::uint64_t Card::backlog_bytes() const {
    std::uint64_t blocks = 0;
    for (auto const& outlet : state_->outlets) blocks += outlet.writer().backlog();
    return blocks * options_.format.block_bytes;
}

std::vector<LinkTally> Card::tally() const {
    std::vector<LinkTally> tallies;
    for (auto const& feed : state_->feeds) {
        auto const some = feed->tally();
        tallies.insert(tallies.end(), some.begin(), some.end());
    }
    return tallies;
}

} // namespace thalweg::felix
