// Saves and restores, over ranks that are threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "thalweg/base/error.h"
#include "thalweg/checkpoint/restore.h"
#include "thalweg/checkpoint/save.h"
#include "thalweg/checkpoint/test_blocks.h"
#include "thalweg/ranks/test_ranks.h"
#include "thalweg/storage/probe.h"
#include "thalweg/storage/test_directory.h"
#include "thalweg/trace/trace.h"

namespace thalweg::checkpoint {
using ranks::run_all_ranks;
namespace {

struct Case {
    char const* name;
    PerAxis shape;
    PerAxis pieces;
    bool grid;
    std::string codec;
    bool is_virtual;
    bool is_chunked;
};

std::ostream& operator<<(std::ostream& out, Case const& tested) { return out << tested.name; }

// Blocks are dealt to ranks like cards, so that some have several and some none.
Array array_of(Case const& tested, int rank, int ranks, std::vector<Values>& keep) {
    Array array{"fields/psi", model::Scalar::complex128, tested.shape, {}, tested.codec};
    auto const boxes = cut(tested.shape, tested.pieces, tested.grid);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (static_cast<int>(i % static_cast<std::size_t>(ranks)) != rank) continue;
        keep.push_back(values_of(boxes[i]));
        array.blocks.push_back({boxes[i], keep.back().data()});
    }
    return array;
}

// In a thread, while the memory of the blocks changes.
SaveReport save_and_change(std::string const& path, std::vector<Array> const& arrays, Communicator& comm,
                           std::vector<Values>& values) {
    auto saving = save_async(path, arrays, comm);
    for (auto& each : values) std::ranges::fill(each, Values::value_type(7, 7));
    return saving.wait();
}

class Checkpoint : public testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(Checkpoint, IsRestoredInAnyOtherBlocks) {
    auto const& [tested, in_background] = GetParam();
    for (int const ranks : {1, 2, 3, 7}) {
        storage::TestDirectory const directory;
        auto const path = directory.path("psi.h5");
        run_all_ranks(ranks, [&](Communicator& comm) {
            std::vector<Values> keep;
            std::vector<Array> const arrays{array_of(tested, comm.rank(), ranks, keep)};
            auto const report = in_background ? save_and_change(path, arrays, comm, keep) : save(path, arrays, comm);
            EXPECT_EQ(report.bytes, count_of(tested.shape) * 16);
        });
        for (int const readers : {1, 2, 5}) {
            run_all_ranks(readers, [&](Communicator& comm) {
                auto const state = restore(path, comm);
                EXPECT_EQ(state.problems(), std::vector<std::string>());
                auto const& stored = state.array("fields/psi");
                EXPECT_EQ(stored.is_virtual, tested.is_virtual);
                EXPECT_EQ(!stored.parts.at(0).chunk.empty(), tested.is_chunked);
                PerAxis pieces(tested.shape.size(), 1);
                if (!pieces.empty()) pieces.back() = static_cast<std::uint64_t>(readers);
                auto const box =
                    cut(tested.shape, pieces, false).at(pieces.empty() ? 0 : static_cast<std::size_t>(comm.rank()));
                Values values(box.count());
                state.read("fields/psi", box, std::as_writable_bytes(std::span(values)));
                EXPECT_EQ(values, values_of(box));
            });
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Checkpoint,
    testing::Combine(
        testing::Values(Case{"slabs", {103, 40}, {7, 1}, false, "none", false, false},
                        Case{"large_slabs", {700, 301}, {5, 1}, false, "none", false, false},
                        Case{"tiny_slabs", {9}, {9}, false, "none", false, false},
                        Case{"larger_slabs", {1100, 301}, {2, 1}, false, "none", false, false},
                        Case{"one_block", {20, 3}, {1, 1}, true, "none", false, false},
                        Case{"a_value", {}, {}, true, "none", false, false},
                        Case{"nothing", {0, 4}, {1, 1}, true, "none", false, false},
                        Case{"grid", {64, 64}, {4, 4}, true, "none", false, true},
                        Case{"grid_with_edges", {61, 70, 5}, {4, 3, 2}, true, "none", false, true},
                        Case{"large_grid", {900, 350}, {2, 2}, true, "none", false, true},
                        Case{"irregular", {61, 50}, {3, 4}, false, "none", true, false},
                        Case{"compressed_slabs", {64, 30}, {4, 1}, true, "bitshuffle+lz4", false, true},
                        Case{"compressed_large_grid", {1024, 1500}, {2, 3}, true, "shuffle+deflate-1", false, true},
                        Case{"compressed_irregular", {611, 503}, {3, 4}, false, "bitshuffle+zstd", true, true}),
        testing::Bool()),
    [](auto const& tested) {
        return std::string(std::get<0>(tested.param).name) + (std::get<1>(tested.param) ? "_in_background" : "");
    });

TEST(Checkpoints, ReadsBlocksWithGapsInMemory) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    // A block of 6 x 5 within 8 x 9, as codes with halos have it, and its transpose.
    Values with_halo(72), transposed(30);
    Box const box{{0, 0}, {6, 5}};
    for_elements(box, [&](PerAxis const& at) {
        with_halo[(at[0] + 1) * 9 + at[1] + 2] = value_at(at);
        transposed[at[1] * 6 + at[0]] = value_at(at);
    });
    auto const comm = alone();
    Array const psi{"psi", model::Scalar::complex128, {6, 5}, {{box, &with_halo[11], {9 * 16, 16}}}};
    Array const phi{"phi", model::Scalar::complex128, {6, 5}, {{box, transposed.data(), {16, 6 * 16}}}};
    for (bool const in_background : {false, true}) {
        if (in_background) {
            save_async(path, {psi, phi}, *comm).wait();
        } else {
            save(path, {psi, phi}, *comm);
        }
        auto const state = restore(path, *comm);
        for (auto const* name : {"psi", "phi"}) {
            Values values(30);
            state.read(name, box, std::as_writable_bytes(std::span(values)));
            EXPECT_EQ(values, values_of(box)) << name;
        }
    }
}

TEST(Checkpoints, KeepsAttributesAndAllTypes) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    auto const comm = alone();
    std::vector<std::byte> bytes(16 * 10);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i & 1);
    std::vector<Array> arrays;
    for (auto const scalar : {model::Scalar::boolean, model::Scalar::int16, model::Scalar::uint64,
                              model::Scalar::float32, model::Scalar::complex64, model::Scalar::complex128}) {
        arrays.push_back({std::string(model::name_of(scalar)), scalar, {10}, {{{{0}, {10}}, bytes.data()}}});
    }
    model::Attribute const name{"name", {}, {}, {}, {"hall"}};
    SaveOptions options;
    options.attributes = {name};
    save(path, arrays, *comm, options);
    auto const state = restore(path, *comm);
    EXPECT_EQ(state.attributes(), options.attributes);
    for (auto const& array : arrays) {
        std::vector<std::byte> read(10 * model::size_bytes(array.scalar));
        state.read(array.name, {{0}, {10}}, read);
        EXPECT_EQ(std::memcmp(read.data(), bytes.data(), read.size()), 0) << array.name;
    }
}

std::uint64_t syncs_so_far() {
    for (auto const& [name, value] : trace::snapshot()) {
        if (name == "storage.sync.calls") return value;
    }
    return 0;
}

TEST(Checkpoints, OneRankSyncsForAllOfItsMachine) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    if (auto const name = storage::file_system_of(path); name != "ext4" && name != "xfs") {
        GTEST_SKIP() << name << " is not known to sync what other processes have written";
    }
    auto const before = syncs_so_far();
    run_all_ranks(4, [&](Communicator& comm) {
        auto const box = cut({40, 10}, {4, 1}, false).at(static_cast<std::size_t>(comm.rank()));
        auto const values = values_of(box);
        save(path, {{"psi", model::Scalar::complex128, {40, 10}, {{box, values.data()}}}}, comm);
    });
    EXPECT_EQ(syncs_so_far() - before, 2u); // of the checkpoint, and of the list
}

} // namespace
} // namespace thalweg::checkpoint
