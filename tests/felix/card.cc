// felix_card FORMAT BLOCK_BYTES SEED EVENTS ELINKS SIZES FAULTS BLOCKS emulates a card with one buffer that has room
// for everything. It writes the blocks into the file BLOCKS, and its tally to the standard output: one line "ELINK
// NAME=VALUE ..." for each e-link.
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "thalweg/felix/card.h"
#include "thalweg/felix/dma_buffer.h"

namespace {

using namespace thalweg::felix;

void save_blocks(std::string const& card, char const* path) {
    auto reader = DmaReader::attach(dma_name(card, 0));
    std::ofstream file(path, std::ios::binary);
    auto const end = reader.published(0);
    for (std::uint64_t position = 0; position < end; ++position)
        file.write(reinterpret_cast<char const*>(reader.block(position)), reader.format().block_bytes);
}

void print_tally(LinkTally const& link) {
    auto const& faults = link.faults;
    std::puts(fmt::format("{} events={} packets={} blocks={} missing={} late={} duplicated={} swapped={} truncated={} "
                          "crc={} error={} busy={} lost_blocks={} garbage_blocks={} packets_in_lost_blocks={} "
                          "undetectable={}",
                          link.elink, link.events, link.packets, link.blocks, faults.missing, faults.late,
                          faults.duplicated, faults.swapped, faults.truncated, faults.crc, faults.error, faults.busy,
                          faults.lost_blocks, faults.garbage_blocks, faults.packets_in_lost_blocks, faults.undetectable)
                  .c_str());
}

} // namespace

int main(int count, char** arguments) {
    std::vector<std::string> const words(arguments + 1, arguments + count);
    if (words.size() != 8) return 2;
    auto const number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(words[i])); };
    CardOptions options;
    options.name = fmt::format("checked-{}", ::getpid());
    options.format = parse_format(words[0], number(1));
    options.seed = number(2);
    options.events = number(3);
    options.elinks = number(4);
    options.sizes = parse_packet_sizes(words[5]);
    options.faults = parse_faults(words[6]);
    Card card(options);
    card.run();
    save_blocks(options.name, words[7].c_str());
    for (auto const& link : card.tally()) print_tally(link);
    return 0;
}
