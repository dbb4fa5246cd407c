// What ranks disagree about, what is damaged, and what other jobs do.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "thalweg/base/error.h"
#include "thalweg/checkpoint/restore.h"
#include "thalweg/checkpoint/save.h"
#include "thalweg/checkpoint/test_blocks.h"
#include "thalweg/checkpoint/test_saves.h"
#include "thalweg/ranks/test_ranks.h"
#include "thalweg/storage/test_directory.h"

namespace thalweg::checkpoint {
using ranks::run_all_ranks;
using ranks::run_ranks;
namespace {

// What each of `ranks` ranks is told, where each gives the array that `make` makes for it.
std::vector<std::string> refusals(std::string const& path, int ranks,
                                  std::function<std::vector<Array>(int)> const& make) {
    std::vector<std::string> texts;
    for (auto const& thrown : run_ranks(ranks, [&](Communicator& comm) { save(path, make(comm.rank()), comm); })) {
        try {
            if (thrown) std::rethrow_exception(thrown);
            texts.emplace_back();
        } catch (base::UsageError const& error) {
            texts.emplace_back(error.what());
        }
    }
    return texts;
}

TEST(CheckpointFaults, RanksThatDisagreeAreRefusedBeforeAnythingIsWritten) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    Values const values(64);
    auto const block = [&](std::uint64_t start, std::uint64_t count) {
        return Block{{{start}, {count}}, values.data()};
    };
    auto const psi = [&](std::uint64_t count, Block const& own) {
        return Array{"psi", model::Scalar::complex128, {count}, {own}};
    };
    auto const expect = [&](std::string const& part, std::function<std::vector<Array>(int)> const& make) {
        auto const texts = refusals(path, 3, make);
        for (auto const& text : texts) {
            EXPECT_EQ(text, texts[0]);
            EXPECT_NE(text.find(part), std::string::npos) << text;
        }
        EXPECT_EQ(files_in(directory), Files());
    };
    auto const third = [&](int rank) { return block(static_cast<std::uint64_t>(rank) * 8, 8); };
    expect("rank 0 says (24), rank 2 says (25)",
           [&](int rank) { return std::vector{psi(rank == 2 ? 25 : 24, third(rank))}; });
    expect("rank 0 says complex128, rank 1 says float64", [&](int rank) {
        auto array = psi(24, third(rank));
        if (rank == 1) array.scalar = model::Scalar::float64;
        return std::vector{array};
    });
    expect("rank 1 does not", [&](int rank) {
        std::vector arrays{psi(24, third(rank))};
        arrays.push_back(psi(24, third(rank)));
        arrays.back().name = "phi";
        if (rank == 1) arrays.pop_back();
        return arrays;
    });
    expect("the element (12) is in a block of rank 1, (8) to (16), and in one of rank 2, (12) to (24)",
           [&](int rank) { return std::vector{psi(24, rank == 2 ? block(12, 12) : third(rank))}; });
    expect("no rank has the element (23)",
           [&](int rank) { return std::vector{psi(24, rank == 2 ? block(16, 7) : third(rank))}; });
    expect("is not within the shape (24)",
           [&](int rank) { return std::vector{psi(24, rank == 2 ? block(16, 9) : third(rank))}; });
    expect("rank 1: the array 'psi' cannot be saved (a block starts at (8, 0)", [&](int rank) {
        auto array = psi(24, third(rank));
        if (rank == 1) array.blocks[0].box = {{8, 0}, {8, 1}};
        return std::vector{array};
    });
    expect("there is an array 'psi', too", [&](int rank) {
        std::vector arrays{psi(24, third(rank)), psi(24, third(rank))};
        arrays[1].name = "psi/x";
        return arrays;
    });
    for (auto const* name : {"", "/psi", "a//b", "..", "thalweg/x", "a/.parts"}) {
        expect("cannot be saved", [&](int rank) {
            auto array = psi(24, third(rank));
            array.name = name;
            return std::vector{array};
        });
    }
}

TEST(CheckpointFaults, RanksWithoutBlocksNeedNotKnowTheArray) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    Values const values(10, 3.0);
    run_all_ranks(4, [&](Communicator& comm) {
        Array array{"psi"};
        if (comm.rank() == 2) array = {"psi", model::Scalar::complex128, {10}, {{{{0}, {10}}, values.data()}}};
        save(path, {array}, comm);
    });
    EXPECT_EQ(value_of(restored(path)), 3.0);
}

