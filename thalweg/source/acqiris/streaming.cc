// Triggered streaming (option CST): the card sends a stream of samples and one of markers for each channel.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/shared_number.h"
#include "thalweg/base/units.h"
#include "thalweg/source/acqiris/acquisition.h"
#include "thalweg/source/acqiris/markers.h"
#include "thalweg/source/samples/unpack.h"

namespace thalweg::source::acqiris {
namespace {

// So long a card that is stopped may still hand out what it has.
constexpr std::uint64_t kDrainNs = 3 * base::kSecondNs;
// So many unpacked records stay in the cache until they are appended.
constexpr std::size_t kAtOnce = 16;
constexpr std::size_t kElementBytes = sizeof(std::int32_t);

// Elements that a stream has announced. The library wants more room than it fills.
struct Fetched {
    std::vector<std::int32_t> memory;
    std::int64_t first = 0, count = 0, available = 0;

    std::span<std::int32_t const> elements() const {
        return std::span(memory).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    }
};

struct Channel {
    std::string samples_stream, markers_stream;
    Fetched samples, markers;
    MarkerCheck check;
    std::vector<Checked> pending; // records whose markers are read, and that are not handed out
    std::size_t fetched = 0;      // of these, the first ones whose samples are there
    std::size_t handed_out = 0;   // of the records in `samples`
    base::SharedNumber bad, missing, undrained, overranges;
    bool is_last = false;  // no more markers are to be read: the card is stopped, and this channel has caught up
    bool is_empty = false; // after an overflow or a stop
};

class Streaming final : public Acquisition {
  public:
    Streaming(Instrument& card, Options const& options, Facts const& facts)
        : card_(card), options_(options), facts_(facts), channels_(options.channels) {
        auto const is_packed = facts.packing == Packing::ten_bits;
        record_elements_ = (is_packed ? options.samples * 10 / 8 : options.samples * 2) / kElementBytes;
        if (is_packed) unpack_ = samples::unpack_of({10, options.high_first, options.is_signed});
        for (std::size_t i = 0; i < channels_.size(); ++i) prepare(channels_[i], i + 1);
    }

    void start() override {
        for (auto& channel : channels_) {
            channel.check.restart();
            forget_pending(channel);
            channel.is_last = channel.is_empty = false;
        }
        has_overflowed_ = false;
        stopped_ns_ = 0;
    }

    void stop() override {
        if (stopped_ns_ == 0) stopped_ns_ = base::monotonic_ns();
    }

    Read read(std::uint32_t number, Records& records) override {
        auto& channel = channels_[number];
        if (channel.is_empty) return Read::drained;
        if (channel.pending.empty() && !channel.is_last) read_markers(channel);
        if (channel.fetched == 0 && !channel.pending.empty()) read_samples(channel);
        if (channel.fetched > 0) {
            hand_out(channel, std::min(channel.fetched, kAtOnce), records);
            return records.count() > 0 ? Read::records : Read::nothing;
        }
        if (!has_overflowed_ && stopped_ns_ == 0) return Read::nothing;
        // If a card was stopped, samples may come a moment after their markers.
        if (!has_overflowed_ && !channel.pending.empty() && base::monotonic_ns() < stopped_ns_ + kDrainNs)
            return Read::nothing;
        forget_pending(channel);
        channel.is_empty = true;
        return Read::drained;
    }

    bool has_overflowed() const override { return has_overflowed_; }

    Counted counted(std::uint32_t number) const override {
        auto const& channel = channels_[number];
        return {channel.bad.get(), channel.missing.get(), channel.undrained.get(), channel.overranges.get()};
    }

  private:
    void prepare(Channel& channel, std::size_t number) {
        channel.samples_stream = fmt::format("StreamCh{}", number);
        channel.markers_stream = fmt::format("MarkersCh{}", number);
        channel.samples.memory.resize(room_for(channel.samples_stream, options_.batch * record_elements_));
        channel.markers.memory.resize(room_for(channel.markers_stream, options_.batch * kMarkerWords));
    }

    // A fetch may begin behind the beginning of the array, by the granularity of the stream, and needs half as much
    // again where one channel has the memory of two.
    std::size_t room_for(std::string const& stream, std::size_t elements) const {
        auto const granularity =
            static_cast<std::size_t>(card_.int64(Attribute::stream_granularity_bytes, stream.c_str())) / kElementBytes;
        if (granularity > 0 && record_elements_ % granularity != 0) {
            auto const samples = options_.samples * granularity / record_elements_;
            base::fail_usage(
                {fmt::format("records of {} samples cannot be streamed", options_.samples),
                 fmt::format("{} elements of the stream are no multiple of {}", record_elements_, granularity),
                 samples == 0 ? "" : "use a multiple of 256 samples"});
        }
        return elements + elements / 2 + granularity;
    }

