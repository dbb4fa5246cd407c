#include "thalweg/source/caen/raw_events.h"

#include <bit>
#include <cstring>

namespace thalweg::source::caen {
namespace {

constexpr std::size_t kWordBytes = 8, kHeaderWords = 3, kSamplesOfWord = 4;
constexpr unsigned kData = 1, kSpecial = 3, kStart = 0, kStop = 2;

std::uint64_t word_at(std::span<std::byte const> bytes, std::size_t number) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + number * kWordBytes, kWordBytes);
    return __builtin_bswap64(word);
}

constexpr std::uint64_t low_bits(std::uint64_t word, unsigned count) {
    return word & ((std::uint64_t{1} << count) - 1);
}

void take_data(std::span<std::byte const> bytes, RawEvent& event) {
    auto const second = word_at(bytes, 1);
    event.trigger_id = static_cast<std::uint32_t>(low_bits(word_at(bytes, 0) >> 32, 24));
    event.flags = static_cast<std::uint32_t>(second >> 51);
    event.time_tag = low_bits(second, 48);
    event.channels = word_at(bytes, 2);
    event.data = bytes.subspan(kHeaderWords * kWordBytes);
    auto const channels = static_cast<std::size_t>(std::popcount(event.channels));
    auto const words = event.data.size() / kWordBytes;
    if (channels == 0 ? words > 0 : words % channels != 0) return;
    event.kind = RawEvent::Kind::data;
    event.samples = channels == 0 ? 0 : words / channels * kSamplesOfWord;
}

void take_special(std::span<std::byte const> bytes, RawEvent& event) {
    auto const kind = low_bits(word_at(bytes, 0) >> 56, 4);
    if (kind == kStart) event.kind = RawEvent::Kind::start;
    if (kind != kStop || bytes.size() < kHeaderWords * kWordBytes) return;
    event.kind = RawEvent::Kind::stop;
    event.real_time = low_bits(word_at(bytes, 1), 48);
    event.dead_time = low_bits(word_at(bytes, 2), 32);
}

} // namespace

bool RawEvents::next(RawEvent& event) {
    event = {};
    if (rest_.size() < kWordBytes) return false;
    auto const first = word_at(rest_, 0);
    auto const words = low_bits(first, 32);
    if (words == 0 || words > rest_.size() / kWordBytes) return false;
    auto const bytes = rest_.first(words * kWordBytes);
    rest_ = rest_.subspan(bytes.size());
    auto const format = first >> 60;
    if (format == kData && words >= kHeaderWords) take_data(bytes, event);
    if (format == kSpecial) take_special(bytes, event);
    return true;
}

void copy_samples(RawEvent const& event, std::span<std::byte* const> to) {
    static_assert(std::endian::native == std::endian::little, "the lowest bits of a word are its first sample");
    auto const words = event.samples / kSamplesOfWord;
    for (std::size_t place = 0; place < words; ++place) {
        for (std::size_t channel = 0; channel < to.size(); ++channel) {
            auto const word = word_at(event.data, place * to.size() + channel);
            std::memcpy(to[channel] + place * kWordBytes, &word, kWordBytes);
        }
    }
}

} // namespace thalweg::source::caen