TEST(CheckpointFaults, TheLastOnesAreKept) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    for (int i = 0; i < 4; ++i) save_value(path, i, 3);
    EXPECT_EQ(files_in(directory), (Files{kList, "psi.h5", "psi.h5.1", "psi.h5.2"}));
    EXPECT_EQ(value_of(restored(path)), 3);
    EXPECT_EQ(value_of(restored(path + ".1")), 2);
    EXPECT_EQ(value_of(restored(path + ".2")), 1);
    save_value(path, 4, 1);
    EXPECT_EQ(files_in(directory), (Files{kList, "psi.h5"}));
    EXPECT_EQ(value_of(restored(path)), 4);
}

TEST(CheckpointFaults, ADamagedOneIsReportedAndTheOneBeforeIsTaken) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    save_value(path, 1);
    save_value(path, 2);
    auto const size = std::filesystem::file_size(path);
    // A page, the head, the record, the checksums: of each the first byte, and some in between.
    auto const record = restored(path);
    for (std::uint64_t const offset : {std::uint64_t{4096}, std::uint64_t{4096 + 5000 * 16 - 1}, std::uint64_t{3072},
                                       std::uint64_t{3100}, std::uint64_t{2048}, std::uint64_t{86016}}) {
        flip_byte(path, offset);
        for (int const ranks : {1, 3}) {
            run_all_ranks(ranks, [&](Communicator& comm) {
                auto const state = restore(path, comm);
                EXPECT_EQ(state.path(), path + ".1") << offset;
                ASSERT_EQ(state.problems().size(), 1u);
                EXPECT_NE(state.problems()[0].find(path), std::string::npos) << state.problems()[0];
                EXPECT_EQ(value_of(state), 1);
            });
        }
        flip_byte(path, offset);
        EXPECT_EQ(restored(path).path(), path);
    }
    std::filesystem::resize_file(path, size / 2);
    EXPECT_EQ(restored(path).path(), path + ".1");
    std::filesystem::resize_file(path, 0);
    EXPECT_EQ(restored(path).path(), path + ".1");
    flip_byte(path + ".1", 5000);
    EXPECT_THROW(restored(path), base::DataError);
}