    // Returns whether as many elements as wanted came.
    bool fetch(Channel& channel, std::string const& stream, Fetched& fetched, std::size_t wanted) {
        fetched.first = fetched.count = fetched.available = 0;
        auto const status = card_.functions().StreamFetchDataInt32(
            card_.session(), stream.c_str(), static_cast<std::int64_t>(wanted),
            static_cast<std::int64_t>(fetched.memory.size()), fetched.memory.data(), &fetched.available, &fetched.count,
            &fetched.first);
        if (status == kOverflow) {
            has_overflowed_ = true;
            fetched.count = 0;
            return false;
        }
        if (status == kAdcOverrange)
            channel.overranges.add(1);
        else
            card_.check("StreamFetchDataInt32", status);
        auto const end = fetched.first + fetched.count;
        if (fetched.count == 0) return false;
        if (fetched.first < 0 || fetched.count < 0 || end > static_cast<std::int64_t>(fetched.memory.size()) ||
            fetched.count != static_cast<std::int64_t>(wanted)) {
            throw DriverError(
                fmt::format("{} gave elements {} to {}, and {} were wanted", stream, fetched.first, end, wanted), 0);
        }
        return true;
    }

    // Fetches up to so many records of `each` elements. Returns how many came.
    std::size_t fetch_some(Channel& channel, std::string const& stream, Fetched& fetched, std::size_t most,
                           std::size_t each) {
        if (fetch(channel, stream, fetched, most * each)) return most;
        if (has_overflowed_) return drain_some(channel, stream, fetched, most, each);
        auto const there =
            std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(fetched.available, 0)) / each);
        return there > 0 && fetch(channel, stream, fetched, there * each) ? there : 0;
    }

    // A card whose memory was full may hand out what it has, less than a whole batch in the end, or nothing at all.
    std::size_t drain_some(Channel& channel, std::string const& stream, Fetched& fetched, std::size_t most,
                           std::size_t each) {
        for (auto count = most; count > 0; count /= 2)
            if (fetch(channel, stream, fetched, count * each)) return count;
        return 0;
    }

    void read_markers(Channel& channel) {
        auto const count = fetch_some(channel, channel.markers_stream, channel.markers, options_.batch, kMarkerWords);
        // A channel that was stopped has caught up if the card has less than a batch.
        channel.is_last = stopped_ns_ != 0 && !has_overflowed_ &&
                          (count < options_.batch || base::monotonic_ns() > stopped_ns_ + kDrainNs);
        if (count == 0) return;
        auto const elements = channel.markers.elements();
        words_.resize(elements.size());
        std::memcpy(words_.data(), elements.data(), elements.size_bytes());
        channel.check.check(words_, channel.pending);
        channel.bad.set(channel.check.bad());
        channel.missing.set(channel.check.missing());
    }

    void read_samples(Channel& channel) {
        channel.handed_out = 0;
        channel.fetched =
            fetch_some(channel, channel.samples_stream, channel.samples, channel.pending.size(), record_elements_);
    }

    static void forget_pending(Channel& channel) {
        channel.undrained.add(channel.pending.size());
        channel.pending.clear();
        channel.fetched = 0;
    }

    void hand_out(Channel& channel, std::size_t count, Records& records) {
        records.times_ps.clear();
        records.t0_ps.clear();
        records.samples.resize(count * options_.samples * sizeof(std::uint16_t));
        auto const* const from = reinterpret_cast<std::byte const*>(channel.samples.elements().data()) +
                                 channel.handed_out * record_elements_ * kElementBytes;
        auto const period_ps = 1e12 / static_cast<double>(facts_.samples_per_s);
        std::size_t good = 0;
        for (std::size_t first = 0; first < count;) { // as many at once as lie side by side
            auto end = first;
            for (; end < count && channel.pending[end].is_good; ++end) {
                auto const position = channel.pending[end].position;
                records.times_ps.push_back(picoseconds(position, facts_.samples_per_s));
                records.t0_ps.push_back(
                    static_cast<float>(-static_cast<double>(static_cast<unsigned>(position & 0xff)) / 256 * period_ps));
            }
            copy(from + first * record_elements_ * kElementBytes, end - first,
                 records.samples.data() + good * options_.samples * sizeof(std::uint16_t));
            good += end - first;
            first = end + 1; // behind a record that is left out
        }
        records.samples.resize(good * options_.samples * sizeof(std::uint16_t));
        channel.pending.erase(channel.pending.begin(), channel.pending.begin() + static_cast<std::ptrdiff_t>(count));
        channel.fetched -= count;
        channel.handed_out += count;
    }

    void copy(std::byte const* from, std::size_t count, std::byte* to) const {
        if (unpack_ != nullptr)
            unpack_(from, count * options_.samples, to);
        else if (count > 0)
            std::memcpy(to, from, count * options_.samples * sizeof(std::uint16_t));
    }

    Instrument& card_;
    Options const& options_;
    Facts facts_;
    std::vector<Channel> channels_;
    std::size_t record_elements_ = 0;
    samples::Unpack unpack_ = nullptr;
    std::vector<std::uint32_t> words_;
    std::uint64_t stopped_ns_ = 0; // 0: it was not
    bool has_overflowed_ = false;
};

} // namespace

std::unique_ptr<Acquisition> make_streaming(Instrument& card, Options const& options, Facts const& facts) {
    return std::make_unique<Streaming>(card, options, facts);
}

} // namespace thalweg::source::acqiris
