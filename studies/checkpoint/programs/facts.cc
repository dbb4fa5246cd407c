// Usage: facts RANKS BYTES PATH. Measures the work of rank 0 when RANKS ranks save BYTES each, with all that they would
// have sent to it, into a file without payload. It is for the model: this time does not depend on disks or other ranks.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "thalweg/base/units.h"
#include "thalweg/checkpoint/declare.h"
#include "thalweg/checkpoint/layout.h"
#include "thalweg/checkpoint/pieces.h"
#include "thalweg/checkpoint/record.h"
#include "thalweg/checkpoint/save_ending.h"
#include "thalweg/storage/storage.h"

using namespace thalweg;
using namespace thalweg::checkpoint;

namespace {

constexpr double kNothing = 0; // instead of data, which is never read

using Words = std::vector<std::vector<std::uint8_t>>; // of each rank, in the form of their messages

double seconds(std::function<void()> const& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<Json> heard(Words const& words) {
    std::vector<Json> said;
    for (auto const& each : words) said.push_back(Json::from_cbor(each));
    return said;
}

Array array_of(std::uint64_t ranks, std::uint64_t count, std::uint64_t rank) {
    Array array{"psi", model::Scalar::float64, {ranks * count}, {}};
    array.blocks.push_back({{{rank * count}, {count}}, &kNothing});
    return array;
}

Json facts_of(ArrayPlan const& plan, Box const& box) {
    auto const part = part_of(plan, box);
    auto checksums = Json::array();
    for (auto const& page : part.pages) {
        std::vector<std::uint64_t> sums(piece_count(page.offset, page.stored_bytes));
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = (page.offset + i) * 0x9E3779B97F4A7C15u;
        checksums.push_back(sums);
    }
    return {{"parts", {{{"array", 0}, {"part", part}, {"checksums", checksums}}}}, {"edges", Json::array()}};
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    std::uint64_t const ranks = std::strtoull(argv[1], nullptr, 10);
    std::uint64_t const count = std::strtoull(argv[2], nullptr, 10) / sizeof(double);
    Words words;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        words.push_back(Json::to_cbor(declare({array_of(ranks, count, rank)})));
    }
    std::vector<ArrayPlan> plans;
    auto const plan_s = seconds([&] { plans = plan_arrays(heard(words)); });
    plans[0].base = base::kBlockBytes; // where `save` puts the first array
    words.clear();
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        words.push_back(Json::to_cbor(facts_of(plans[0], array_of(ranks, count, rank).blocks[0].box)));
    }
    Record record{std::string(32, '0'), {}, {}};
    auto const gather_s = seconds([&] { record.arrays = gather_arrays(plans, heard(words)); });
    auto const file = storage::open_file_storage(argv[3], storage::OpenMode::create_new, storage::Engine::automatic);
    std::uint64_t file_bytes = 0;
    auto const complete_s = seconds([&] {
        SaveEnding completion(*file, record);
        completion.finish();
        file_bytes = completion.file_bytes();
    });
    std::printf("{\"seconds\": %.6f, \"plan_s\": %.6f, \"gather_s\": %.6f, \"complete_s\": %.6f, \"facts_bytes\": %zu, "
                "\"raw_bytes\": %llu, \"file_bytes\": %llu}\n",
                plan_s + gather_s + complete_s, plan_s, gather_s, complete_s, words.back().size(),
                static_cast<unsigned long long>(ranks * count * sizeof(double)),
                static_cast<unsigned long long>(file_bytes));
}
