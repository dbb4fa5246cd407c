#include "thalweg/format/rntuple/writing/units.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/format.h"

namespace thalweg::format::rntuple {
namespace {

using Bytes = std::vector<std::byte>;

// Shrinks to some two thirds.
Bytes some_units(std::size_t size_bytes) {
    Bytes units(size_bytes);
    std::mt19937_64 random(9);
    for (std::size_t i = 0; i < size_bytes; ++i) units[i] = static_cast<std::byte>(i % 3 == 0 ? 0 : random());
    return units;
}

struct EmptyRun {
    EmptyRun() {
        model::Field const x{"x", model::Kind::scalar, model::Scalar::int32, {}, {}, "", ""};
        head = rntuple_format().make_head({{{"t", {x}, ""}}}, {}, {});
        facts.tables.resize(1);
        facts.end_offset = rntuple_format().begin(*file, head);
    }
    model::RunMap complete() {
        rntuple_format().complete(*file, *journal, head, facts);
        return rntuple_format().load(*file);
    }

    std::unique_ptr<storage::Storage> file = storage::make_memory_storage("run.root");
    std::unique_ptr<storage::Storage> journal = storage::make_memory_storage("run.root.journal");
    model::RunHead head;
    model::RunFacts facts;
};

TEST(Units, AreHandedBack) {
    for (auto const size_bytes : {std::size_t{1}, std::size_t{70'000}, std::size_t{kUnitsPieceBytes} * 2 + 77}) {
        EmptyRun run;
        run.facts.units = some_units(size_bytes);
        auto const map = run.complete();
        EXPECT_EQ(map.units, run.facts.units);
        EXPECT_EQ(map.units_fault, "");
        EXPECT_LT(run.file->size(), run.facts.end_offset + size_bytes * 5 / 6 + 100'000);
        rntuple_format().check(*run.file);
        EXPECT_EQ(run.complete().units, run.facts.units); // again, as after an interruption
    }
}

TEST(Units, AFileWithoutAnyHasNone) {
    EmptyRun run;
    EXPECT_EQ(run.complete().units, Bytes{});
    rntuple_format().check(*run.file);
}

TEST(Units, DamageIsSaidAndLeavesTheRestReadable) {
    EmptyRun run;
    run.facts.units = some_units(10'000);
    run.complete();
    auto const page_begin = run.facts.end_offset + 2000; // behind page list and footer: within the zstd frame
    std::byte byte{};
    run.file->read(page_begin, {&byte, 1});
    byte ^= std::byte{1};
    run.file->write(page_begin, {&byte, 1});
    auto const map = rntuple_format().load(*run.file);
    EXPECT_EQ(map.head.id, run.head.id);
    EXPECT_EQ(map.units, Bytes{});
    EXPECT_NE(map.units_fault.find("work units"), std::string::npos) << map.units_fault;
    EXPECT_THROW(rntuple_format().check(*run.file), base::DataError);
}

TEST(Units, WhatCannotBeIsRefusedBeforeItIsAskedFor) {
    auto const file = storage::make_memory_storage("run.root");
    file->resize(4096);
    EXPECT_THROW(read_units(*file, {1ull << 60, 0, {}}), base::DataError);
    EXPECT_THROW(read_units(*file, {100, 0, {{0, 101}}}), base::DataError);
    EXPECT_THROW(read_units(*file, {100, 0, {{4090, 90}}}), base::DataError);
    EXPECT_THROW(read_units(*file, {100, 0, {{0, 50}, {50, 50}}}), base::DataError);
    EXPECT_THROW(read_units(*file, {100, 7, {{0, 100}}}), base::DataError);
}

} // namespace
} // namespace thalweg::format::rntuple