TEST(CheckpointFaults, WithoutVerifyingDamageIsFoundWhereItIsRead) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    save_value(path, 1, 2, 300'000); // five pieces
    flip_byte(path, 4096 + 200'000 * 16);
    auto const comm = alone();
    auto const state = restore(path, *comm, {.verify = false});
    EXPECT_EQ(value_of(state), 1);
    Values all(300'000);
    EXPECT_THROW(state.read("psi", {{0}, {300'000}}, std::as_writable_bytes(std::span(all))), base::DataError);
}

TEST(CheckpointFaults, FilesOfOthersAreNeitherReadNorReplaced) {
    storage::TestDirectory const directory;
    auto const path = directory.path("notes.h5");
    std::ofstream(path) << std::string(10'000, 'x');
    EXPECT_THROW(restored(path), base::UsageError);
    EXPECT_THROW(save_value(path, 1), base::UsageError);
    EXPECT_EQ(std::filesystem::file_size(path), 10'000u);
    auto const other = directory.path("psi.h5");
    std::filesystem::rename(path, other + ".1");
    EXPECT_THROW(save_value(other, 1), base::UsageError);
    EXPECT_EQ(files_in(directory), Files{"psi.h5.1"});
    EXPECT_THROW(restored(directory.path("none.h5")), base::SystemError);
}

// No file may have more bytes than the limit: SIGXFSZ ends the process, or is ignored.
TEST(CheckpointFaults, AFullDiskIsAnErrorAndAKilledJobLeavesTheLastOne) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    save_value(path, 1);
    for (bool const is_killed : {false, true}) {
        for (rlim_t const limit : {rlim_t{4096}, rlim_t{100'000}, rlim_t{800'000}, rlim_t{805'000}}) {
            auto const child = ::fork();
            if (child == 0) {
                rlimit const limits{limit, limit};
                ::setrlimit(RLIMIT_FSIZE, &limits);
                ::signal(SIGXFSZ, is_killed ? SIG_DFL : SIG_IGN);
                try {
                    save_value(path, 2, 2, 50'000);
                } catch (base::SystemError const& error) {
                    ::_exit(error.code == EFBIG ? 7 : 8);
                }
                ::_exit(0);
            }
            int status = 0;
            ::waitpid(child, &status, 0);
            if (is_killed) {
                EXPECT_TRUE(WIFSIGNALED(status)) << limit;
            } else {
                EXPECT_EQ(WEXITSTATUS(status), 7) << limit;
                EXPECT_EQ(files_in(directory), (Files{kList, "psi.h5"}));
            }
            EXPECT_EQ(value_of(restored(path)), 1);
        }
    }
    EXPECT_GT(files_in(directory).size(), 2u); // what killed jobs have left
    save_value(path, 3);
    EXPECT_EQ(files_in(directory), (Files{kList, "psi.h5", "psi.h5.1"}));
}

TEST(CheckpointFaults, ASecondJobIsRefusedWhileOneSaves) {
    storage::TestDirectory const directory;
    auto const path = directory.path("psi.h5");
    Values const values(10, 3.0);
    auto const comm = alone();
    Array const array{"psi", model::Scalar::complex128, {10}, {{{{0}, {10}}, values.data()}}};
    {
        Saving first(path, {array}, *comm, {});
        try {
            save_value(path, 1);
            FAIL();
        } catch (base::SystemError const& error) {
            EXPECT_EQ(error.code, EBUSY);
        }
        first.encode();
        first.place(*comm);
        first.write();
        first.finish(*comm);
    }
    EXPECT_EQ(value_of(restored(path)), 3.0);
    { Saving const given_up(path, {array}, *comm, {}); }
    EXPECT_EQ(files_in(directory), (Files{kList, "psi.h5"}));
}

// One rank cannot write as it is told: a tmpfs takes no direct writes.
TEST(CheckpointFaults, AnErrorOfOneRankIsThatOfAll) {
    storage::TestDirectory const directory("/dev/shm");
    auto const path = directory.path("psi.h5");
    auto const thrown = run_ranks(3, [&](Communicator& comm) {
        Values const values(30);
        std::uint64_t const start = static_cast<std::uint64_t>(comm.rank()) * 10;
        SaveOptions options;
        if (comm.rank() == 1) options.engine = storage::Engine::threads;
        save(path, {{"psi", model::Scalar::complex128, {30}, {{{{start}, {10}}, values.data()}}}}, comm, options);
    });
    for (auto const& each : thrown) {
        try {
            ASSERT_TRUE(each);
            std::rethrow_exception(each);
        } catch (base::UsageError const& error) {
            EXPECT_NE(std::string(error.what()).find("(rank 1: cannot use the engine 'threads'"), std::string::npos)
                << error.what();
        }
    }
    EXPECT_EQ(files_in(directory), Files());
}

TEST(CheckpointFaults, ASaveInAThreadIsAsGoodAsOneThatWaits) {
    for (bool const has_duplicates : {true, false}) {
        for (std::uint64_t const most : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
            storage::TestDirectory const directory;
            auto const path = directory.path("psi.h5");
            run_all_ranks(
                3,
                [&](Communicator& comm) {
                    std::uint64_t const start = static_cast<std::uint64_t>(comm.rank()) * 10'000;
                    SaveOptions options;
                    options.most_copy_bytes = most;
                    for (double value = 1; value < 4; ++value) {
                        Values values(10'000, value);
                        Array psi{"psi", model::Scalar::complex128, {30'000}, {{{{start}, {10'000}}, values.data()}}};
                        auto phi = psi;
                        phi.name = "phi";
                        phi.codec = "bitshuffle+lz4";
                        auto saving = save_async(path, {psi, phi}, comm, options);
                        std::ranges::fill(values, -1.0);
                        EXPECT_EQ(saving.wait().bytes, 2u * 30'000 * 16);
                        EXPECT_THROW(saving.wait(), base::UsageError);
                    }
                },
                has_duplicates);
            auto const state = restored(path);
            for (auto const* name : {"psi", "phi"}) {
                Values all(30'000);
                state.read(name, {{0}, {30'000}}, std::as_writable_bytes(std::span(all)));
                EXPECT_EQ(all, Values(30'000, 3.0)) << name;
            }
        }
    }
}

} // namespace
} // namespace thalweg::checkpoint
