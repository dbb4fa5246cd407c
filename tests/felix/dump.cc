// This program has two commands:
//   dump write FORMAT BLOCK_BYTES SEED PACKETS ELINKS MAX_BYTES BLOCKS writes random packets through block writers into
//   the
//      file BLOCKS, and each packet as a line "ELINK FLAGS HEX" to the standard output.
//   dump read MAX_PACKET_BYTES BLOCKS writes what the decoder makes of a file of blocks in the same lines, and then a
//   line
//      "= ELINK NAME=VALUE ..." for each e-link.
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "thalweg/felix/block_writer.h"
#include "thalweg/felix/decoder.h"

namespace {

using namespace thalweg::felix;
using Bytes = std::vector<std::byte>;

std::string letters(std::uint32_t flags) {
    std::string text = "-";
    if ((flags & Trailer::kCrc) != 0) text += 'C';
    if ((flags & Trailer::kError) != 0) text += 'E';
    if ((flags & Trailer::kTruncated) != 0) text += 'T';
    if ((flags & Trailer::kBusy) != 0) text += 'B';
    return text;
}

void print_packet(unsigned elink, std::uint32_t flags, std::byte const* data, std::size_t size) {
    std::string hex;
    for (std::size_t i = 0; i < size; ++i) hex += fmt::format("{:02x}", static_cast<unsigned>(data[i]));
    std::puts(fmt::format("{} {} {}", elink, letters(flags), hex).c_str());
}

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(engine_() % end); }
    Bytes bytes(std::size_t size) {
        Bytes bytes(size);
        for (auto& byte : bytes) byte = std::byte(engine_());
        return bytes;
    }

  private:
    std::mt19937_64 engine_;
};

// Writes a packet in up to three pieces; some packets end by timeout.
void write_packet(Random& random, BlockWriter& writer, unsigned elink, std::uint32_t max_bytes, bool has_busy) {
    constexpr std::uint32_t kFlags[] = {0, 0, 0, 0, Trailer::kCrc, Trailer::kError, Trailer::kCrc | Trailer::kBusy};
    auto const packet = random.bytes(random.below(max_bytes + 1));
    auto flags = kFlags[random.below(std::size(kFlags))];
    if (!has_busy) flags &= ~Trailer::kBusy;
    std::span<std::byte const> rest = packet;
    for (auto parts = random.below(3); parts > 1; --parts) {
        auto const part = random.below(static_cast<std::uint32_t>(rest.size()) + 1);
        writer.write_part(rest.first(part));
        rest = rest.subspan(part);
    }
    bool const timed_out = random.below(10) == 0;
    if (timed_out)
        writer.write_timed_out(rest, flags);
    else
        writer.write(rest, flags);
    print_packet(elink, timed_out ? flags | Trailer::kTruncated : flags, packet.data(), packet.size());
}

int write(BlockFormat const& format, std::uint64_t seed, std::uint32_t packets, std::uint32_t elinks,
          std::uint32_t max_bytes, char const* path) {
    Random random(seed);
    std::ofstream file(path, std::ios::binary);
    auto const sink = [&](std::span<std::byte const> block) {
        file.write(reinterpret_cast<char const*>(block.data()), static_cast<std::streamsize>(block.size()));
    };
    std::vector<BlockWriter> writers;
    for (std::uint32_t i = 0; i < elinks; ++i)
        writers.emplace_back(format, static_cast<std::uint16_t>(i * 31 % kElinks), sink,
                             static_cast<std::uint8_t>(random.below(kSequences)));
    for (std::uint32_t i = 0; i < packets; ++i) {
        auto const link = random.below(elinks);
        write_packet(random, writers[link], link * 31 % kElinks, max_bytes, format.trailer_bytes == 4);
        if (random.below(20) == 0) writers[link].flush();
    }
    for (auto& writer : writers) writer.flush();
    return file.good() ? 0 : 1;
}

void print_counters(unsigned elink, StreamCounters const& c) {
    std::puts(fmt::format("= {} blocks={} packets={} payload_bytes={} sequence_gaps={} lost_blocks={} bad_blocks={} "
                          "dropped_chunks={} crc_errors={} errors={} truncated={} busy={} timeouts={} out_of_band={} "
                          "undefined={}",
                          elink, c.blocks.get(), c.packets.get(), c.payload_bytes.get(), c.sequence_gaps.get(),
                          c.lost_blocks.get(), c.bad_blocks.get(), c.dropped_chunks.get(), c.crc_errors.get(),
                          c.errors.get(), c.truncated.get(), c.busy.get(), c.timeouts.get(), c.out_of_band.get(),
                          c.undefined.get())
                  .c_str());
}

int read(std::uint32_t max_packet_bytes, char const* path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> const raw{std::istreambuf_iterator<char>(file), {}};
    auto const* const blocks = reinterpret_cast<std::byte const*>(raw.data());
    auto const format = format_of_magic(raw.empty() ? std::uint16_t{0xABCD} : BlockHeader::parse(blocks).magic);
    if (!format) return 1;
    std::map<unsigned, StreamDecoder> decoders;
    for (std::size_t at = 0; at + format->block_bytes <= raw.size(); at += format->block_bytes) {
        auto const elink = BlockHeader::parse(blocks + at).elink;
        auto& decoder = decoders.try_emplace(elink, *format, max_packet_bytes).first->second;
        for (auto const& packet : decoder.decode(blocks + at))
            print_packet(elink, packet.flags, packet.data, packet.size_bytes);
    }
    for (auto const& [elink, decoder] : decoders) print_counters(elink, decoder.counters());
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    std::vector<std::string> const words(arguments + 1, arguments + count);
    auto const number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(words.at(i))); };
    if (words.size() == 8 && words[0] == "write")
        return write(parse_format(words[1], number(2)), number(3), number(4), number(5), number(6), words[7].c_str());
    if (words.size() == 3 && words[0] == "read") return read(number(1), words[2].c_str());
    return 2;
}
