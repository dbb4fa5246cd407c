// For any packets in any order: building packet by packet and event by event makes the same fragments, and counts the
// same. Build with -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/readout/builder/test_two_ways.h"

#include <cstdio>
#include <cstdlib>

#include "thalweg/readout/builder/test_group.h"

namespace {

using namespace thalweg;

// Reads the input byte by byte; behind its end are zeros.
struct Input {
    std::uint8_t const* next;
    std::uint8_t const* end;

    bool is_over() const { return next >= end; }
    std::uint8_t byte() { return is_over() ? std::uint8_t{0} : *next++; }
};

struct Stream {
    std::unique_ptr<felix::BlockWriter> writer;
    std::uint32_t l1id = 0;
};

class Card {
  public:
    Card(readout::GroupOptions const& options, readout::TwoWays& ways, bool mixes)
        : options_(options), mixes_(mixes), streams_(options.group.elinks.size()) {
        for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
            auto const sink = [this, &ways, stream](std::span<std::byte const> block) {
                if (!loses_) ways.take(stream, block);
            };
            streams_[stream].writer =
                std::make_unique<felix::BlockWriter>(options.format, options.group.elinks[stream], sink);
        }
    }
    std::size_t count() const { return streams_.size(); }
    Stream& operator[](std::size_t stream) { return streams_[stream]; }
    void set_loses(bool loses) { loses_ = loses; }

    void send(std::size_t stream, std::uint32_t l1id, std::uint32_t flags = 0, std::uint16_t bcid_error = 0) {
        auto const size = mixes_ ? 8 + (l1id * 7 + stream * 13) % 33 : 24;
        std::vector<std::byte> packet(size);
        auto const bcid = static_cast<std::uint16_t>(felix::bcid_of(l1id) ^ bcid_error);
        felix::fill_packet(packet, 0, {l1id, options_.group.elinks[stream], bcid});
        streams_[stream].writer->write(packet, flags);
    }

  private:
    readout::GroupOptions options_;
    bool mixes_;
    bool loses_ = false;
    std::vector<Stream> streams_;
};

void play(Input& input, Card& card, readout::TwoWays& ways) {
    while (!input.is_over()) {
        auto const what = input.byte(), detail = input.byte();
        auto const stream = static_cast<std::size_t>(what >> 4) % card.count();
        auto& one = card[stream];
        switch (what % 12) {
        case 0: // all go on
        case 1:
        case 2:
            for (std::uint32_t i = 0; i <= detail; ++i)
                for (std::size_t each = 0; each < card.count(); ++each) card.send(each, card[each].l1id++);
            break;
        case 3: // one goes on
            for (std::uint32_t i = 0; i <= detail % 64; ++i) card.send(stream, one.l1id++);
            break;
        case 4: // it has lost packets
            one.l1id += detail % 8;
            break;
        case 5: // another number, and back
            card.send(stream, one.l1id + static_cast<std::uint32_t>(static_cast<std::int8_t>(detail)));
            break;
        case 6: // it jumps
            one.l1id += static_cast<std::uint32_t>(detail) << 8;
            break;
        case 7: // all jump
            for (std::size_t each = 0; each < card.count(); ++each)
                card[each].l1id += static_cast<std::uint32_t>(detail) << 12;
            break;
        case 8:
            card.send(stream, one.l1id++, static_cast<std::uint32_t>(detail % 16) << 25, detail >> 6);
            break;
        case 9:
            one.writer->flush();
            break;
        case 10:
            ways.tick(static_cast<std::uint64_t>(detail) * detail * 4000);
            break;
        default: // blocks are lost
            card.set_loses(detail % 2 == 1);
        }
    }
    ways.tick(1000);
    ways.finish();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size > 400) return 0; // each byte makes many packets
    Input input{data, data + size};
    auto const shape = input.byte();
    auto options = readout::TestGroup::options_of(2 + shape % 5);
    if (shape % 2 == 1) options.group.disabled = {1};
    options.index.window_events = 128;
    options.group.fragment_bytes = (shape & 64) != 0 ? 128 : 512; // some packets do not fit
    readout::TwoWays ways(options);
    Card card(options, ways, (shape & 32) != 0);
    play(input, card, ways);
    if (!ways.difference().empty()) {
        std::fputs((ways.difference() + "\n").c_str(), stderr);
        std::abort();
    }
    return 0;
}
